"""Measurements: halftrek next to its peers and next to the limits of the machine and of statistics."""
