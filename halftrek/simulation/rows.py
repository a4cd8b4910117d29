"""Rows from a model, with normal or other errors."""

from __future__ import annotations

from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import ModelError
from halftrek.models import CGLSCM, Rows
from halftrek.models.gaussian import spread_units

Errors = Literal["normal", "t5", "skewed"]


def simulate(
    model: CGLSCM,
    n: int,
    random_state: int | np.random.Generator | None = None,
    *,
    errors: Errors = "normal",
) -> Rows:
    """``n`` rows of the observed variables.

    ``errors`` is the shape of all hidden causes and error terms, with the model's means and covariances in every case:
    normal, Student's t with five degrees of freedom (heavy tails), or centred exponential (skewed).
    """
    if n < 1:
        raise ModelError(f"the number of rows must be at least 1, not {n}")
    if errors == "normal":
        return model.sample(n, random_state)
    rng = np.random.default_rng(random_state)
    hidden = _standardized(errors, (n, len(model.latents)), rng)
    own = _standardized(errors, (n, len(model.names)), rng)
    units = spread_units(np.diag(model.W))
    values, vectors = np.linalg.eigh(model.W / np.outer(units, units))
    # The symmetric root leaves an uncorrelated error the shape it was drawn with.
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T * units
    return Rows((model.mu + hidden @ model.C + own @ root) @ model.B, model.names)


def _standardized(errors: Errors, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Independent draws with mean zero and variance one."""
    if errors == "t5":
        return np.asarray(rng.standard_t(5.0, shape) * np.sqrt(3.0 / 5.0))
    if errors == "skewed":
        return np.asarray(rng.standard_exponential(shape) - 1.0)
    raise ModelError(f"errors must be 'normal', 't5' or 'skewed', not {errors!r}")
