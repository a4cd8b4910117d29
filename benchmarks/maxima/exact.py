"""Is what a fit ends at the highest maximum? Random models, fitted to their own exact covariances with n = 1,000.

The maximum of such a fit is known: the chi-square is zero, and every effect that the graph identifies is the model's. A
trial fails if the chi-square exceeds 1e-6, or an identified effect is off by more than 0.01 standard errors; it fails
in silence if the fit says nothing about it.

    python -m benchmarks.maxima --exact [--first 0] [--count 2000] [--write]
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.estimation.given.options import Options
from halftrek.estimation.space import make_space
from halftrek.estimation.status import troubles
from halftrek.inference import How
from halftrek.inference.tables.effects import effect_rows

FOLDER = Path(__file__).parents[2] / "docs" / "benchmarks"
ROWS = 1000
CHI2, ERRORS = 1e-6, 1e-2
BUDGET = 2.0  # seconds of identification for each graph

Sizes = Callable[[], float]
KINDS = ("bows", "hidden causes", "both")
WEIGHTS = ("weak", "strong", "mixed")


@dataclass(frozen=True)
class Trial:
    """What came of one model: ``worst`` is the largest error of an identified effect, in standard errors."""

    seed: int
    kind: str
    weights: str
    variables: int
    chi2: float
    df: int
    effects: int
    worst: float
    code: str
    warned: bool
    seconds: float

    @property
    def failed(self) -> bool:
        """True if this is not the maximum."""
        return not (self.chi2 <= CHI2 and self.worst <= ERRORS)

    @property
    def silent(self) -> bool:
        """True if it is not, and nothing says so."""
        return self.failed and not self.warned


def draw(seed: int, most: int = 7) -> ht.CGLSCM:
    """A random model of at most so many variables; in four of five every parameter is determined, at least locally."""
    rng = np.random.default_rng([20260731, seed])
    kind, weights = KINDS[seed % 3], WEIGHTS[seed // 3 % 3]
    for _ in range(40):
        model = _model(rng, kind, weights, most)
        if seed % 5 == 0 or _determined(model):
            break
    return model


def _model(rng: np.random.Generator, kind: str, weights: str, most: int) -> ht.CGLSCM:
    """About as many parameters as covariances: with fewer, maxima are few, and with more, flat."""

    def size() -> float:
        low, high = {"weak": (0.05, 0.5), "strong": (0.5, 2.5), "mixed": (0.01, 2.0)}[weights]
        return float(rng.choice([-1.0, 1.0]) * rng.uniform(low, high))

    p = int(rng.integers(4, most + 1))
    names = tuple(f"v{i}" for i in range(p))
    pairs = list(combinations(range(p), 2))
    C = np.zeros((0 if kind == "bows" else int(rng.integers(1, 3)), p))
    for row in C:
        fewest = 2 if kind == "both" else 3
        for j in rng.choice(p, size=int(rng.integers(fewest, min(5, p) + 1)), replace=False):
            row[j] = size()
    arcs = {"bows": int(rng.integers(1, p + 1)), "hidden causes": 0, "both": int(rng.integers(1, 4))}[kind]
    W = _errors(rng, [pairs[a] for a in rng.choice(len(pairs), size=arcs, replace=False)], p, size)
    room = len(pairs) - arcs - np.count_nonzero(C) + int(rng.integers(-4, 2))
    T = np.zeros((p, p))
    for a in rng.choice(len(pairs), size=int(np.clip(room, 3, len(pairs))), replace=False):
        T[pairs[a]] = size()
    latents = {f"U{k}": [names[j] for j in np.flatnonzero(row)] for k, row in enumerate(C)}
    directed = [(names[i], names[j]) for i, j in np.argwhere(T)]
    bidirected = [(names[i], names[j]) for i, j in pairs if W[i, j]]
    return ht.CGLSCM(names, T, C, np.zeros(p), W, tuple(latents), ht.Graph(directed, bidirected, latents, names))


def _errors(rng: np.random.Generator, arcs: Iterable[tuple[int, int]], p: int, size: Sizes) -> np.ndarray:
    """Error covariances that are positive definite by as little as one part in fifty."""
    R = np.zeros((p, p))
    for i, j in arcs:
        R[i, j] = R[j, i] = size()
    lowest, least = np.linalg.eigvalsh(np.eye(p) + R)[0], rng.uniform(0.02, 0.6)
    if lowest < least:
        R *= (1.0 - least) / (1.0 - lowest)
    sd = np.sqrt(rng.uniform(0.5, 2.0, p))
    found: np.ndarray = (np.eye(p) + R) * np.outer(sd, sd)
    return found


def _determined(model: ht.CGLSCM) -> bool:
    space = make_space(model.graph, model.names, Options())
    _, slope = space.jacobian(space.vector(model))
    J = slope[:, *np.triu_indices(len(model.names))]
    covariances = space.size - len(model.names)  # the others are intercepts
    return bool(np.linalg.matrix_rank(J, tol=1e-9 * np.abs(J).max()) == covariances)


def tried(seed: int, most: int = 7) -> Trial:
    """Fit one model to its own covariance, and compare."""
    model = draw(seed, most)
    began = time.perf_counter()
    fit = ht.fit(model.graph, cov=model.cov, n=ROWS, names=list(model.names))
    seconds = time.perf_counter() - began
    measures = fit.measures()
    rows = [r for r in effect_rows(fit, How(interval="delta"), kind="total", budget=BUDGET) if r.est == r.est]
    off = [abs(r.est - model.total_effect(r.cause, r.effect)) / r.se for r in rows if r.se > 0.0]
    return Trial(
        seed, KINDS[seed % 3], WEIGHTS[seed // 3 % 3], len(model.names), float(measures["chi2"]), int(measures["df"]),
        len(off), float(max(off, default=0.0)), fit.status.code, bool(troubles(fit.status, fit.districts)), seconds,
    )  # fmt: skip


def run(first: int, count: int, *, storing: bool) -> None:
    """Try models, print those that fail and a table; ``storing`` makes the page again."""
    trials = []
    for seed in range(first, first + count):
        trials.append(tried(seed))
        if trials[-1].failed:
            print(trials[-1], flush=True)
    print(summary(trials))
    if storing:
        write(trials)
    failed, silent = sum(t.failed for t in trials), sum(t.silent for t in trials)
    print(f"{len(trials)} models: {failed} failed ({silent} in silence)")


def summary(trials: list[Trial]) -> str:
    """A table by kind of graph and size of weights."""
    lines = ["| graphs | weights | models | effects | failed | in silence | seconds, median | longest |"]
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|")
    for kind in KINDS:
        for weights in WEIGHTS:
            mine = [t for t in trials if (t.kind, t.weights) == (kind, weights)]
            if mine:
                lines.append(_line(kind, weights, mine))
    return "\n".join([*lines, _line("all", "", trials)])


def _line(kind: str, weights: str, trials: list[Trial]) -> str:
    effects, failed, silent = (sum(x) for x in zip(*((t.effects, t.failed, t.silent) for t in trials), strict=True))
    seconds = [t.seconds for t in trials]
    times = f"{np.median(seconds):.3f} | {max(seconds):.2f}"
    return f"| {kind} | {weights} | {len(trials)} | {effects} | {failed} | {silent} | {times} |"


def write(trials: list[Trial]) -> None:
    """Results beside those of other seeds, and the page of all."""
    path = FOLDER / "maxima.json"
    known = {t["seed"]: t for t in json.loads(path.read_text())} if path.exists() else {}
    known |= {t.seed: asdict(t) for t in trials}
    every = [known[seed] for seed in sorted(known)]
    path.write_text("[\n" + ",\n".join(map(json.dumps, every)) + "\n]\n")
    page = (FOLDER / "maxima.md").read_text().split("\n| graphs |")[0].rstrip()
    (FOLDER / "maxima.md").write_text(f"{page}\n\n{summary([Trial(**t) for t in every])}\n")
