"""What the data say; the only room that sees rows."""

from halftrek.moments.check import check
from halftrek.moments.moments import Moments
from halftrek.moments.read import read_moments

__all__ = ["Moments", "check", "read_moments"]
