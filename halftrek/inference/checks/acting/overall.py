"""Does a graph fit in which categories act? Each absent edge, all of them together, and criteria of information.

Together they are a likelihood ratio against the largest graph around this one that data can still tell; from what units
add, where ranks, clusters or sampling weights make a ratio of likelihoods something else than chi-square.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halftrek.bottom.choices import ColumnKind
from halftrek.estimation import Fitted
from halftrek.estimation.acts.fit import fit_acting
from halftrek.estimation.acts.places import carried
from halftrek.graphs import Edge
from halftrek.inference.checks.acting.edges import by_units, candidates, freed, rows_of, spread_by_units, wider
from halftrek.inference.checks.constraints import Constraint
from halftrek.inference.checks.edges.modification import with_edge
from halftrek.inference.checks.measures import Measures
from halftrek.inference.kept import kept

TESTS, MEASURES = "tests()", "measures()"
RATIO = "likelihood ratio against the graph with {edges} more"
SCORES = "score test of {edges}, from what each {unit} adds"
NOTHING = "nothing is tested: the graph leaves no edge out that data could tell"
NO_TOP = "no test: the fit has not come to a maximum at which the data tell their parameters"
NAN = float("nan")


def acting_tests(fit: Fitted, robust: bool | None = None) -> list[Constraint]:
    """A test of each edge that is not there and data could tell; and of all together, where these are several."""
    units = by_units(fit, robust, TESTS)
    edges = candidates(fit)
    single = [_single(fit, edge, units) for edge in edges]
    added = wider(fit)
    if len(added) < 2:
        return single
    text = f"no edge {', '.join(map(str, added))}, together"
    chi2, df, p, note = _together(fit, units)
    return [Constraint("together", text, NAN, "robust chi2" if units else "chi2", chi2, float(df), p, note), *single]


def _single(fit: Fitted, edge: Edge, units: bool) -> Constraint:
    from scipy.special import chdtrc, stdtr

    text = f"no edge {edge}"
    found = freed(fit, (edge,), TESTS) if _at_top(fit) else None
    if found is None or not found.told:
        return Constraint("missing edge", text, NAN, "robust t" if units else "chi2", NAN, NAN, NAN, NO_TOP)
    score, information = float(found.score[0]), float(found.information[0, 0])
    weight = score / information * float(found.weights[0]) if information > 0.0 else NAN
    if not units and information > 0.0:
        chi2 = score**2 / information
        return Constraint("missing edge", text, weight, "chi2", chi2, 1.0, float(chdtrc(1.0, chi2)))
    spread, count = spread_by_units(fit, found.each, TESTS)
    t, df = score / float(np.sqrt(spread[0, 0])), count - 1.0
    return Constraint("missing edge", text, weight, "robust t", t, df, 2.0 * float(stdtr(df, -abs(t))))


@kept
def _together(fit: Fitted, units: bool) -> tuple[float, int, float, str]:
    """Statistic, degrees of freedom, p-value, and why there are none."""
    from scipy.special import chdtrc

    added = wider(fit)
    if not added:
        return NAN, 0, NAN, NOTHING
    if not _at_top(fit):
        return NAN, len(added), NAN, NO_TOP
    found = freed(fit, added, MEASURES)
    if found is None or not found.told:
        return NAN, len(added), NAN, NO_TOP
    if units:
        spread, _ = spread_by_units(fit, found.each, MEASURES)
        chi2 = float(found.score @ np.linalg.solve(spread, found.score))
    else:
        loglik = wider_loglik(fit, added)
        if np.isnan(loglik):
            return NAN, len(added), NAN, "no test: the fit of the larger graph has not come to its maximum"
        chi2 = max(0.0, 2.0 * (loglik - fit.loglik))
    return chi2, len(added), float(chdtrc(len(added), chi2)), ""


@kept
def wider_loglik(fit: Fitted, added: tuple[Edge, ...]) -> float:
    """The log-likelihood of the graph with more edges, from where this fit ended; nan where no maximum is reached."""
    acting = fit.acting
    assert acting is not None
    graph = fit.graph
    for edge in added:
        graph = with_edge(graph, edge)
    block, w = rows_of(fit, MEASURES)
    kinds: dict[str, ColumnKind] = {v: m.kind for v, m in acting.margins.items()}
    start = carried(acting.theta, acting.places(fit.graph), acting.places(graph))
    found = fit_acting(graph, block.values, kinds, w, start=start, like=acting)
    return found.loglik if found.converged else NAN


def acting_measures(fit: Fitted, robust: bool | None = None) -> tuple[Measures, str, str]:
    """The measures that there are, which test it is, and the edges that the larger graph has more.

    Criteria need a likelihood of the rows: with ranks, whose places rows share, there is none.
    """
    acting = fit.acting
    assert acting is not None
    units = by_units(fit, robust, MEASURES)
    added = wider(fit)
    chi2, df, p, note = _together(fit, units)
    flat = 0 if acting.flat is None else len(acting.flat)
    free = len(acting.theta) - flat
    ranked = any(not m.cut for m in acting.margins.values())
    loglik = NAN if ranked else fit.loglik
    larger = NAN if ranked or units or not added or not _at_top(fit) else wider_loglik(fit, added)
    aic, bic = (price * free - 2.0 * loglik if _at_top(fit) else NAN for price in (2.0, float(np.log(fit.n))))
    found = Measures(
        n=fit.n, parameters=free, loglik=loglik, saturated_loglik=larger, chi2=chi2, df=df,
        pvalue=None if np.isnan(p) else p, baseline_chi2=NAN, baseline_df=0, cfi=NAN, tli=NAN, rmsea=NAN,
        rmsea_low=NAN, rmsea_high=NAN, srmr=NAN, srmr_no_mean=NAN, aic=aic, bic=bic,
    )  # fmt: skip
    return found, note or _words(fit, added, units), ", ".join(map(str, added))


def _words(fit: Fitted, added: Sequence[Edge], units: bool) -> str:
    edges = f"{len(added)} edge{'s' * (len(added) > 1)}"
    clustered = fit.rows is not None and fit.rows.cluster is not None
    return SCORES.format(edges=edges, unit="cluster" if clustered else "row") if units else RATIO.format(edges=edges)


def _at_top(fit: Fitted) -> bool:
    """True if the fit is at a maximum: where it is not, scores of the other parameters are not zero."""
    return fit.converged and fit.acting is not None and not bool(np.isnan(fit.acting.spread).any())
