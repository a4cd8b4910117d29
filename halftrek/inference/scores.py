"""Scores of edges that are not in the graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.model import Floats

UNTOLD = 1e-7  # share of a new parameter's information that must be left when all others are free


@dataclass(frozen=True, eq=False)
class Scores:
    """Matrices over pairs: score and efficient information per row; nan where no such edge can be added and told."""

    score: Floats
    information: Floats

    def index(self, n: float) -> Floats:
        """The modification index of each pair."""
        return np.asarray(n * self.score**2 / self.information)
