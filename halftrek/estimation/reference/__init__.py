"""The paper's own algorithm, plain and readable: what the fast way is tested against."""

from halftrek.bottom.choices import Mask
from halftrek.estimation.reference.cgl_go import CGLGoResult, cgl_go

__all__ = ["CGLGoResult", "Mask", "cgl_go"]
