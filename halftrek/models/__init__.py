"""Structural models with their parameters, and the distributions they imply."""

from halftrek.models.gaussian import Gaussian, frozen
from halftrek.models.rows import Rows
from halftrek.models.scm import CGLSCM, GLSCM, cgl_edge, direct_effects, total_effects

__all__ = ["CGLSCM", "GLSCM", "Gaussian", "Rows", "cgl_edge", "direct_effects", "frozen", "total_effects"]
