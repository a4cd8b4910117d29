"""Does the interval of a set cover the true value, which sits at an end of the set, as often as it says?

Writes ``docs/benchmarks/bounds_coverage.json``; ``docs/benchmarks/bounds.md`` tells of it. Samples are moments of
normal rows, drawn from their own distribution (Wishart), seeded by the name of the cell. The ends of the set at a
sample are in closed form here, so that what is timed and tested is the interval alone: ``chance_of``, as ``ht.bounds``
calls it.
``python -m benchmarks.bounds_coverage`` takes about twenty minutes of one core; ``--samples 400`` two; ``--kind rule``
asks only whether the truth is kept, without the ends of the interval, and takes three.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import SetInterval
from halftrek.bottom.progress import late_bar
from halftrek.data import Moments
from halftrek.estimation import Fitted, fit
from halftrek.partial.assumptions import Assumption, conditions_of, read_assumptions, relaxed
from halftrek.partial.chance.interval import Chance, chance_of
from halftrek.partial.chance.likelihood import Piece
from halftrek.partial.chance.program import Program
from halftrek.partial.chance.search import Search
from halftrek.partial.chance.setting import program_of
from halftrek.queries import Query
from halftrek.trust import leeway

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
LEVEL = 0.95
SAMPLES = 4000
AIM = (0.935, 0.98)
RULE = "likelihood, by its rule"

Ends = tuple[tuple[float, Floats], tuple[float, Floats]]


@dataclass(frozen=True)
class Case:
    """A graph, what is assumed of it, the true weights and errors, and the set's ends at a covariance."""

    name: str
    graph: str
    names: tuple[str, ...]
    question: str
    assume: tuple[str, ...]
    T: Floats
    omega: Floats
    truth: float
    n: int
    ends: Callable[[Floats], Ends]

    @cached_property
    def read(self) -> tuple[ht.Graph, tuple[Assumption, ...], ht.Graph, Query]:
        """The graph, what is assumed, the graph with the edges of that, and the question."""
        graph = ht.graph(self.graph)
        assumed = read_assumptions(self.assume, graph)
        return graph, assumed, relaxed(graph, assumed), ht.parse_question(self.question)

    @property
    def sigma(self) -> Floats:
        """The true covariance."""
        B = np.linalg.inv(np.eye(len(self.names)) - self.T)
        return np.asarray(B.T @ self.omega @ B)


def bow_ends(S: Floats, r: float = 0.3) -> Ends:
    """``b -+ r / sqrt(1 - r^2) sqrt(s_yy.x / s_xx)``."""
    b = S[0, 1] / S[0, 0]
    reach = r / np.sqrt(1.0 - r * r) * np.sqrt((S[1, 1] - b * S[0, 1]) / S[0, 0])
    return _pair([(b - reach, {(0, 1): b - reach}), (b + reach, {(0, 1): b + reach})], 2)


def leak_ends(S: Floats, tau: float = 0.1) -> Ends:
    """``(s_zy -+ tau s_zz) / s_zx``."""
    a = S[0, 1] / S[0, 0]
    found = []
    for leak in (tau, -tau):
        b = (S[0, 2] - leak * S[0, 0]) / S[0, 1]
        found.append((b, {(0, 1): a, (1, 2): b, (0, 2): leak}))
    return _pair(found, 3)


def front_door_ends(S: Floats, r: float = 0.2) -> Ends:
    """The extremes of ``a (s_my - a s_xy) / (s_mm - a s_xm)`` over the weights a that the correlation allows."""
    (low, _), (high, _) = bow_ends(S[:2, :2], r)
    p, q = S[1, 1], S[0, 1]
    s, t = S[1, 2], S[0, 2]
    tries = [low, high]
    # (s - 2 a t)(p - a q) + a (s - a t) q = 0
    roots = np.roots([t * q, -2.0 * t * p, s * p])
    tries += [float(a.real) for a in roots if abs(a.imag) < 1e-12 and low < a.real < high]
    found = []
    for a in tries:
        b = (s - a * t) / (p - a * q)
        found.append((a * b, {(0, 1): a, (1, 2): b}))
    return _pair([min(found, key=lambda one: one[0]), max(found, key=lambda one: one[0])], 3)


def _pair(found: list[tuple[float, dict[tuple[int, int], float]]], p: int) -> Ends:
    made = []
    for value, weights in sorted(found, key=lambda one: one[0]):
        T = np.zeros((p, p))
        for edge, weight in weights.items():
            T[edge] = weight
        made.append((float(value), T))
    return made[0], made[1]


def _bow(n: int) -> Case:
    T, omega = np.zeros((2, 2)), np.array([[1.0, 0.3], [0.3, 1.0]])
    T[0, 1] = 0.5
    assume = ("|corr(x <-> y)| <= 0.3",)
    return Case(f"bow, n = {n}", "x -> y; x <-> y", ("x", "y"), "x -> y", assume, T, omega, 0.5, n, bow_ends)


def _leak(first: float, n: int, name: str) -> Case:
    T, omega = np.zeros((3, 3)), np.eye(3)
    T[0, 1], T[1, 2], T[0, 2] = first, 0.5, 0.1
    omega[1, 2] = omega[2, 1] = 0.5
    graph, names = "z -> x -> y; x <-> y", ("z", "x", "y")
    return Case(name, graph, names, "x -> y", ("|z -> y| <= 0.1",), T, omega, 0.5, n, leak_ends)


def _front_door(correlation: float, n: int, name: str) -> Case:
    T, omega = np.zeros((3, 3)), np.eye(3)
    T[0, 1], T[1, 2] = 1.0, 0.5
    omega[0, 2] = omega[2, 0] = 0.4
    omega[0, 1] = omega[1, 0] = correlation
    graph, names = "x -> m -> y; x <-> y", ("x", "m", "y")
    return Case(name, graph, names, "x ~> y", ("|corr(x <-> m)| <= 0.2",), T, omega, 0.5, n, front_door_ends)


CASES = (
    _bow(200),
    _bow(50),
    _leak(0.7, 200, "leaky instrument, strong, n = 200"),
    _leak(0.1, 200, "leaky instrument, weak, n = 200"),
    _front_door(0.2, 200, "front-door with x <-> m, n = 200"),
)


@dataclass(frozen=True)
class Cell:
    """What came of one case: how often the truth was covered, how often an end was infinite or not found."""

    name: str
    kind: str
    samples: int
    covered: float
    unbounded: float | None
    lost: int
    milliseconds: float
    width: float | None


def drawn(case: Case, samples: int) -> Floats:
    """Covariances (divisor n) of so many samples of normal rows."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    p = len(case.names)
    root = np.linalg.cholesky(case.sigma)
    free = case.n - 1 - np.arange(p)
    L = np.tril(rng.standard_normal((samples, p, p)), -1)
    L[:, np.arange(p), np.arange(p)] = np.sqrt(rng.chisquare(free, (samples, p)))
    whole = root @ L
    return np.asarray(whole @ whole.transpose(0, 2, 1) / case.n)


def fitted_at(case: Case, S: Floats) -> Fitted:
    """The fit of one sample."""
    return fit(case.read[2], Moments(case.names, case.n, np.zeros(len(S)), S))


def setting_of(case: Case, fitted: Fitted, S: Floats) -> tuple[Program, Piece]:
    """The programs of a fit, and the set."""
    graph, assumed, _, query = case.read
    program = program_of(fitted, query, conditions_of(assumed, graph, fitted.model.names))
    order = [case.names.index(v) for v in fitted.model.names]
    (low, at_low), (high, at_high) = case.ends(S)
    vectors = [program.coordinates.vector(T[np.ix_(order, order)]) for T in (at_low, at_high)]
    return program, Piece(low, high, *vectors)


def interval_at(case: Case, S: Floats, kind: SetInterval = "likelihood") -> Chance:
    """The interval of one sample."""
    fitted = fitted_at(case, S)
    program, piece = setting_of(case, fitted, S)
    given = leeway(fitted, program.query, LEVEL)
    return chance_of(program, (piece,), (), LEVEL, given, kind=kind)


def kept(case: Case, fitted: Fitted, S: Floats) -> bool:
    """Does the interval of a fit hold the truth? By the least deviance of models with the true value alone.

    The likelihood set is made of the values whose least deviance is below the cut, so this is the same question as
    whether the interval covers, without a search for its ends: ``--check`` counts how often the two differ.
    """
    program, piece = setting_of(case, fitted, S)
    if piece.low <= case.truth <= piece.high:
        return True
    side = 1 if case.truth > piece.high else -1
    start = piece.at_high if side > 0 else piece.at_low
    assert start is not None
    factor = leeway(fitted, program.query, LEVEL).factor
    search = Search(program, LEVEL, start, factor=lambda d: factor(*program.coordinates.seen_slopes(d)))
    found = search.walk(program.at(start), case.truth)
    return bool(found) and found[-1].loss <= search.cut_at(found[-1], side)[0]


def _covers(case: Case, found: Chance) -> bool:
    return any(a <= case.truth <= b for a, b in found.pieces)


def quickly_measured(case: Case, samples: int) -> Cell:
    """The same for the likelihood set by its rule alone, without its ends."""
    began = time.process_time()
    covered = sum(kept(case, fitted_at(case, S), S) for S in drawn(case, samples))
    spent = 1e3 * (time.process_time() - began) / samples
    return Cell(case.name, RULE, samples, covered / samples, None, 0, spent, None)


def measured(case: Case, samples: int, kind: str) -> Cell:
    """How often the interval of a case covers."""
    covered, unbounded, lost, widths = 0, 0, 0, []
    began = time.process_time()
    with late_bar(f"{case.name}, {kind}") as progress:
        for done, S in enumerate(drawn(case, samples)):
            found = interval_at(case, S, "stoye" if kind == "stoye" else "likelihood")
            covered += _covers(case, found)
            pieces = found.pieces
            ends = np.array([pieces[0][0], pieces[-1][1]])
            unbounded += bool(np.isinf(ends).any())
            lost += bool(np.isnan(ends).any())
            widths.append(float(ends[1] - ends[0]))
            if progress is not None:
                progress(done + 1, samples)
    spent = 1e3 * (time.process_time() - began) / samples
    return Cell(case.name, kind, samples, covered / samples, unbounded / samples, lost, spent, float(np.median(widths)))


def main() -> None:
    """Run the study and write its numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--kind", choices=("likelihood", "stoye", "both", "rule"), default="both")
    parser.add_argument("--dry", action="store_true", help="print only")
    parser.add_argument("--check", type=int, default=0, help="of so many samples, does the quick rule say the same?")
    args = parser.parse_args()
    if args.check:
        for case in CASES:
            if args.only in case.name:
                differ = sum(
                    _covers(case, interval_at(case, S)) != kept(case, fitted_at(case, S), S)
                    for S in drawn(case, args.check)
                )
                print(f"{case.name}: {differ} of {args.check} differ", flush=True)
        return
    kinds: tuple[str, ...] = ("likelihood", "stoye") if args.kind == "both" else (args.kind,)
    path = OUT / "bounds_coverage.json"
    known = {(c["name"], c["kind"]): c for c in json.loads(path.read_text())} if path.exists() else {}
    for case in CASES:
        if args.only not in case.name:
            continue
        for kind in kinds:
            cell = quickly_measured(case, args.samples) if kind == "rule" else measured(case, args.samples, kind)
            known[case.name, cell.kind] = asdict(cell)
            print(f"{cell.name}, {kind}: {cell.covered:.3f} of {cell.samples}, {cell.unbounded} unbounded, "
                  f"{cell.lost} lost, {cell.milliseconds:.0f} ms", flush=True)  # fmt: skip
            if not args.dry:
                path.write_text(json.dumps(list(known.values()), indent=1) + "\n")


if __name__ == "__main__":
    main()
