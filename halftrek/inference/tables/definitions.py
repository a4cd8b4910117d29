"""Numbers that a text makes of labelled parameters, ``ab := a * b``: their values, and how they move with the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.graphs.formulas import Sum, read_formula
from halftrek.inference.how import How
from halftrek.inference.information.dimension import aside
from halftrek.inference.information.missing.incomplete import lost
from halftrek.inference.intervals import kind_of
from halftrek.inference.tables.parameter import Parameter, Reach, row_of
from halftrek.models import CGLSCM
from halftrek.queries.gradients import Gradient

if TYPE_CHECKING:
    from halftrek.estimation.space import Space

Sides = tuple[str, str, str]  # of a row: left, operator, right


@dataclass(frozen=True)
class Defined:
    """One of these numbers: nan, without a gradient, where data do not determine a parameter in it."""

    name: str
    text: str
    value: float
    gradient: Gradient | None


def labelled(graph: Graph) -> dict[str, Sides]:
    """For each label the first parameter that has it, as the sides of its row."""
    found: dict[str, Sides] = {}
    for (u, kind, v), label in graph.known.items():
        if isinstance(label, str):
            loading = u in graph.latents or (u in graph.hidden and v not in graph.hidden)
            found.setdefault(label, (u, "=~", v) if loading else (v, "~", u) if kind == "->" else (u, "~~", v))
    for v, label in graph.variances.items():
        if isinstance(label, str):
            found.setdefault(label, (v, "~~", v))
    for v, label in graph.intercepts.items():
        if isinstance(label, str):
            found.setdefault(label, (v, "~1", ""))
    return found


def definitions_of(fit: Fitted, values: Mapping[Sides, float]) -> list[Defined]:
    """Every definition of the graph, from the values of the rows of parameters.

    Data may tell a sum of parameters that they do not tell one by one, as ``a*b + c`` where m and y are confounded.
    """
    found = _all_made(fit, values)
    if all(isfinite(one.value) for one in found):
        return found
    points = _points(fit, values)
    if points is None:
        return found
    here, away = points
    tried = zip(_all_made(*here), _all_made(*away), strict=True)
    return [
        one if isfinite(one.value) else _if_told(one, *pair, away[0]) for one, pair in zip(found, tried, strict=True)
    ]


def _all_made(fit: Fitted, values: Mapping[Sides, float]) -> list[Defined]:
    homes = labelled(fit.graph)
    known: dict[str, float] = {}
    gradients: dict[str, Gradient | None] = {}
    found = []
    for name, text in fit.graph.definitions.items():
        formula = read_formula(text)
        for label in formula.names - known.keys():
            sides = _home(homes, label, name)
            known[label] = value = values.get(sides, nan)
            gradients[label] = _gradient(fit, sides) if isfinite(value) else None
        known[name], gradients[name] = _made(fit, formula, known, gradients)
        found.append(Defined(name, text, known[name], gradients[name]))
    return found


Point = tuple[Fitted, dict[Sides, float]]  # a model, and the values of the labelled rows there


def _points(fit: Fitted, values: Mapping[Sides, float]) -> tuple[Point, Point] | None:
    """The fit with the values that its search ended at, those that no data tell among them, and a point aside of it.

    None where covariances do not say what data tell: where categories act, or means are to be told.
    """
    from halftrek.estimation.space import make_space

    homes = [sides for sides in labelled(fit.graph).values() if sides[0] in fit.model.names]
    untold = [sides for sides in homes if not isfinite(values.get(sides, nan))]
    if fit.acting is not None or any(operator == "~1" for _, operator, _ in untold):
        return None
    space = make_space(fit.graph.opened, fit.model.names, fit.options)
    theta, away = space.vector(fit.model), aside(space, fit.model)
    T, W, C, mu = space.arrays(away)
    loadings = np.zeros_like(fit.model.C)
    loadings[list(space.latents)] = C
    other = CGLSCM(fit.model.names, T, loadings, mu, W, fit.model.latents, fit.model.graph)
    here = {sides: values.get(sides, nan) for sides in homes} | {sides: _value(space, theta, sides) for sides in untold}
    return (fit, here), (replace(fit, model=other), {sides: _value(space, away, sides) for sides in homes})


def _value(space: Space, theta: Floats, sides: Sides) -> float:
    left, operator, right = sides
    T, W, _, mu = space.arrays(theta)
    i = space.names.index(left)
    if operator == "~1":
        return float(mu[i])
    j = space.names.index(right)
    return float(W[i, j] if operator == "~~" else T[i, j] if operator == "=~" else T[j, i])


def _if_told(one: Defined, here: Defined, away: Defined, aside_fit: Fitted) -> Defined:
    """A number if data tell it as a whole: along no direction in which moments of what is seen stay does it move."""
    from halftrek.estimation.space import make_space

    if here.gradient is None or away.gradient is None:
        return one
    p, model = len(aside_fit.graph.observed), aside_fit.model
    space = make_space(aside_fit.graph.opened, model.names, aside_fit.options)
    theta = space.vector(model)
    dmean, dcov = space.jacobian(theta)
    i, j = np.triu_indices(p)
    slopes = np.concatenate([dmean[:, :p], dcov[:, i, j]], axis=1)
    return one if lost(slopes @ slopes.T, space.pull(away.gradient, theta)[None])[0] else here


def defined_values(graph: Graph, value_of: Callable[[Sides], Floats], name: str) -> Floats:
    """A definition at many models, from the values of a row at each of them."""
    homes = labelled(graph)

    def at(label: str) -> Floats:
        text = graph.definitions.get(label)
        if text is None:
            return value_of(_home(homes, label, name))
        formula = read_formula(text)
        columns = {part: at(part) for part in formula.names}
        count = max((len(column) for column in columns.values()), default=1)
        rows = [{part: complex(column[k]) for part, column in columns.items()} for k in range(count)]
        return np.array([value_at(formula, row) for row in rows])

    return at(name)


def behind(graph: Graph, name: str) -> list[Sides]:
    """The parameters that a definition is made of, through other definitions too."""
    homes, found = labelled(graph), list[Sides]()
    for label in sorted(read_formula(graph.definitions[name]).names):
        found += behind(graph, label) if label in graph.definitions else [_home(homes, label, name)]
    return found


def _home(homes: Mapping[str, Sides], label: str, name: str) -> Sides:
    if label not in homes:
        raise InputError(f"{name!r} is made of {label!r}, which is the label of no parameter of the graph")
    return homes[label]


def _made(
    fit: Fitted, formula: Sum, known: Mapping[str, float], gradients: Mapping[str, Gradient | None]
) -> tuple[float, Gradient | None]:
    values = {label: known[label] for label in formula.names}
    parts = {label: gradients[label] for label in formula.names}
    if not all(map(isfinite, values.values())):
        return nan, None
    value = value_at(formula, {label: complex(x) for label, x in values.items()})
    slopes = formula.slopes(values) if isfinite(value) else {}
    if not isfinite(value) or not all(map(isfinite, slopes.values())):
        return nan, None
    whole = Gradient.zero(fit.model.T)
    for label, part in parts.items():
        if part is not None:
            whole = whole + part * slopes[label]
    return value, whole


def value_at(formula: Sum, values: Mapping[str, complex]) -> float:
    """The value; nan where there is none, as of a root of a negative number."""
    try:
        with np.errstate(all="ignore"):
            found = complex(formula.at(values))
    except (ZeroDivisionError, OverflowError):
        return nan
    return found.real if found.imag == 0.0 and isfinite(found.real) else nan


def _gradient(fit: Fitted, sides: Sequence[str]) -> Gradient:
    """How a parameter moves with coefficients, error covariances and means."""
    left, operator, right = sides
    names, found = fit.model.names, Gradient.zero(fit.model.T)
    if operator == "=~" and left not in names:
        raise InputError(
            f"the loading {left} =~ {right} has a label that a definition uses; state the variance of {left!r}, which "
            f"gives it an equation"
        )
    i = names.index(left)
    if operator == "~1":
        found.mean[:] = -fit.model.T[:, i]
        found.mean[i] += 1.0
        found.T[:, i] = -fit.model.mean
        return found
    j = names.index(right)
    if operator == "~~":
        found.omega[i, j] += 0.5
        found.omega[j, i] += 0.5
    else:
        cause, effect = (i, j) if operator == "=~" else (j, i)
        found.T[cause, effect] = 1.0
    return found


def defined_rows(fit: Fitted, how: How, rows: list[Parameter]) -> list[Parameter]:
    """Numbers that are made of parameters, with the interval of these."""
    found = definitions_of(fit, {(r.lhs, r.op, r.rhs): r.est for r in rows})
    kind = kind_of(replace(how, interval=how.interval or "delta"))
    gradients = [one.gradient for one in found if one.gradient is not None]
    spread = kind.spread(fit, gradients, how) if gradients else None
    errors = iter(()) if spread is None else zip(spread.errors, spread.reach, strict=True)
    made = []
    for one in found:
        error, reach = (nan, nan) if one.gradient is None else next(errors)
        far = Reach(float(reach / error) if error else how.quantile, how.level)
        made.append(row_of(one.name, ":=", one.text, one.value, error, nan, far))
    return made
