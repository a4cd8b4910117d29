"""All models of a graph with one covariance: weights as rational functions of a few free ones."""

from halftrek.partial.fibre.models import FibreModels
from halftrek.partial.fibre.plan import Column, Coordinate, Plan, plan_of
from halftrek.partial.fibre.points import Fibre, Moves, fibre_of

__all__ = ["Column", "Coordinate", "Fibre", "FibreModels", "Moves", "Plan", "fibre_of", "plan_of"]
