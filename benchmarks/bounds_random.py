"""What must hold for every set of values, on random problems: every kind of assumption, many kinds of question.

    python -m benchmarks.bounds_random                          600 problems, 150 of each number of free weights
    python -m benchmarks.bounds_random --first 30000 --count 50 --free 2 3

Of each problem: models with the covariance, found by Newton steps from random weights and judged by nothing that sets
use, never have an answer outside; each finite end has a model of the graph with this covariance that obeys every
assumption and has that answer, all to 1e-6 (at a limit that no model reaches: comes near it, and the end says so); no
set is narrower after an assumption is loosened, or wider after one is added; what the graph identifies is one point.
Findings are printed as they come, then counts and processor times.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from time import monotonic, process_time

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import HalftrekError, QueryError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.partial.assumptions import Assumption, Conditions, State, conditions_of, read_assumption
from halftrek.partial.assumptions.kinds import AbsoluteSum, Confounded, Norm
from halftrek.partial.sets import End, IdentifiedSet, identified_set
from halftrek.partial.sets.covariance import held_weights
from tests.partial.brute import models_with
from tests.partial.graphs import Setting
from tests.partial.mixed import mixed_setting
from tests.partial.test_properties import answer, contains, inside, wider

NEAR = 1e-6  # by which a model may miss an end, an assumption, its graph or the covariance
ON_THE_WAY = 1e-2  # by which it may miss a limit that none reaches
DRAWN = 25  # models with the covariance
STEPS = 30  # by which one of them is brought to obey assumptions
ROOM = 1e-7  # by which it shall obey
LOOSER = 1.2  # times a limit

Times = dict[tuple[int, str], list[float]]


def main() -> None:
    """Print findings, counts and times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=20_000, help="the first seed")
    parser.add_argument("--count", type=int, default=150, help="problems of each number of free weights")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no problem after so many")
    parser.add_argument("--free", type=int, nargs="+", default=[1, 2, 3, 4])
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    took: Times = defaultdict(list)
    _all(given, counts, took)
    print("\n" + "\n".join(f"{number:6d} {words}" for words, number in counts.items()))
    print(f"\n{'free':>4s} {'certificate':16s} {'sets':>5s} {'median ms':>10s} {'90 %':>8s} {'most':>8s}")
    for (free, certificate), times in sorted(took.items()):
        middle, high = np.quantile(times, [0.5, 0.9])
        print(f"{free:4d} {certificate:16s} {len(times):5d} {middle:10.1f} {high:8.1f} {max(times):8.1f}")


def _all(given: argparse.Namespace, counts: Counter[str], took: Times) -> None:
    end = monotonic() + 60.0 * given.minutes
    for free in given.free:
        step = 4 if free > 3 else 1  # so many take four variables, as every fourth seed has
        for seed in range(given.first, given.first + step * given.count, step):
            if monotonic() > end:
                return
            for finding in _problem(seed, free, counts, took):
                counts["findings"] += 1
                print(f"free {free} seed {seed}: {finding}", flush=True)


def _problem(seed: int, free: int, counts: Counter[str], took: Times) -> Iterator[str]:
    try:
        setting = mixed_setting(seed, free)
    except AssertionError:  # none of so many free weights was drawn
        return
    counts["problems"] += 1
    start = process_time()
    try:
        found = _found(setting)
    except QueryError:  # x / 0 in all models
        counts["without an answer"] += 1
        return
    except Exception as error:  # what is looked for, whatever it is
        yield f"raised {error!r} for {_written(setting)}"
        return
    took[found.free, found.certificate].append(1000.0 * (process_time() - start))
    counts[f"sets that are {found.certificate}"] += 1
    checks = (_outside(setting, found, seed, counts), _ends(setting, found, counts))
    findings = [text for check in checks for text in check]
    try:
        findings += [*_looser(setting, found, seed), *_more(setting, found, seed), *_identified(setting, found, counts)]
    except Exception as error:
        findings.append(f"raised {error!r}")
    for text in findings:
        yield f"{text}; {found.certificate}, {found.pieces} of {_written(setting)}"


def _found(setting: Setting, assumptions: tuple[Assumption, ...] | None = None) -> IdentifiedSet:
    assumed = setting.assumptions if assumptions is None else assumptions
    return identified_set(setting.graph, setting.sigma, None, setting.question, assumed)


def _written(setting: Setting) -> str:
    assumed = "; ".join(map(str, setting.assumptions))
    return f"{setting.question!r} in {setting.graph} under {assumed}"


def _held(setting: Setting) -> Conditions:
    return conditions_of(setting.assumptions, setting.graph, setting.wide.observed)


# -- nothing lies outside -----------------------------------------------------------------------------


def _outside(setting: Setting, found: IdentifiedSet, seed: int, counts: Counter[str]) -> Iterator[str]:
    sigma = setting.sigma
    if any("fitted model" in note for note in found.notes):
        shown = found.lower.model or found.upper.model
        if shown is None:
            return
        sigma = np.asarray(shown.cov)
    held, rng = _held(setting), np.random.default_rng(seed)
    graph = held_weights(setting.wide, setting.assumptions)
    for model in models_with(graph, sigma, rng, DRAWN):
        one = _obeying(graph, model, held, sigma)
        if one is None or np.abs(np.asarray(one.cov) - sigma).max() > 1e-9 * np.abs(sigma).max():  # so far out
            continue
        try:
            value = answer(found.query, one)
        except (HalftrekError, np.linalg.LinAlgError):  # too large to compute with, or divided by zero
            continue
        counts["models looked at"] += 1
        if np.isfinite(value) and not inside(value, found.pieces):
            yield f"{value} of a model is outside"
            return


def _obeying(graph: Graph, model: CGLSCM, held: Conditions, sigma: Floats) -> CGLSCM | None:
    """The model, or one near it that obeys; None if Gauss-Newton steps reach none."""
    names = graph.observed
    known = {(e.first, e.second): v for e, v in graph.known.items() if e.kind == "->" and isinstance(v, float)}
    edges = [(names.index(u), names.index(v)) for u, v in graph.directed if (u, v) not in known]
    joined = {frozenset((names.index(u), names.index(v))) for u, v in graph.bidirected}
    pairs = [(i, j) for i in range(len(names)) for j in range(i) if frozenset((i, j)) not in joined]
    T = np.array(model.T)
    for (u, v), weight in known.items():
        T[names.index(u), names.index(v)] = weight

    def missing(w: Floats) -> Floats:
        there = T.copy()
        for (i, j), value in zip(edges, w, strict=True):
            there[i, j] = value
        A = np.eye(len(T)) - there
        omega = A.T @ sigma @ A
        sd = np.sqrt(np.diag(omega))
        values = held.values(State(there, omega, sigma))
        broken = np.where(held.equal, values, np.maximum(values + ROOM, 0.0))
        return np.concatenate([np.array([omega[i, j] / (sd[i] * sd[j]) for i, j in pairs]), broken])

    w = np.array([T[i, j] for i, j in edges])
    for _ in range(STEPS):
        gap = missing(w)
        if not np.isfinite(gap).all() or np.abs(w).max(initial=0.0) > 1e4:
            return None
        if np.abs(gap).max(initial=0.0) < 1e-11:
            break
        if not len(w):
            return None
        moves = 1e-6 * np.maximum(1.0, np.abs(w))
        steps = zip(moves, np.eye(len(w)), strict=True)
        slopes = np.array([(missing(w + m * e) - missing(w - m * e)) / (2.0 * m) for m, e in steps])
        w = w - np.linalg.lstsq(slopes.T, gap, rcond=1e-9)[0]
    if np.abs(missing(w)).max(initial=0.0) > 1e-10:
        return None
    for (i, j), value in zip(edges, w, strict=True):
        T[i, j] = value
    A = np.eye(len(T)) - T
    omega = A.T @ sigma @ A
    for i, j in pairs:
        omega[i, j] = omega[j, i] = 0.0
    return replace(model, T=T, W=0.5 * (omega + omega.T))


# -- each end has its model ---------------------------------------------------------------------------


def _ends(setting: Setting, found: IdentifiedSet, counts: Counter[str]) -> Iterator[str]:
    held = _held(setting)
    fitted = any("fitted model" in note for note in found.notes)
    inner = [end for gap in found.gaps for end in gap]
    for end in (found.lower, found.upper, *inner):
        if not np.isfinite(end.value):
            continue
        counts["finite ends" + ("" if end.attained else " that are limits")] += 1
        if end.model is None:
            yield f"no model at {end.value}"
            continue
        yield from _shown(setting, found, end, end.model, held, fitted)


def _shown(
    setting: Setting, found: IdentifiedSet, end: End, model: CGLSCM, held: Conditions, fitted: bool
) -> Iterator[str]:
    value = answer(found.query, model)
    gap = abs(value - end.value) / max(1.0, abs(end.value))
    if gap > (NEAR if end.attained else ON_THE_WAY):
        yield f"the model at {end.value} has {value}{'' if end.attained else ', a limit'}"
    names = setting.wide.observed
    lost = max(1.0, float(np.abs(model.T).max()) ** 2)  # digits, far out
    sigma = np.asarray(model.cov) if fitted else setting.sigma
    off = np.abs(np.asarray(model.cov) - sigma).max() / np.abs(sigma).max()
    if off > NEAR * lost:
        yield f"the model at {end.value} has another covariance, by {off:.1e}"
    edges = {(names.index(u), names.index(v)) for u, v in setting.wide.directed}
    arcs = {frozenset((names.index(u), names.index(v))) for u, v in setting.wide.bidirected}
    omega, sd = np.asarray(model.omega), np.sqrt(np.diag(model.omega))
    for i in range(len(names)):
        for j in range(len(names)):
            if i != j and (i, j) not in edges and model.T[i, j] != 0.0:
                yield f"the model at {end.value} has an arrow that the graph lacks"
            if i < j and frozenset((i, j)) not in arcs and abs(omega[i, j]) > NEAR * sd[i] * sd[j]:
                yield f"the model at {end.value} has an arc that the graph lacks, {omega[i, j] / (sd[i] * sd[j]):.1e}"
    values = held.values(State(model.T, omega, np.asarray(model.cov)))
    worst = float(np.where(held.equal, np.abs(values), values).max(initial=0.0))
    if worst > NEAR:
        yield f"the model at {end.value} breaks an assumption by {worst:.1e}{'' if end.attained else ', a limit'}"


# -- more and less ------------------------------------------------------------------------------------


def _loosened(assumption: Assumption) -> Assumption:
    if isinstance(assumption, Norm | AbsoluteSum):
        return replace(assumption, limit=LOOSER * assumption.limit + 0.01)
    if isinstance(assumption, Confounded) and assumption.shares is None:
        return replace(assumption, times=LOOSER * assumption.times)
    return assumption if " == " in str(assumption) else wider(assumption)


def _looser(setting: Setting, found: IdentifiedSet, seed: int) -> Iterator[str]:
    several = setting.assumptions
    able = [k for k, one in enumerate(several) if _loosened(one) != one]
    if not able:
        return
    k = able[seed % len(able)]
    other = _loosened(several[k])
    wide = _found(setting, (*several[:k], other, *several[k + 1 :]))
    if not contains(wide, found):
        yield f"{wide.pieces} ({wide.certificate}) with {other}"


def _more(setting: Setting, found: IdentifiedSet, seed: int) -> Iterator[str]:
    u, v = setting.graph.directed[0]
    text = f"abs({u} -> {v}) <= 0.7" if seed % 2 else f"share({v}) <= 1.1"
    try:
        narrow = _found(setting, (*setting.assumptions, read_assumption(text, setting.graph)))
    except HalftrekError:  # contradicts another
        return
    if not contains(found, narrow):
        yield f"{narrow.pieces} ({narrow.certificate}) with {text} too"


def _identified(setting: Setting, found: IdentifiedSet, counts: Counter[str]) -> Iterator[str]:
    if not ht.identify(setting.wide, setting.question).identified:
        return
    counts["identified"] += 1
    if found.kind not in ("point", "nothing"):
        yield "identified, and no point"


if __name__ == "__main__":
    main()
