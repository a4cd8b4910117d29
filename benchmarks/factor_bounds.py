"""Does the interval of bounds with a factor in them cover the true value, which sits at an end of the set?

Samples are moments of normal rows of the observed variables (Wishart). Three cases: a factor confounded with what it
causes, at the correlation that is assumed at most; an instrument, strong and weak, that leaks into a factor by as much
as is assumed at most; a front door through a factor that shares a cause with x.
``python -m benchmarks.factor_bounds --samples 400`` prints the shares; a sample takes about a tenth of a second.
"""

from __future__ import annotations

import argparse
import time
import zlib
from dataclasses import dataclass

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.estimation import fit
from halftrek.partial.bounding import bounds_of

ITEMS = "latent F; F -> {a, b, c}; F -> a [1]; "
LOADINGS = {"a": 1.0, "b": 0.8, "c": 0.6}


@dataclass(frozen=True)
class Case:
    """A graph with a factor F, what is assumed, and the true weights and error covariances beside the items'."""

    name: str
    graph: str
    question: str
    assume: str
    weights: dict[tuple[str, str], float]
    errors: dict[tuple[str, str], float]
    truth: float
    n: int = 400

    def sigma(self, names: tuple[str, ...]) -> Floats:
        """The covariance of the observed variables."""
        every = (*names, "F")
        T, W = np.zeros((len(every),) * 2), np.eye(len(every))
        for (u, v), weight in {**self.weights, **{("F", item): x for item, x in LOADINGS.items()}}.items():
            T[every.index(u), every.index(v)] = weight
        for (u, v), value in self.errors.items():
            W[every.index(u), every.index(v)] = W[every.index(v), every.index(u)] = value
        B = np.linalg.inv(np.eye(len(every)) - T)
        return np.asarray((B.T @ W @ B)[:-1, :-1])


CASES = (
    Case("confounded factor", "F -> y; variance F", "F ~> y", "abs(corr(F <-> y)) <= 0.3",
         {("F", "y"): 0.5}, {("F", "y"): 0.3}, 0.5),
    Case("leak into a factor", "z -> x -> F; x <-> F", "x ~> F", "abs(z -> F) <= 0.1",
         {("z", "x"): 0.8, ("x", "F"): 0.5, ("z", "F"): 0.1}, {("x", "F"): 0.4}, 0.5),
    Case("leak into a factor, weak instrument", "z -> x -> F; x <-> F", "x ~> F", "abs(z -> F) <= 0.1",
         {("z", "x"): 0.15, ("x", "F"): 0.5, ("z", "F"): 0.1}, {("x", "F"): 0.4}, 0.5),
    Case("front door through a factor", "x -> F -> y; x <-> y", "x ~> y", "abs(corr(x <-> F)) <= 0.2",
         {("x", "F"): 0.7, ("F", "y"): 0.6}, {("x", "y"): 0.4, ("x", "F"): 0.2}, 0.42),
)  # fmt: skip


def measured(case: Case, samples: int) -> tuple[float, float, int, float]:
    """Shares of samples that cover and that are unbounded, those without bounds, and milliseconds for each."""
    graph = ht.graph(ITEMS + case.graph)
    names = graph.observed
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    root = np.linalg.cholesky(case.sigma(names))
    covered = unbounded = failed = 0
    began = time.process_time()
    for _ in range(samples):
        z = rng.normal(size=(case.n, len(names))) @ root.T
        moments = Moments(names, float(case.n), z.mean(axis=0), np.cov(z.T, bias=True))
        try:
            found = bounds_of(fit(graph, moments), case.question, assume=case.assume)
        except ht.InputError:  # an improper solution, which is refused
            failed += 1
            continue
        covered += any(low <= case.truth <= high for low, high in found.interval_pieces)
        unbounded += any(not np.isfinite(end) for piece in found.interval_pieces for end in piece)
    done = samples - failed
    return covered / done, unbounded / done, failed, 1e3 * (time.process_time() - began) / samples


def main() -> None:
    """Print the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    args = parser.parse_args()
    for case in CASES:
        if args.only in case.name:
            covered, unbounded, failed, spent = measured(case, args.samples)
            print(f"{case.name}: {covered:.3f} of {args.samples} cover, {unbounded:.3f} unbounded, {failed} without "
                  f"bounds, {spent:.0f} ms", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
