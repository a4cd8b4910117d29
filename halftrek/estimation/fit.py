"""From a graph and moments to a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Intercepts, Mask, Method, Noise
from halftrek.bottom.portable import Portable
from halftrek.data import Moments, Patterns, RowReader
from halftrek.errors import DataError, InputError
from halftrek.estimation.district.district import Settings
from halftrek.estimation.given.checks import refuse_dependent, refuse_far_means, well_posed, well_posed_in_parts
from halftrek.estimation.given.options import (
    Options,
    needs_whole,
    refuse_idle,
    refuse_unused,
    resolve_options,
    with_coefficients,
)
from halftrek.estimation.plan import make_plan
from halftrek.estimation.solve import Solution, solve_plan
from halftrek.estimation.status import DistrictReport, Status, incomplete, overall, reports_of
from halftrek.graphs import Graph, did_you_mean
from halftrek.graphs.hidden import refuse_hidden
from halftrek.models import CGLSCM
from halftrek.upward import Faces

if TYPE_CHECKING:
    from halftrek.estimation.acts.fit import Acting

MAX_ITER = 200  # steps of EM and of the second-order finish
FEW_ROWS = 50  # below, even districts without bows may have several maxima
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(Portable, Faces):
    """A fitted model as a value; ``halftrek.results.Fit`` is the same with everything that can be asked of it.

    With missing values ``patterns`` holds what was observed, and ``moments`` what complete rows are expected to have,
    given the fitted model.
    """

    graph: Graph
    moments: Moments
    model: CGLSCM
    loglik: float
    status: Status
    districts: tuple[DistrictReport, ...] = ()
    method: str = "em"
    options: Options = field(default_factory=Options)
    rows: RowReader | None = None
    frame: str = ""  # the library whose frame the data were: tables come back in it
    patterns: Patterns | None = None
    rows_left_out: bool = False  # by saving: the fit had rows, and its file has not ...
    clusters_left_out: bool = False  # ... and they were in clusters
    acting: Acting | None = None  # where categories act: ``model`` has the effect of one unit of their values

    @property
    def n(self) -> float:
        """Number of rows (sum of their weights)."""
        return self.moments.n

    @property
    def implied(self) -> Moments:
        """The moments of the observed variables that the model implies."""
        p, model = len(self.graph), self.model
        return Moments(self.graph.observed, self.n, np.array(model.mean[:p]), np.array(model.cov[:p, :p]))

    @property
    def converged(self) -> bool:
        """True if a maximum of the likelihood was reached."""
        return self.status.converged

    def __repr__(self) -> str:
        size = f"{len(self.graph)} variables, n={self.n:g}"
        return f"<Fit of {size}: log-likelihood {self.loglik:.4f}, {self.status.short}>"


def fit(
    graph: Graph,
    moments: Moments | Patterns,
    *,
    method: Method = "em",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int | None = None,
    finish: bool | None = None,
    mask: Mask | None = None,
    random_state: int = 0,
    start: Mapping[tuple[str, str], float] | None = None,
) -> Fitted:
    """Maximum likelihood of the graph's model, given moments, or patterns of rows with missing values.

    - ``method="em"``: district by district, closed-form EM with a second-order finish (``finish=False``: EM alone);
      nothing is random, whatever the ``random_state``;
    - ``method="cgl-go"``: the paper's Algorithm 1, with ``mask`` ("edge" or "ancestor", the paper's own; left out:
      "edge") and ``random_state``; noise variances are 1;
    - ``noise``: ``"free"``, ``"unit"`` or ``{"x": 1.0}``; ``intercepts``: ``"free"``, ``"zero"`` or ``{"x": 0.0}``;
    - ``coefficients``: ``{"x -> y": 0.5}`` fixes, ``{"x -> y": "a", "z -> y": "a"}`` makes equal;
    - ``starts``: number of deterministic starts of each district that may have several maxima;
    - ``max_iter``: at most so many steps (left out: 200, of "cgl-go" 5,000 rounds);
    - ``start``: coefficients ``{("x", "y"): 0.5}`` to begin one more start with.

    An option that a method has no use for is refused.
    """
    if max_iter is not None and max_iter < 1:
        raise InputError(f"max_iter must be at least 1, not {max_iter}")
    if coefficients:
        graph = with_coefficients(graph, coefficients)
    if isinstance(moments, Patterns):
        moments = _chosen(moments, graph)
    if method == "cgl-go":
        refuse_hidden(graph, "method='cgl-go'")
        if isinstance(moments, Patterns):
            raise InputError("method='cgl-go' needs complete rows; leave out the others with missing='drop'")
        refuse_idle(method, starts=starts, finish=finish, start=start)
        from halftrek.estimation.reference.literal import fit_literally

        return fit_literally(
            graph, moments, noise=noise, mask=mask or "edge", random_state=random_state, max_iter=max_iter,
            intercepts=intercepts,
        )  # fmt: skip
    if method != "em":
        raise InputError(f"method must be 'em' or 'cgl-go', not {method!r}")
    refuse_idle(method, mask=mask)
    if starts is not None and starts < 1:
        raise InputError(f"starts must be at least 1, not {starts}")
    options = resolve_options(graph.opened, "free" if noise is None else noise, intercepts)
    if needs_whole(graph):
        refuse_unused(finish=finish, start=start)
        return _whole(graph, moments, options, starts, max_iter or MAX_ITER)
    names = graph.observed
    first = None if start is None else _matrix(names, start)
    rows = _rows_of(moments)
    settings = Settings(
        starts, max_iter or MAX_ITER, finish is not False, few_rows=rows < FEW_ROWS, start=first, rows=np.array([rows])
    )
    if isinstance(moments, Patterns):
        return _with_holes(graph, moments, options, settings)
    data = select(moments, graph)
    cov, mean = data.cov[None], data.mean[None]
    plan = make_plan(graph, names, options)
    if not (well_posed_in_parts(graph, data) or well_posed(cov, data.n)[0]):
        refuse_dependent(data, graph)
    if options.intercepts:
        refuse_far_means(data, graph, {v for v, _ in options.intercepts})
    solution = solve_plan(plan, cov, mean, settings).frozen()
    _refuse_contradiction(solution)
    model = CGLSCM(names, solution.T[0], solution.C[0], solution.mu[0], solution.W[0], plan.latents, graph)
    reports = reports_of(names, solution)
    loglik = -0.5 * data.n * (len(names) * LOG_2PI + float(solution.value[0]))
    return Fitted(graph, data, model, loglik, overall(reports), reports, "em", options)


def _whole(graph: Graph, data: Moments | Patterns, options: Options, starts: int | None, max_iter: int) -> Fitted:
    """Where the likelihood does not fall apart: hidden variables with causes, equal variances or intercepts."""
    from halftrek.estimation.hidden.whole import fit_whole

    found = fit_whole(
        graph, select(data, graph) if isinstance(data, Moments) else data, options, starts=starts, max_iter=max_iter
    )
    patterns = data if isinstance(data, Patterns) else None
    parts = graph, found.moments, found.model, found.loglik, found.status, found.reports
    return Fitted(*parts, "em", options, patterns=patterns)


def _with_holes(graph: Graph, patterns: Patterns, options: Options, settings: Settings) -> Fitted:
    """Full-information maximum likelihood."""
    from halftrek.estimation.missing.fiml import fit_incomplete

    found = fit_incomplete(graph, make_plan(graph, graph.observed, options), patterns, options, settings)
    _refuse_contradiction(found.solution)
    reports = reports_of(graph.observed, found.solution)
    undetermined = found.flat - sum(r.flat for r in reports)
    status = incomplete(overall(reports), found.converged, undetermined, patterns.apart)
    return Fitted(graph, found.moments, found.model, found.loglik, status, reports, "em", options, patterns=patterns)


def _refuse_contradiction(solution: Solution) -> None:
    if not np.isfinite(solution.value[0]):
        raise InputError(
            "the fixed error covariances and noise variances contradict each other: no covariance matrix has them. "
            "Free some of them"
        )


def _rows_of(data: Moments | Patterns) -> float:
    return data.total if isinstance(data, Patterns) else data.n


def _matrix(names: tuple[str, ...], start: Mapping[tuple[str, str], float]) -> Floats:
    T = np.full((len(names), len(names)), np.nan)
    for (u, v), value in start.items():
        T[names.index(u), names.index(v)] = value
    return T


def select(moments: Moments, graph: Graph) -> Moments:
    """The moments of the graph's variables, in its order."""
    if moments.names == graph.observed:
        return moments
    _refuse_absent(moments.names, graph)
    return moments.select(graph.observed)


def _chosen(patterns: Patterns, graph: Graph) -> Moments | Patterns:
    """The graph's variables, in its order; moments if these have no holes."""
    _refuse_absent(patterns.names, graph)
    return patterns.select(graph.observed)


def _refuse_absent(names: tuple[str, ...], graph: Graph) -> None:
    missing = [v for v in graph.observed if v not in set(names)]
    if missing:
        raise DataError(
            f"the data have no column {missing[0]!r}, which the graph names.{did_you_mean(missing[0], names)} "
            f"Rename the column, take the variable out of the graph, or declare it latent"
        )
