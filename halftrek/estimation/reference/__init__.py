"""The paper's own algorithm, plain and readable: what the fast way is tested against."""

from halftrek.estimation.reference.cgl_go import CGLGoResult, Mask, cgl_go

__all__ = ["CGLGoResult", "Mask", "cgl_go"]
