"""Do intervals of sets cover where rows come in clusters, or with sampling weights?

The strong leaky instrument of ``benchmarks.bounds_coverage``, the truth at an end of the set. In clusters three tenths
of every error are shared by the rows of one; with sampling weights rows with a large outcome are three times as likely
to be seen. ``--plain`` takes the rows for independent and alike, which is what the scaling is there for.
``python -m benchmarks.bounds_rows --samples 1000`` takes about a minute of one core.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import halftrek as ht
from benchmarks.bounds_coverage import CASES, Case, kept
from halftrek.bottom.arrays import Floats
from halftrek.bottom.progress import late_bar

SHARED = 0.3  # of every error's variance, by the rows of a cluster
STRONG = CASES[2]
Draw = Callable[[np.random.Generator], tuple[Floats, dict[str, Any]]]


def clusters(count: int, size: int) -> Draw:
    """Rows in clusters, with what a fit is told of them."""

    def draw(rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
        root, p = np.linalg.cholesky(STRONG.omega), len(STRONG.names)
        own, shared = rng.standard_normal((count * size, p)), rng.standard_normal((count, p))
        errors = (np.sqrt(1.0 - SHARED) * own + np.sqrt(SHARED) * np.repeat(shared, size, axis=0)) @ root.T
        return _rows(errors), {"cluster": np.repeat(np.arange(count), size)}

    return draw


def weighted(n: int) -> Draw:
    """Rows of which those with a large outcome are seen more often."""

    def draw(rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
        root = np.linalg.cholesky(STRONG.omega)
        rows = _rows(rng.standard_normal((4 * n, len(STRONG.names))) @ root.T)
        chance = np.where(rows[:, 2] > 0.0, 0.45, 0.15)
        seen = rng.random(len(rows)) < chance
        return rows[seen], {"sampling_weights": 1.0 / chance[seen]}

    return draw


def _rows(errors: Floats) -> Floats:
    return np.asarray(errors @ np.linalg.inv(np.eye(len(STRONG.names)) - STRONG.T))


DESIGNS: dict[str, Draw] = {
    "40 clusters of 10": clusters(40, 10),
    "12 clusters of 20": clusters(12, 20),
    "sampling weights, about 300 rows": weighted(250),
}


def covered(name: str, samples: int, *, plain: bool) -> float:
    """The share of samples whose interval holds the truth."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    found = 0
    with late_bar(name) as advance:
        for done in range(samples):
            rows, told = DESIGNS[name](rng)
            found += _kept(rows, {} if plain else told)
            advance(done + 1, samples)
    return found / samples


def _kept(rows: Floats, told: dict[str, Any]) -> bool:
    case: Case = replace(STRONG, n=len(rows))
    fitted = ht.fit(case.read[2], dict(zip(case.names, rows.T, strict=True)), **told)
    order = [fitted.moments.names.index(v) for v in case.names]
    return kept(case, fitted, np.asarray(fitted.moments.cov)[np.ix_(order, order)])


def main() -> None:
    """Print how often the intervals cover."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--plain", action="store_true", help="take rows for independent and alike")
    args = parser.parse_args()
    for name in DESIGNS:
        print(f"{name}: {covered(name, args.samples, plain=args.plain):.3f} of {args.samples}", flush=True)


if __name__ == "__main__":
    main()
