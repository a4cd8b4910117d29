"""The likelihood of every kind of data as a textbook prints it, row by row, and its derivatives.

Of the package the table of parameters is used, which says what there is to estimate and where it ended, and of columns
in categories and ranks the correlations (tests/layer has slow ways to these) with the weights of least squares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from tests import kinds
from tests.kinds import Kind

Value = Callable[[np.ndarray], Any]

CASES = ((False, True), (True, True), (True, False))  # whether the cause is held at 1, and another is seen at 0.4


class Line(NamedTuple):
    """One line of a table of parameters; ``free`` is the place of its parameter, None where it is held."""

    group: str
    lhs: str
    op: str
    rhs: str
    value: float
    free: int | None


class Sample(NamedTuple):
    """Moments of ``n`` rows, in the order of the columns."""

    n: float
    mean: np.ndarray
    cov: np.ndarray


@dataclass(frozen=True)
class Plain:
    """A model as lines of parameters, and where they are."""

    kind: Kind
    lines: tuple[Line, ...]
    theta: np.ndarray

    def freed(self, lhs: str, op: str, rhs: str) -> Plain:
        """With one parameter more, at zero, behind the others."""
        line = Line("", lhs, op, rhs, 0.0, len(self.theta))
        return replace(self, lines=(*self.lines, line), theta=np.append(self.theta, 0.0))

    def at(self, theta: np.ndarray, line: Line) -> Any:
        return line.value if line.free is None else theta[line.free]

    def matrices(self, theta: np.ndarray, group: str, names: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coefficients (effect, cause), covariances of errors, intercepts."""
        place = {name: j for j, name in enumerate(names)}
        coefficients, errors = np.zeros((2, len(names), len(names)), dtype=theta.dtype)
        intercepts = np.zeros(len(names), dtype=theta.dtype)
        for line in self.lines:
            if line.group != group or line.op == "|":
                continue
            i, j, value = place[line.lhs], place.get(line.rhs, 0), self.at(theta, line)
            match line.op:
                case "~1":
                    intercepts[i] = value
                case "~~":
                    errors[i, j] = errors[j, i] = value
                case "~":
                    coefficients[i, j] = value
                case "=~":
                    coefficients[j, i] = value
        return coefficients, errors, intercepts

    def moments(self, theta: np.ndarray, group: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of what is seen."""
        seen = self.kind.seen
        names = list(dict.fromkeys([*seen, *(line.lhs for line in self.lines)]))
        coefficients, errors, intercepts = self.matrices(theta, group, names)
        reach = np.linalg.inv(np.eye(len(names)) - coefficients)[: len(seen)]
        return reach @ intercepts, reach @ errors @ reach.T

    def answers(self, theta: np.ndarray) -> np.ndarray:
        """The effect, and mean and variance of the outcome in each case of ``CASES``."""
        names = list(dict.fromkeys([*self.kind.seen, *(line.lhs for line in self.lines)]))
        x, y, given = (names.index(v) for v in (self.kind.cause, self.kind.outcome, self.kind.given))
        found = []
        for held, seen in CASES:
            coefficients, errors, intercepts = self.matrices(theta, "", names)
            if held:
                coefficients[x], errors[x], errors[:, x], intercepts[x] = 0.0, 0.0, 0.0, 1.0
            reach = np.linalg.inv(np.eye(len(names)) - coefficients)
            mean, cov = reach @ intercepts, reach @ errors @ reach.T
            slope = cov[y, given] / cov[given, given] if seen else 0.0
            found += [mean[y] + slope * (0.4 - mean[given]), cov[y, y] - slope * cov[given, y]]
        return np.array([reach[y, x], *found])


@dataclass(frozen=True)
class Straight(Plain):
    """The same model with moments that follow the parameters along straight lines."""

    def moments(self, theta: np.ndarray, _group: str = "") -> tuple[np.ndarray, np.ndarray]:
        (mean, cov), (dmean, dcov) = self.start
        return mean + dmean @ (theta - self.theta), cov + dcov @ (theta - self.theta)

    @cached_property
    def start(self) -> tuple[tuple[np.ndarray, np.ndarray], list[np.ndarray]]:
        """The moments where the parameters are, and their slopes."""
        curved = Plain(self.kind, self.lines, self.theta)
        slope = [slopes(lambda theta: curved.moments(theta)[0], self.theta)]
        return curved.moments(self.theta), [*slope, slopes(lambda theta: curved.moments(theta)[1], self.theta)]


def read(kind: Kind, fit: Any) -> Plain:
    """The model of a fit; what has no standard error is held. Cuts are parameters where the likelihood has them."""
    table = fit.params()
    groups = table["group"] if "group" in table else [""] * len(table["est"])
    lines: list[Line] = []
    theta: dict[str, float] = {}
    for group, lhs, op, rhs, value, se in zip(
        groups, *(table[c] for c in ("lhs", "op", "rhs", "est", "se")), strict=True
    ):
        words = f"{lhs} {op}" if rhs in (lhs, "") else f"{lhs} {op} {rhs}"
        name, free = kind.equal.get(words, f"{group} {lhs} {op} {rhs}"), None
        if se > 0.0 and not (op == "|" and kind.behind):
            theta.setdefault(name, float(value))
            free = list(theta).index(name)
        lines.append(Line(group, lhs, op, rhs, float(np.nan_to_num(value)), free))
    return Plain(kind, tuple(lines), np.array(list(theta.values())))


@cache
def plain(kind: Kind) -> Plain:
    """The model that was fitted."""
    return read(kind, kinds.fit(kind))


def column(model: Plain, table: Any, name: str = "se") -> np.ndarray:
    """A column of a table of parameters: a number for each that is free."""
    found = {line.free: x for line, x in zip(model.lines, table[name], strict=True)}
    return np.array([found[j] for j in range(len(model.theta))], dtype=float)


# -- values ---------------------------------------------------------------------------------------


def normal(mean: np.ndarray, cov: np.ndarray, at: np.ndarray, spread: np.ndarray | float = 0.0) -> Any:
    """Log-density at each row; with a ``spread``, its average over rows about ``at``."""
    off, inverse = at - mean, np.linalg.inv(cov)
    constant = np.log(2.0 * np.pi) * len(mean) + np.log(np.linalg.det(cov))
    return -0.5 * (constant + np.einsum("...i,ij,...j", off, inverse, off) + np.sum(inverse * spread))


def by_pattern(kind: Kind) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Rows of one group with values in the same columns: the group, the columns, the rows."""
    there = ~np.isnan(np.column_stack([kind.rows[v] for v in kind.seen]))
    labels = kind.rows[kind.options["by"]] if "by" in kind.options else np.full(kind.n, "")
    found: dict[tuple[Any, ...], list[int]] = {}
    for row, (label, mask) in enumerate(zip(labels, there, strict=True)):
        found.setdefault((str(label), *mask), []).append(row)
    return [(label, np.flatnonzero(mask), np.array(rows)) for (label, *mask), rows in found.items()]


def weights_of(kind: Kind) -> np.ndarray:
    """How often a row counts; weights of a sample count rows once on average."""
    if "sampling_weights" in kind.options:
        shares = kind.rows[kind.options["sampling_weights"]]
        return shares / shares.mean()
    return kind.rows[kind.options["weights"]] if "weights" in kind.options else np.ones(kind.n)


def densities(model: Plain, theta: np.ndarray) -> np.ndarray:
    """Log-density of every row."""
    kind = model.kind
    values = np.column_stack([kind.rows[v] for v in kind.seen]).astype(float)
    if kind.name == "acts":
        return acting_densities(model, theta, values)
    found = np.zeros(kind.n, dtype=theta.dtype)
    for group, seen, rows in by_pattern(kind):
        mean, cov = model.moments(theta, group)
        found[rows] = normal(mean[seen], cov[np.ix_(seen, seen)], values[np.ix_(rows, seen)])
    return found


def acting_densities(model: Plain, theta: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The density of the errors of continuous columns, times the chance of the category of x given these."""
    coefficients, errors, intercepts = model.matrices(theta, "", model.kind.seen)
    off = values - values @ coefficients.T - intercepts
    x = model.kind.seen.index("x")
    rest = [j for j in range(len(off.T)) if j != x]
    slope = np.linalg.solve(errors[np.ix_(rest, rest)], errors[rest, x])
    spread = np.sqrt(errors[x, x] - errors[rest, x] @ slope)
    cut = next(model.at(theta, line) for line in model.lines if line.op == "|")
    above = (values @ coefficients[x] + off[:, rest] @ slope - cut) / spread
    sides = np.where(values[:, x] == 1.0, above, -above)
    return normal(np.zeros(len(rest)), errors[np.ix_(rest, rest)], off[:, rest]) + log_ndtr(sides)


def from_moments(model: Plain, theta: np.ndarray, sample: Sample) -> Any:
    """The log-likelihood of rows with these moments."""
    return sample.n * normal(*model.moments(theta), sample.mean, sample.cov)


def sample_of(kind: Kind, fit: Any) -> Sample:
    """What was fitted where that is no rows: a covariance, or correlations with what stands behind a column."""
    order = [fit.moments.names.index(v) for v in kind.seen]
    return Sample(fit.moments.n, fit.moments.mean[order], in_order(kind, fit, fit.moments.cov))


def in_order(kind: Kind, fit: Any, matrix: np.ndarray) -> np.ndarray:
    """A matrix of the fit in the order of the columns."""
    order = [fit.moments.names.index(v) for v in kind.seen]
    return matrix[np.ix_(order, order)]


def squares(model: Plain, theta: np.ndarray, sample: Sample, spread: np.ndarray) -> Any:
    """Minus half of the weighted squares of what is left of means and covariances; a variance of 1 is left out."""
    mean, cov = model.moments(theta)
    weights = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0)
    return -0.25 * np.sum((weights + np.diag(np.diag(weights))) * (sample.cov - cov) ** 2) - np.sum(
        (sample.mean - mean) ** 2
    )


def loglik(model: Plain, theta: np.ndarray) -> Any:
    """What the fit makes as large as it can: of all rows, or of the moments that stand for them."""
    kind = model.kind
    if not kind.behind and kind.fitting is not kinds.by_covariance:
        return weights_of(kind) @ densities(model, theta)
    fit = kinds.fit(kind)
    sample = sample_of(kind, fit)
    if kind.options.get("estimator") == "dwls":
        return squares(model, theta, sample, in_order(kind, fit, fit.moments.layer.spread))
    return from_moments(model, theta, sample)


def expected(model: Plain, theta: np.ndarray) -> Any:
    """The log-likelihood that rows with the same columns and the model's own moments would have."""
    total, weights = 0.0, weights_of(model.kind)
    for group, seen, rows in by_pattern(model.kind):
        part = np.ix_(seen, seen)
        (mean, cov), (at, spread) = model.moments(theta, group), model.moments(model.theta, group)
        total = total + weights[rows].sum() * normal(mean[seen], cov[part], at[seen], spread[part])
    return total


# -- derivatives ----------------------------------------------------------------------------------


def slopes(value: Value, theta: np.ndarray) -> np.ndarray:
    """Derivatives of a number, or of each of an array, by complex steps, which lose no digit."""
    steps = 1e-30j * np.eye(len(theta))
    return np.stack([np.imag(value(theta + step)) / 1e-30 for step in steps], axis=-1)


def curvature(value: Value, theta: np.ndarray) -> np.ndarray:
    """Minus the second derivatives: central differences of the first."""
    sizes = 1e-5 * np.maximum(1.0, np.abs(theta))
    steps = np.diag(sizes)
    lines = [slopes(value, theta - step) - slopes(value, theta + step) for step in steps]
    found = np.array(lines) / (2.0 * sizes[:, None])
    return 0.5 * (found + found.T)
