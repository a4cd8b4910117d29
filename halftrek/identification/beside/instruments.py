"""The instruments behind an answer: which equations of its formula they solve, and what else could have solved them.

A step of a formula, ``Cov(rows, columns) b = Cov(rows, target)``, says that ``e = target - columns b`` is unrelated to
the rows. Whatever else is unrelated to e in (almost) all models with this graph is an instrument of the same equation,
with the same variables held. This is read off random points modulo primes, as the criteria are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.graphs import Graph
from halftrek.identification.criteria.bench import Bench
from halftrek.identification.numbers.modular import Ints
from halftrek.identification.recipes.describe import is_regression
from halftrek.identification.recipes.recipe import Combination, LinearStep
from halftrek.identification.study import Study
from halftrek.identification.verdict import Verdict

POINTS = 2  # random points, each modulo its own prime


@dataclass(frozen=True)
class InstrumentEquation:
    """An equation that is solved by instruments: ``outcome`` on ``causes``, with ``controls`` held.

    ``chosen`` are the instruments that the formula uses, one for each cause; ``instruments`` are all that the graph
    allows with the same controls. ``telling`` are those of them that tell of the causes beside the others: one that
    acts only through another instrument adds nothing to it. ``effects`` names the coefficient of each cause; empty
    where it has no meaning of its own.
    """

    outcome: str
    causes: tuple[str, ...]
    controls: tuple[str, ...]
    chosen: tuple[str, ...]
    instruments: tuple[str, ...]
    telling: tuple[str, ...]
    effects: tuple[str, ...]


def instrument_equations(verdict: Verdict) -> tuple[InstrumentEquation, ...]:
    """The equations of a formula that plain variables solve as instruments; none if it has no such equation."""
    if verdict.recipe is None:
        return ()
    steps = [s for s in verdict.recipe.steps if isinstance(s, LinearStep) and _by_instruments(s)]
    study = Study(verdict.graph) if steps else None
    return tuple(_equation(verdict.graph, _benches(study), step) for step in steps if study is not None)


def _by_instruments(step: LinearStep) -> bool:
    plain = not any(c.minus for c in (*step.rows, *step.columns, step.target))
    return plain and not is_regression(step)


def _benches(study: Study) -> list[Bench]:
    return [Bench(study.probe(k).point, study.probe(k).field) for k in range(POINTS)]


def _equation(graph: Graph, benches: Sequence[Bench], step: LinearStep) -> InstrumentEquation:
    shared = [c for c in step.columns if c in step.rows]
    ends = [(c.variable, q or "") for c, q in zip(step.columns, step.outputs, strict=True) if c not in shared]
    causes, controls = tuple(v for v, _ in ends), _names(shared)
    chosen = _names(r for r in step.rows if r not in shared)
    taken = {*causes, *controls, step.target.variable}
    valid = [v for v in graph.observed if v not in taken]
    for bench in benches:
        error = _with_error(bench, step)
        valid = [v for v in valid if not error[bench.place[v]]]
    moved = {v for bench in benches for v in valid if _first_stage(bench, [v], causes, controls).any()}
    valid = [v for v in valid if v in moved]
    slopes = [_first_stage(bench, valid, causes, controls) for bench in benches]
    telling = tuple(v for k, v in enumerate(valid) if any(s[k].any() for s in slopes))
    return InstrumentEquation(
        step.target.variable, causes, controls, chosen, tuple(valid), telling, tuple(q for _, q in ends)
    )


def _names(combinations: Iterable[Combination]) -> tuple[str, ...]:
    return tuple(c.variable for c in combinations)


def _with_error(bench: Bench, step: LinearStep) -> Ints:
    """Covariances of all variables with the error that the step makes, at a point."""
    rows, columns = ([bench.place[c.variable] for c in side] for side in (step.rows, step.columns))
    target = bench.place[step.target.variable]
    field, sigma = bench.field, bench.sigma
    solution = field.solve(sigma[np.ix_(rows, columns)], sigma[rows][:, [target]])
    assert solution is not None  # the step is part of a formula that was confirmed
    explained = field.matmul(sigma[:, columns], solution)
    return field.reduce(sigma[:, target] - explained[:, 0])


def _first_stage(bench: Bench, instruments: Sequence[str], causes: Sequence[str], controls: Sequence[str]) -> Ints:
    """Slopes of the instruments in regressions of the causes on them and the controls, at a point."""
    regressors = [bench.place[v] for v in (*instruments, *controls)]
    at = [bench.place[v] for v in causes]
    slopes = bench.field.solve(bench.sigma[np.ix_(regressors, regressors)], bench.sigma[np.ix_(regressors, at)])
    assert slopes is not None  # a covariance matrix is invertible at almost every point
    return slopes[: len(instruments)]
