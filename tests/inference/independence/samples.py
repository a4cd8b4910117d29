"""Rows whose errors are independent where the graph has no arc, of several shapes."""

import numpy as np

import halftrek as ht
from benchmarks.independence import DOOR, door_rows
from halftrek.bottom.arrays import Floats
from halftrek.results.fit import Fit


def door_fit(shape: str, n: int = 400, seed: int = 1) -> Fit:
    """A front door whose mediator is confounded with the cause."""
    return ht.fit(DOOR, door_rows(shape, n, np.random.default_rng(seed)))


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.asarray(rng.standard_exponential(shape) - 1.0)
