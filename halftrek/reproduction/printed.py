"""What the paper prints: its queries, estimates and matrices (sections 4.1, 4.2; appendix D)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.models import CGLSCM, frozen


@dataclass(frozen=True)
class PrintedQuery:
    """One line of Table 1 or Table 2: ``P(outcome | do(cause = 1))``, estimated as ``N(mean, variance)``."""

    cause: str
    outcome: str
    mean: float
    variance: float


@dataclass(frozen=True, eq=False)
class PrintedExperiment:
    """An experiment as printed; ``name`` is that of the catalog, which has the original parameters."""

    name: str
    table: int
    queries: tuple[PrintedQuery, ...]
    mu: Floats
    C: Floats
    B: Floats
    T: Floats

    def model(self, original: CGLSCM) -> CGLSCM:
        """The model of the printed estimates, from which the paper's table should follow."""
        noise = np.eye(len(self.mu))
        return CGLSCM(original.names, self.T, self.C, self.mu, noise, original.latents, original.graph)


FRONT_DOOR = PrintedExperiment(
    name="front-door",
    table=1,
    queries=(PrintedQuery("X2", "X3", 1.1018, 1.069), PrintedQuery("X1", "X3", 0.7391, 1.881)),
    mu=frozen([0.3002, 0.0963, 0.2007]),
    C=frozen([[-0.2149, 0.0, 0.2626]]),
    B=frozen([[1.0, 0.5012, 0.4491], [0.0, 1.0, 0.9011], [0.0, 0.0, 1.0]]),
    T=frozen([[0.0, 0.5012, 0.0], [0.0, 0.0, 0.9011], [0.0, 0.0, 0.0]]),
)

NAPKIN = PrintedExperiment(
    name="napkin",
    table=2,
    queries=(PrintedQuery("X3", "X4", 0.3051, 1.1692), PrintedQuery("X1", "X4", -0.9721, 2.3274)),
    mu=frozen([0.7994, -0.9044, 0.0113, -0.4894]),
    C=frozen([[-0.1271, 0.0, 0.1665, 0.0], [0.3389, 0.0, 0.0, 0.4113]]),
    B=frozen(
        [[1.0, 0.1024, 0.0920, 0.0566], [0.0, 1.0, 0.8985, 0.7134], [0.0, 0.0, 1.0, 0.7945], [0.0, 0.0, 0.0, 1.0]]
    ),
    T=frozen([[0.0, 0.1024, 0.0, 0.0], [0.0, 0.0, 0.8985, 0.0], [0.0, 0.0, 0.0, 0.7945], [0.0, 0.0, 0.0, 0.0]]),
)

EXPERIMENTS = (FRONT_DOOR, NAPKIN)
