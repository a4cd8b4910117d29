"""Structural models with their parameters, and the distributions they imply."""

from halftrek.model.gaussian import Floats, Gaussian, frozen
from halftrek.model.rows import Rows
from halftrek.model.scm import CGLSCM, GLSCM, cgl_edge, direct_effects, total_effects

__all__ = ["CGLSCM", "GLSCM", "Floats", "Gaussian", "Rows", "cgl_edge", "direct_effects", "frozen", "total_effects"]
