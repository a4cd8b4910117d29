"""Tidy results as a data frame of the library that the user already works with."""

from halftrek.frames import as_frame

__all__ = ["as_frame"]
