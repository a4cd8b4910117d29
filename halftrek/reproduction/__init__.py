"""The paper's two experiments, repeated, and a study of the estimator over many samples."""

from halftrek.reproduction.results import Reproduction
from halftrek.reproduction.study import run

__all__ = ["Reproduction", "run"]
