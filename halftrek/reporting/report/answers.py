"""Pictures of answers: densities before and after an intervention, a total effect path by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.errors import HalftrekError
from halftrek.inference import How
from halftrek.inference.decomposition import decompose
from halftrek.model import Gaussian
from halftrek.queries import Counterfactual, Distribution, Interventional, Statistic, TotalEffect
from halftrek.queries.writing import number as value_text
from halftrek.reporting.effect_plots import plot_paths
from halftrek.reporting.plots import plot_densities
from halftrek.reporting.report.figures import drawn
from halftrek.reporting.report.page import Markup, heading, soft, table, text
from halftrek.reporting.report.uncertainty import for_tables

if TYPE_CHECKING:
    from halftrek.answers import Answer
    from halftrek.estimation.fit import Fit

_OUTCOMES = 3  # of one question that are drawn
_PATHS = 12  # bars of a decomposition


def densities(fit: Fit, found: Answer, name: str) -> list[Markup]:
    """Each outcome as it is among all units, and as asked."""
    distribution = found.outcome if found.distribution is None else found.distribution
    if distribution is None:
        return []
    variables = _variables(found.query)
    if len(variables) != len(distribution.names):
        return []
    pictures = []
    for i, v in enumerate(variables[:_OUTCOMES]):
        if v is not None:
            one = distribution.marginal(distribution.names[i])
            worlds = _worlds(fit, found.query, v, Gaussian((v,), one.mean, one.cov))
            pictures.append(
                drawn(
                    f"{name}-density{i}",
                    lambda ax, worlds=worlds: plot_densities(worlds, ax=ax),  # type: ignore[misc]
                    (7.2, 3.3),
                    f"{v} as it is observed, and as the question asks. The width of a curve is the difference between "
                    f"units, not uncertainty of the estimate.",
                )
            )
    return [heading("Before and after"), *pictures] if pictures else []


def _variables(query: object) -> list[str | None]:
    """The variable behind each outcome; None for sums of several."""
    if isinstance(query, Interventional):
        return list(query.outcomes)
    if isinstance(query, Counterfactual):
        return [p.variable for p in query.outcomes]
    if isinstance(query, Distribution | Statistic):
        return [s.parts[0][1].variable if len(s.parts) == 1 and s.parts[0][0] == 1.0 else None for s in query.of]
    return []


def _worlds(fit: Fit, query: object, v: str, asked: Gaussian) -> dict[str, Gaussian]:
    joint = fit.model.joint
    worlds = {"all units, as observed": joint.marginal(v)}
    label = "as asked"
    if isinstance(query, Interventional) and query.do:
        held = {u: float(x) for u, x in query.do.items() if x is not None}
        given = {u: float(x) for u, x in query.given.items() if x is not None}
        told = ", ".join(f"{u} = {value_text(x)}" for u, x in {**held, **given}.items())
        if v not in held and v not in given:
            worlds[f"units seen with {told}"] = joint.given({**held, **given}).marginal(v)
        among = f", seen {', '.join(f'{u} = {value_text(x)}' for u, x in given.items())}" if given else ""
        label = f"set by intervention: {', '.join(f'{u} = {value_text(x)}' for u, x in held.items())}{among}"
    return {**worlds, label: asked}


def paths(fit: Fit, query: TotalEffect, name: str, how: How) -> list[Markup]:
    """The total effect path by path."""
    try:
        found = decompose(fit, query.cause, query.effect, for_tables(fit, how), most=_PATHS)
    except HalftrekError:
        return []
    if found.paths < 2:
        only = "There is no directed path, so the effect is zero."
        return [soft(f"All of it runs along one path: {found.rows[0].path}." if found.paths else only)]
    rows = [(r.path, r.est, r.se, r.ci_low, r.ci_high, _share(r.share), r.note) for r in (*found.rows, found.total)]
    headers = ("path", "effect", "std. error", "low", "high", "share", "note")
    bars = len(found.rows) + 1
    picture = drawn(
        f"{name}-paths",
        lambda ax: plot_paths(found, ax=ax),
        (7.2, 1.1 + 0.5 * bars),
        "Each bar begins where the one above ends; the last is the total. Thin lines are intervals.",
    )
    return [
        heading("Path by path"),
        text(f"The effect of {query.cause} on {query.effect} runs along {found.paths:,} directed paths."),
        table(headers, rows, marked={len(rows) - 1}),
        picture,
    ]


def _share(share: float) -> str | None:
    return None if share != share else f"{100 * share:.1f}%".replace("-", "−")
