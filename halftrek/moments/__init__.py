"""What the data say; the only room that sees rows."""

from halftrek.moments.moments import Moments

__all__ = ["Moments"]
