"""From a graph and moments to a fitted model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from halftrek.data import Moments, Patterns, RowReader
from halftrek.errors import DataError, InputError
from halftrek.estimation.checked import Checked
from halftrek.estimation.checks import refuse_dependent, refuse_far_means, well_posed, well_posed_in_parts
from halftrek.estimation.district.district import Settings
from halftrek.estimation.options import Intercepts, Noise, Options, refuse_idle, resolve_options, with_coefficients
from halftrek.estimation.plan import make_plan
from halftrek.estimation.presented import Presented
from halftrek.estimation.solve import Solution, solve_plan
from halftrek.estimation.status import DistrictReport, Status, incomplete, overall, reports_of
from halftrek.graphs import Graph, did_you_mean
from halftrek.models import CGLSCM, Floats
from halftrek.portable import Portable
from halftrek.queries import TotalEffect

if TYPE_CHECKING:
    from halftrek.inference.profiles.profile import Profile
    from halftrek.inference.tables.decomposition import Decomposition
    from halftrek.inference.tables.mediation import Mediation
    from halftrek.results.answers import Answer

MAX_ITER = 200  # steps of EM and of the second-order finish
FEW_ROWS = 50  # below, even districts without bows may have several maxima
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Checked, Presented, Portable):
    """A fitted model: ``model`` holds the parameters, ``status`` says how far they can be trusted.

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

    @property
    def n(self) -> float:
        """Number of rows (sum of their weights)."""
        return self.moments.n

    @property
    def converged(self) -> bool:
        """True if a maximum of the likelihood was reached."""
        return self.status.converged

    def query(
        self,
        question: Any,
        *,
        level: float = 0.95,
        interval: Literal["delta", "t", "robust", "sandwich", "jackknife", "bootstrap", "parametric", "profile"]
        | None = None,
        information: Literal["expected", "observed"] | None = None,
        replicates: int = 1000,
        ends: Literal["percentile", "bca"] = "percentile",
        random_state: int = 0,
        crude: bool = False,
    ) -> Answer:
        """The answer to a question such as ``"P(y | do(x=1))"``; raises NotIdentifiedError if there is none.

        ``interval`` says where standard errors and intervals come from: the information ("delta"), the sandwich
        ("robust"; by cluster if the fit has one), rows drawn again ("bootstrap") or drawn from the fitted model
        ("parametric"), or the likelihood ("profile"); None is "robust" for rows in clusters, else "delta".
        ``information`` is for "delta"; ``replicates``, ``ends`` and ``random_state`` are for the bootstraps. ``crude``
        sets beside the answer, as ``.crude``, what the rows say without the graph.
        """
        from halftrek.results.workflow import answer

        ask = partial(
            answer, self, question, level=level, interval=interval, information=information, replicates=replicates,
            ends=ends, random_state=random_state, crude=crude,
        )  # fmt: skip
        if interval not in ("bootstrap", "parametric"):
            return ask()
        from halftrek.reporting import late_bar

        with late_bar("bootstrap") as progress:
            return ask(progress=progress)

    def effect(self, cause: str, effect: str | None = None, **uncertainty: Any) -> Answer:
        """The total effect of ``cause`` on ``effect``, or the effect along a path written ``"x -> m -> y"``.

        ``crude=True`` sets the regression of ``effect`` on ``cause`` alone beside it. For other options see ``query``.
        """
        return self.query(cause if effect is None else TotalEffect(cause, effect), **uncertainty)

    def profile(self, question: Any, *, points: int = 41, level: float = 0.95) -> Profile:
        """The deviance (twice the log-likelihood that is lost) along the values of an answer, for a picture."""
        from halftrek.results.listings import profile_of

        return profile_of(self, question, points=points, level=level)

    def effects(
        self,
        kind: Literal["all", "direct", "indirect", "total", "through"] = "all",
        *,
        budget: float = 5.0,
        **uncertainty: Any,
    ) -> Any:
        """A tidy frame of effects: cause effect kind est se z p ci_low ci_high std method note.

        Direct, indirect (total less direct) and total effects of every pair with a directed path, or those of one
        ``kind``; "through" lists the effects through each variable in between. What the graph does not determine has
        no number, and the note says why. ``budget`` bounds the seconds spent on hard questions of identification. For
        the options of uncertainty see ``query``; intervals are "delta", "robust", "bootstrap" or "parametric".
        """
        from halftrek.results.listings import effects_of

        return effects_of(self, kind, budget=budget, **uncertainty)

    def decompose(self, cause: str, effect: str, *, most: int = 20, **uncertainty: Any) -> Decomposition:
        """The total effect path by path, adding up; of more than ``most`` paths the largest and the rest together."""
        from halftrek.results.listings import decomposition_of

        return decomposition_of(self, cause, effect, most=most, **uncertainty)

    def mediation(
        self, cause: str, effect: str, mediators: Sequence[str] | None = None, **uncertainty: Any
    ) -> Mediation:
        """Direct, indirect and total effect, specific indirect effects, and the proportion mediated.

        ``mediators`` left out: every variable between the two; "direct" is then the edge.
        """
        from halftrek.results.listings import mediation_of

        return mediation_of(self, cause, effect, mediators, **uncertainty)

    def counterfactual(
        self,
        rows: Any,
        do: Mapping[str, Any],
        outcome: str | Sequence[str],
        *,
        unidentified: Literal["raise", "nan"] = "raise",
        **uncertainty: Any,
    ) -> Any:
        """What the outcome would have been for each unit, had ``do`` been done, given what was seen of the unit.

        ``rows`` is one unit, ``{"x": 0.2, "y": 1.0}`` (the answer is as from ``query``), or a table: a frame, an array,
        a dictionary of columns. Missing entries were not seen. ``do`` holds a variable at a number, at one number for
        each row, at a column of the table, or changes what was seen: "+1", "-1", "*2".

        A table gives a table of the same library: the outcome's mean, ``noise_sd`` (how far the unit's own outcome may
        be from it), ``se``, ``ci_low`` and ``ci_high`` (how far the estimated mean may be off). Rows whose question is
        not identified raise NotIdentifiedError, or stay empty with ``unidentified="nan"``.
        """
        from halftrek.results.listings import counterfactual_of

        return counterfactual_of(self, rows, do, outcome, unidentified=unidentified, **uncertainty)

    def params(
        self,
        *,
        level: float = 0.95,
        interval: Literal["delta", "t", "robust", "sandwich", "jackknife", "bootstrap", "parametric"] | None = None,
        information: Literal["expected", "observed"] | None = None,
        replicates: int = 1000,
        random_state: int = 0,
        as_frame: bool = True,
    ) -> Any:
        """A tidy frame of all parameters: lhs op rhs est se z p ci_low ci_high std note.

        What data do not determine has no estimate, and the note says so. ``as_frame=False`` gives a list of values with
        these fields, for programs. For the other options see ``query``.
        """
        from halftrek.reporting.text import parameter_table

        return parameter_table(
            self, level=level, interval=interval, information=information, replicates=replicates,
            random_state=random_state, as_frame=as_frame,
        )  # fmt: skip

    def summary(self) -> str:
        """The fit as text of at most 80 columns."""
        from halftrek.reporting import summarize_fit

        return summarize_fit(self)

    def __repr__(self) -> str:
        size = f"{len(self.graph)} variables, n={self.n:g}"
        return f"<Fit of {size}: log-likelihood {self.loglik:.4f}, {self.status.code}>"


def fit(
    graph: Graph,
    moments: Moments | Patterns,
    *,
    method: Literal["em", "cgl-go"] = "em",
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    coefficients: Mapping[str, float | str] | None = None,
    starts: int | None = None,
    max_iter: int | None = None,
    finish: bool | None = None,
    mask: Literal["edge", "ancestor"] | None = None,
    random_state: int = 0,
    start: Mapping[tuple[str, str], float] | None = None,
) -> Fit:
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
    options = resolve_options(graph, "free" if noise is None else noise, intercepts)
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
    return Fit(graph, data, model, loglik, overall(reports), reports, "em", options)


def _with_holes(graph: Graph, patterns: Patterns, options: Options, settings: Settings) -> Fit:
    """Full-information maximum likelihood."""
    from halftrek.estimation.missing.fiml import fit_incomplete

    found = fit_incomplete(graph, make_plan(graph, graph.observed, options), patterns, options, settings)
    _refuse_contradiction(found.solution)
    reports = reports_of(graph.observed, found.solution)
    undetermined = found.flat - sum(r.flat for r in reports)
    status = incomplete(overall(reports), found.converged, undetermined, patterns.apart)
    return Fit(graph, found.moments, found.model, found.loglik, status, reports, "em", options, patterns=patterns)


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
