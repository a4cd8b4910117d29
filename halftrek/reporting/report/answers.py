"""More on answers: densities before and after an intervention, a total effect path by path, instruments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halftrek.data import Histogram
from halftrek.errors import DataError, HalftrekError
from halftrek.identification.beside.instruments import instrument_equations
from halftrek.inference import How
from halftrek.inference.tables.decomposition import decompose
from halftrek.models import Gaussian
from halftrek.queries import Distribution, Statistic, TotalEffect
from halftrek.queries.seen import has_crude
from halftrek.queries.types import is_intervention
from halftrek.queries.written.writing import number as value_text
from halftrek.reporting.described.effects import decomposition_table
from halftrek.reporting.described.instruments import instruments_tables
from halftrek.reporting.document import Document, Heading, Paragraph, Piece, Remark
from halftrek.reporting.plots.effects import plot_paths
from halftrek.reporting.plots.figures import plot_densities
from halftrek.reporting.plots.seen import seen_density
from halftrek.reporting.report.figures import drawn
from halftrek.reporting.report.uncertainty import for_tables
from halftrek.results.beside.instruments import instruments_of

if TYPE_CHECKING:
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_OUTCOMES = 3  # of one question that are drawn
_PATHS = 12  # bars of a decomposition


def densities(fit: Fit, found: Answer, name: str) -> Document:
    """Each outcome in the rows, and as asked."""
    distribution = found.outcome if found.distribution is None else found.distribution
    if distribution is None:
        return []
    variables = _variables(found.query)
    if len(variables) != len(distribution.names):
        return []
    pictures: list[Piece] = []
    for i, v in enumerate(variables[:_OUTCOMES]):
        if v is not None:
            one = distribution.marginal(distribution.names[i])
            worlds = _worlds(fit, found.query, v, Gaussian((v,), one.mean, one.cov))
            pictures += drawn(
                f"{name}-density{i}",
                lambda ax, worlds=worlds: plot_densities(worlds, ax=ax),  # type: ignore[misc]
                (7.2, 3.5),
                f"{v} as the data show it, and as the fitted model answers the question. Bars are rows. The width of a "
                f"curve is the difference between units, not uncertainty of the estimate.",
            )
    return [Heading("Before and after"), *pictures] if pictures else []


def _variables(query: object) -> list[str | None]:
    """The variable behind each outcome; None for sums of several."""
    if isinstance(query, Distribution | Statistic):
        return [s.parts[0][1].variable if len(s.parts) == 1 and s.parts[0][0] == 1.0 else None for s in query.of]
    return []


def _worlds(fit: Fit, query: object, v: str, asked: Gaussian) -> dict[str, Gaussian | Histogram]:
    """What the data show of all units and of those that happen to be as the question says, then the model's answer."""
    held, given = _conditions(query)
    worlds = dict([seen_density(fit, v)])
    known = {u: x for u, x in {**held, **given}.items() if u != v}
    if known:
        try:
            label, shown = seen_density(fit, v, known)
            worlds[label] = shown
        except DataError:  # no row has all of these
            pass
    return {**worlds, _asked(held, given): asked}


def _conditions(query: object) -> tuple[dict[str, float], dict[str, float]]:
    """Values that the question holds, and that it takes as seen; none for other kinds of questions."""
    if is_intervention(query):
        held = {u: float(x) for u, x in query.do.items() if x is not None}
        return held, {u: float(x) for u, x in query.seen.items() if x is not None}
    if not isinstance(query, Distribution | Statistic) or not has_crude(query):
        return {}, {}
    held = {u: float(x) for u, x in query.case.do.items()}  # type: ignore[arg-type, misc]
    return held, {u.variable: float(x) for u, x in query.case.given.items() if x is not None}


def _asked(held: dict[str, float], given: dict[str, float]) -> str:
    if not held:
        return "the fitted model, as asked"
    set_to = ", ".join(f"{u} = {value_text(x)}" for u, x in held.items())
    among = ", ".join(f"{u} = {value_text(x)}" for u, x in given.items())
    return f"the fitted model, with {set_to} by intervention" + (f" where {among}" if among else "")


def paths(fit: Fit, query: TotalEffect, name: str, how: How) -> Document:
    """The total effect path by path."""
    try:
        found = decompose(fit, query.cause, query.effect, for_tables(fit, how), most=_PATHS)
    except HalftrekError:
        return []
    if found.paths < 2:
        only = "There is no directed path, so the effect is zero."
        return [Remark(f"All of it runs along one path: {found.rows[0].path}." if found.paths else only)]
    bars = len(found.rows) + 1
    picture = drawn(
        f"{name}-paths",
        lambda ax: plot_paths(found, ax=ax),
        (7.2, 1.1 + 0.5 * bars),
        "Each bar begins where the one above ends; the last is the total. Thin lines are intervals.",
    )
    return [
        Heading("Path by path"),
        Paragraph(f"The effect of {query.cause} on {query.effect} runs along {found.paths:,} directed paths."),
        *decomposition_table(found),
        *picture,
    ]


def by_instruments(fit: Fit, found: Answer, how: How) -> Document:
    """How strong the instruments behind an answer are; nothing for an answer without."""
    if found.verdict is None or not instrument_equations(found.verdict) or fit.moments.layer is not None:
        return []
    try:
        instruments = instruments_of(fit, found.query, level=how.level)
    except DataError:  # too few rows with all that it takes
        return []
    return [Heading("Instruments"), *instruments_tables(instruments)]
