"""Many tests at once: adjusted p-values."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Multiplicity


def holm(p: Floats) -> Floats:
    """Holm's step-down: rejecting where this is below a level errs anywhere with at most that chance."""
    return _stepwise(p, lambda ordered: np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Benjamini and Hochberg's step-up: the expected share of false ones among the rejected is below the level."""
    return _stepwise(
        p,
        lambda ordered: np.minimum.accumulate((ordered * len(ordered) / np.arange(1, len(ordered) + 1))[::-1])[::-1],
    )


def adjusted(p: Floats, how: Multiplicity) -> Floats:
    """The p-values adjusted in the way asked for."""
    return p if how == "none" else holm(p) if how == "holm" else benjamini_hochberg(p)


def _stepwise(p: Floats, step) -> Floats:  # type: ignore[no-untyped-def]
    """Apply to the sorted p-values that are there; nan stays nan."""
    result = np.full(len(p), np.nan)
    there = np.flatnonzero(np.isfinite(p))
    order = there[np.argsort(p[there], kind="stable")]
    result[order] = np.minimum(step(p[order]), 1.0)
    return result
