"""Are effects straight lines? A test of each equation whose error has nothing to do with its causes.

Such an equation is a regression: what is left of the effect must be unrelated to curved functions of the causes, too,
here their squares and the square and cube of the fitted value (Ramsey's RESET, 1969), by a score test whose variance
holds for errors of unequal spread and for clusters (Wooldridge 1991). Where a hidden cause acts on an effect and on one
of its causes, a regression is no equation of the model, and nothing is tested.

The moments tell the regression, so that one pass over the rows is enough: with ``d = (1, x, x², f², f³)`` and the error
e it sums ``d d'``, ``d e`` and ``e² d d'``, for all equations at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.portable import Portable
from halftrek.data import RowBlock, RowPart, gather
from halftrek.data.summing.passes import are_elsewhere
from halftrek.data.weights import Counted
from halftrek.errors import DataError, InputError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.graphs import Graph
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.robust import ByLabel, labelled, merged_by_label, rows_needed, sums_by
from halftrek.inference.kept import kept

WHAT, OTHERWISE = "the test of straight lines", "do without it"
UNITS = 10  # independent rows for each curve
MOST = 20_000_000  # numbers that are read once more where nobody asked for it
_HELD = 200_000  # numbers that are worked on at a time: they stay in the processor's cache
_FLAT = 1e-8  # share of a curve's variance beyond the causes themselves, below which it is no curve


@dataclass(frozen=True)
class LineTest:
    """One test: ``effect`` is linear in its ``causes``; ``note`` says why there is none."""

    effect: str
    causes: tuple[str, ...]
    statistic: float
    df: int
    p: float
    note: str = ""
    test: Literal["RESET", "score"] = "RESET"

    @property
    def constraint(self) -> str:
        """What is tested."""
        return f"{self.effect} linear in {', '.join(self.causes)}" if self.effect else "effects linear in their causes"


@kept
def line_tests(fit: Fitted) -> tuple[LineTest, ...]:
    """A test of every equation, in causal order; those that cannot be tested say why."""
    parents = fit.graph.parents
    found = {v: LineTest(v, parents(v), np.nan, 0, np.nan, _closed(fit, v)) for v in _effects(fit.graph)}
    tested = [v for v, row in found.items() if not row.note]
    if fit.acting is not None:
        from halftrek.inference.checks.acting.lines import cut_line_test  # here, for few need it

        cut = [v for v in tested if v in fit.acting.margins]
        found |= {v: cut_line_test(fit, found[v]) for v in cut}
        tested = [v for v in tested if v not in cut]
    if tested:
        sums = _summed(fit, tested)
        for v, products, spread in zip(tested, sums.products, sums.spreads, strict=True):
            found[v] = _tested(found[v], products, spread, sums.units)
    return tuple(found.values())


def lines_at_hand(fit: Fitted) -> tuple[LineTest, ...]:
    """The same beside other tests; where rows cannot be read, or are too many to be read unasked, one line says so."""
    try:
        if any(not _closed(fit, v) for v in _effects(fit.graph)):
            _refuse_long(fit)
        return line_tests(fit)
    except (DataError, InputError) as error:
        return (LineTest("", (), np.nan, 0, np.nan, f"not tested: {error}"),)


def confounded_causes(graph: Graph, v: str) -> tuple[str, ...]:
    """Causes that the error of ``v`` is related to: hidden causes act on both, or on ``v`` and above the cause."""
    below = graph.descendants(graph.spouses(v)) if graph.spouses(v) else frozenset()
    return tuple(p for p in graph.parents(v) if p in below)


def _effects(graph: Graph) -> list[str]:
    return [v for v in graph.topological_order if graph.parents(v) and v not in graph.hidden]


def _closed(fit: Fitted, v: str) -> str:
    """Why an equation cannot be tested, as far as is known before rows are read."""
    graph, causes = fit.graph, fit.graph.parents(v)
    unseen = [p for p in causes if p in graph.hidden]
    if unseen:
        return f"not testable: {', '.join(unseen)} is hidden"
    confounded = confounded_causes(graph, v)
    if confounded:
        return f"not testable: hidden causes relate {', '.join(confounded)} to the error of {v}"
    layer, columns = fit.moments.layer, (*causes, v)
    behind = [u for u in columns if _unseen(fit, u, cause=u != v) or (layer and layer.margin(u))]
    if behind:
        return f"not testable: {', '.join(behind)} in categories or ranks"
    if fit.acting is not None and fit.acting.missing:
        return "not testable: values are missing"
    having = kind_of_data(fit).rows_having
    holes = [u for u in columns if having(fit, (u,)) < (1.0 - 1e-12) * having(fit, ())]
    return f"not testable: values of {', '.join(holes)} are missing" if holes else ""


def _unseen(fit: Fitted, u: str, *, cause: bool) -> bool:
    """True where categories act and the column is not what the equation sees: a value, a category that acts.

    Of an effect in categories the cuts are told together with the line.
    """
    margin = None if fit.acting is None else fit.acting.margins.get(u)
    return margin is not None and (margin.kind != "acts" if cause else not margin.cut)


def _refuse_long(fit: Fitted) -> None:
    weighting = data_of(fit).weighting
    rows = weighting.lines if isinstance(weighting, Counted) else fit.n
    if are_elsewhere(rows_needed(fit, WHAT, OTHERWISE)) or rows * len(fit.graph.observed) > MOST:
        raise InputError(
            f"{WHAT} reads all {rows:,.0f} rows once more, which may take long: ask for it by "
            f"fit.tests(beyond='linearity')"
        )


# -- one pass over the rows ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Equation(Portable):
    """A regression in standard units; ``at`` are the columns of the causes, then that of the effect."""

    at: Ints
    mean: Floats
    scale: Floats
    slopes: Floats
    size: float  # the standard deviation of the fitted value

    @property
    def terms(self) -> int:
        """How many numbers ``d`` has: 1, the causes, their squares, the square and the cube of the fitted value."""
        return 2 * len(self.slopes) + 3

    def of(self, values: Floats) -> Floats:
        """``(d, e)`` of each row."""
        z = (values[:, self.at] - self.mean) / self.scale
        x = z[:, :-1]
        fitted = x @ self.slopes
        f = fitted / self.size
        return np.column_stack([np.ones(len(z)), x, x**2, f**2, f**3, z[:, -1] - fitted])


@dataclass(frozen=True, eq=False)
class _Sums(Portable):
    """Over the rows, for each equation: of ``(d, e) (d, e)'``, and of ``e² d d'`` over independent units.

    Of rows in clusters ``by_cluster`` has the sums of ``e d``, all equations side by side, until they are all there.
    """

    units: float
    products: tuple[Floats, ...]
    spreads: tuple[Floats, ...]
    by_cluster: ByLabel | None = None


def _summed(fit: Fitted, effects: Sequence[str]) -> _Sums:
    reader = rows_needed(fit, WHAT, OTHERWISE)
    names = tuple(dict.fromkeys(u for v in effects for u in (*fit.graph.parents(v), v)))
    equations = tuple(_equation(fit, v, names) for v in effects)
    over = partial(_over_part, equations, reader.sampling is not None)
    found: _Sums = gather(reader.select(names), over, _merged, kind_of_data(fit).like(fit))
    if found.by_cluster is None:
        return found
    values = found.by_cluster.values
    values = values[values[:, 0] > 0.0, 1:]  # without clusters whose rows were all left out
    ends = np.cumsum([equation.terms for equation in equations])[:-1]
    parts = np.split(values, ends, axis=1)
    return replace(found, units=float(len(values)), spreads=tuple(part.T @ part for part in parts), by_cluster=None)


def _equation(fit: Fitted, v: str, names: tuple[str, ...]) -> _Equation:
    columns = (*fit.graph.parents(v), v)
    moments = kind_of_data(fit).seen_moments(fit, columns)
    scale = np.sqrt(np.diag(moments.cov))
    if (scale <= 0.0).any():
        raise InputError(f"{WHAT} needs columns that vary, and {columns[int(np.argmin(scale))]} does not")
    r = moments.cov / np.outer(scale, scale)
    slopes = np.linalg.lstsq(r[:-1, :-1], r[:-1, -1], rcond=None)[0]
    variance = float(slopes @ r[:-1, :-1] @ slopes)
    size = max(float(np.sqrt(max(variance, 0.0))), 1e-12)
    return _Equation(np.array([names.index(u) for u in columns]), moments.mean, scale, slopes, size)


def _over_part(equations: tuple[_Equation, ...], sampling: bool, part: RowPart) -> _Sums:
    products = [np.zeros((k.terms + 1,) * 2) for k in equations]
    spreads = [np.zeros((k.terms,) * 2) for k in equations]
    clusters, clustered, units = np.zeros((0, 1 + sum(k.terms for k in equations))), False, 0.0
    for block in part.blocks:
        have = np.asarray(~np.isnan(block.values).any(axis=1))  # rows without any value are not those of the fit
        block = block if have.all() else block.take(have)
        clustered = clustered or block.cluster is not None
        units += len(block) if block.weights is None or sampling else float(block.weights.sum())
        moved = [
            _over_block(equation, block, sampling, products[k], spreads[k]) for k, equation in enumerate(equations)
        ]
        if block.cluster is not None:
            clusters = sums_by(block.cluster, np.column_stack([np.ones(len(block)), *moved]), clusters)
    by_cluster = labelled(part, clusters) if clustered else None
    return _Sums(units, tuple(products), tuple(spreads), by_cluster)


def _over_block(equation: _Equation, block: RowBlock, sampling: bool, products: Floats, spread: Floats) -> Floats:
    """Adds to the sums in place; gives ``e d`` times the weights, where rows are in clusters."""
    step = max(64, _HELD // equation.terms)
    moved = []
    for start in range(0, len(block), step):
        some = slice(start, start + step)
        d = equation.of(block.values[some])
        w = None if block.weights is None else block.weights[some, None]
        weighted = d if w is None else d * w
        products += d.T @ weighted
        error = d[:, -1:]
        if block.cluster is not None:
            moved.append(weighted[:, :-1] * error)
            continue
        left = weighted[:, :-1] * error
        spread += left.T @ (left if w is None or sampling else d[:, :-1] * error)
    return np.concatenate(moved) if moved else np.zeros((0, equation.terms))


def _merged(ours: _Sums, theirs: _Sums) -> _Sums:
    products = tuple(a + b for a, b in zip(ours.products, theirs.products, strict=True))
    spreads = tuple(a + b for a, b in zip(ours.spreads, theirs.spreads, strict=True))
    both = [part.by_cluster for part in (ours, theirs) if part.by_cluster is not None]
    by_cluster = merged_by_label(*both) if len(both) == 2 else next(iter(both), None)
    return _Sums(ours.units + theirs.units, products, spreads, by_cluster)


# -- the test ------------------------------------------------------------------------------------


def _tested(row: LineTest, products: Floats, spread: Floats, units: float) -> LineTest:
    """The score test from the sums."""
    from scipy.special import chdtrc

    lines = len(row.causes) + 1
    size = np.sqrt(np.maximum(np.diag(products), 1e-300))
    r = products / np.outer(size, size)
    straight, curved = distinct(r, lines)
    df = len(curved)
    if (why := too_few(df, len(row.causes), units)) is not None:
        return replace(row, df=df, note=why)
    # a curve less what is linear in the causes, by the coefficients of its regression on these
    beyond = np.zeros((df, len(products) - 1))
    beyond[np.arange(df), curved] = 1.0
    beyond[:, straight] = -np.linalg.solve(r[np.ix_(straight, straight)], r[np.ix_(straight, curved)]).T
    beyond = beyond / size[:-1]
    found = beyond @ products[:-1, -1]
    around = beyond @ spread @ beyond.T
    unit = np.sqrt(np.diag(around))
    if not (unit > 0.0).all():
        return replace(row, df=df, note="not testable: nothing is left of the effect beside its causes")
    z = found / unit
    statistic = float(z @ np.linalg.solve(around / np.outer(unit, unit), z))
    return replace(row, statistic=statistic, df=df, p=float(chdtrc(df, statistic)))


def too_few(df: int, causes: int, units: float) -> str | None:
    """Why so many curves cannot be tested with so many independent rows; None if they can be."""
    if not df:
        return "not testable: with two values a cause has no curve"
    needed = UNITS * (df + causes)
    return f"not testable: fewer than {needed} independent rows" if units < needed else None


def distinct(r: Floats, lines: int) -> tuple[Ints, Ints]:
    """Terms that the ones before them do not make up: of the straight ones, and of the curves."""
    kept_ones: list[int] = []
    for j in range(len(r) - 1):
        left = r[j, j]
        if kept_ones:
            left -= r[j, kept_ones] @ np.linalg.solve(r[np.ix_(kept_ones, kept_ones)], r[kept_ones, j])
        around = r[j, j] - r[0, j] ** 2 / r[0, 0] if j else r[0, 0]
        if left > _FLAT * around > 0.0:
            kept_ones.append(j)
    found = np.array(kept_ones, dtype=np.intp)
    return found[found < lines], found[found >= lines]
