"""Whether the interval of a set may be trusted: how far its likelihood is scaled, and what speaks against it.

The likelihood treats rows as independent and normal. Where they come in clusters or have sampling weights, an end of
the set varies by more or less than that: the deviance is divided by how much more, as the rows say. Few rows and few
clusters take Student's t in place of the normal distribution, as elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.estimation.plan import make_plan
from halftrek.inference.evidence.evidence import equation_sizes, one_equation, student_quantile
from halftrek.inference.evidence.row_needs import left_out, needs_rows
from halftrek.inference.evidence.rows_behind import has_rows
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.influence import Forms
from halftrek.inference.information.robust import count_clusters, is_clustered, mean_squares
from halftrek.notes import Note, note
from halftrek.queries import Query, variables_of
from halftrek.trust.judge import FEW_CLUSTERS, WIDER, few_rows
from halftrek.trust.misfit import rejected

if TYPE_CHECKING:
    from halftrek.inference.information.behind.layer_forms import LayerForms
    from halftrek.layer import Layer

ROUNDED = 1e-8  # share of a variance that is left by rounding


@dataclass(frozen=True, eq=False)
class Leeway:
    """By how much the cut of a likelihood grows, for ends that move with the data along some direction.

    ``units`` are what is taken for independent where the rows are looked at, "" where the likelihood is taken as it is;
    ``stretch`` is for few rows or clusters; ``notes`` say what to know of the interval.
    """

    fit: Fitted
    units: str
    stretch: float
    notes: tuple[Note, ...]

    def error(self, mean: Floats, cov: Floats, cuts: Mapping[str, Floats]) -> float:
        """The error of an end with such slopes where normal variables are behind columns, and in their cuts."""
        layer = self.fit.moments.layer
        assert layer is not None  # others have no cuts
        lines = {v: line[None] for v, line in cuts.items()}
        (squares,) = mean_squares(self.fit, [replace(_layer_form(self.fit, layer, mean, cov), cuts=lines)])
        return self.stretch * float(np.sqrt(squares[0] / self.fit.n))

    def usual(self, mean: Floats, cov: Floats) -> float:
        """The error of a number with these slopes, were rows normal and independent."""
        of_mean = float(mean @ self.fit.moments.cov @ mean) / self.fit.n
        return float(np.sqrt(kind_of_data(self.fit).covariance_error(self.fit, cov) ** 2 + of_mean))

    def factor(self, mean: Floats, cov: Floats) -> float:
        """For an end with this slope in the means, and in the covariance (symmetric)."""
        return self.stretch**2 * (_by_units(self.fit, mean, cov) if self.units else 1.0)


def leeway(fit: Fitted, query: Query, level: float) -> Leeway:
    """How the likelihood of a fit is taken for bounds of a question."""
    units, notes = _units(fit, query)
    stretch = 1.0
    if units == "clusters" and (clusters := count_clusters(fit)) <= FEW_CLUSTERS:
        free = clusters - 1.0
        stretch = float(student_quantile(level, np.array(free))) / NormalDist().inv_cdf(0.5 + level / 2.0)
        notes.append(note("set for few clusters", clusters=clusters, free=free))
    if not units or units == "rows":
        few, said = _few_rows(fit, query, level)
        stretch, notes = max(stretch, few), [*notes, *said]
    wrong = rejected(fit, query)
    if wrong is not None:
        notes.append(note("misfit", p=wrong.p))
    return Leeway(fit, units, stretch, tuple(notes))


def _units(fit: Fitted, query: Query) -> tuple[str, list[Note]]:
    """What is taken for independent, and what is not allowed for."""
    if is_clustered(fit):
        return ("clusters", []) if has_rows(fit) else ("", [note("clusters not counted")])
    if needs_rows(fit, query):
        return "rows", []
    return "", list(left_out(fit, query))


def _few_rows(fit: Fitted, query: Query, level: float) -> tuple[float, list[Note]]:
    """How much wider an interval for few rows is; 1 where it is hardly wider."""
    causes = fit.graph.ancestors(variables_of(query))
    names = fit.model.names
    sizes = equation_sizes(make_plan(fit.graph, names, fit.options))
    behind = [size for places, size in sizes.items() if any(names[i] in causes for i in places)]
    rests = one_equation(kind_of_data(fit).rows(fit), max(behind, default=1))
    stretch = float(rests.stretch(level).max())
    return (stretch, few_rows(rests, level)) if stretch >= WIDER else (1.0, [])


def _by_units(fit: Fitted, mean: Floats, cov: Floats) -> float:
    """The variance of an end by the spread over rows or clusters, per that of normal, independent rows."""
    kind = kind_of_data(fit)
    if kind.moments_suffice:
        sigma = fit.moments.cov
        inside = cov @ sigma
        usual = float(2.0 * (inside * inside.T).sum() + mean @ sigma @ mean)
        (spread,) = mean_squares(fit, [Forms(np.arange(len(mean)), mean[None], cov[None])])
    elif fit.moments.layer is not None:
        usual = Leeway(fit, "rows", 1.0, ()).usual(mean, cov) ** 2 * fit.n
        (spread,) = mean_squares(fit, [_layer_form(fit, fit.moments.layer, mean, cov)])
    else:
        seen = fit.model.cov[: len(mean), : len(mean)]
        inside = cov @ seen
        if mean @ seen @ mean > ROUNDED * float((inside * inside.T).sum()):
            raise InputError(
                "bounds of an answer that moves with means, from rows in clusters or with sampling weights of which "
                "some lack values, are not computed; ask for an effect, or leave those rows out with missing='drop'"
            )
        if not kind.has_errors(fit):
            raise InputError(
                "some pairs of variables are seen together in no row, so that clusters and sampling weights cannot be "
                "counted in bounds; leave rows with missing values out with missing='drop'"
            )
        usual = kind.covariance_error(fit, cov) ** 2 * fit.n
        (spread,) = mean_squares(fit, [kind.covariance_scores(fit, cov[None])])
    return float(spread[0]) / usual if usual > 0.0 else 1.0


def _layer_form(fit: Fitted, layer: Layer, mean: Floats, cov: Floats) -> LayerForms:
    """What a row adds to a number with these slopes in the means and covariances behind columns."""
    from halftrek.inference.information.behind.layer_forms import layer_form

    form = layer_form(layer, kind_of_data(fit).covariance_scores(fit, cov[None]))
    return replace(form, linear=form.linear + mean)
