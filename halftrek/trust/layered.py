"""The judge of answers where normal variables are behind columns: there is no likelihood of the rows to go by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halftrek.bottom.choices import Interval
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.identification import Verdict
from halftrek.inference import Estimate, How, estimate
from halftrek.inference.evidence.layered import margins_of
from halftrek.inference.information.robust import count_clusters, is_clustered
from halftrek.models import Gaussian
from halftrek.notes import Note, note
from halftrek.queries import Arithmetic, Probability, Query, Statistic, variables_of
from halftrek.queries.kinds.terms import leaves, sums_of
from halftrek.trust.misfit import REJECTED, rejected
from halftrek.trust.strength import STRONG, weakest_step

EVENTS = 10  # rows of the rarer side for each parameter (Peduzzi and others 1996)
KNOWN: tuple[Interval, ...] = ("influence", "jackknife", "bootstrap")


def layer_kind(fit: Fitted, few: int) -> Interval:
    """The kind of interval that suits the rows."""
    return "jackknife" if is_clustered(fit) and fit.rows is not None and count_clusters(fit) <= few else "influence"


def refuse_for_layer(fit: Fitted, how: How) -> None:
    """Raise for an interval that is not right where columns are ordered or ranked."""
    if fit.moments.layer is not None and how.interval not in (None, *KNOWN):
        raise InputError(
            f'interval="{how.interval}" is not known where columns are ordered or ranked; ask for interval="influence" '
            f'or interval="bootstrap"'
        )


def judged_layer(
    fit: Fitted, query: Query, result: float | Gaussian, verdict: Verdict, how: How, few: int
) -> tuple[Estimate, tuple[Note, ...]]:
    """An estimate, and what speaks against it."""
    refuse_for_layer(fit, how)
    chosen = how if how.interval is not None else replace(how, interval=layer_kind(fit, few))
    found = estimate(fit, query, result, chosen)
    if np.isnan(found.errors).any():
        return found, (note("no information"), *found.notes)
    notes = list(found.notes)
    if how.interval is None and chosen.interval == "jackknife":
        notes.insert(0, note("few clusters", clusters=count_clusters(fit)))
    weakest = weakest_step(fit, query, verdict, float(found.errors[0]))
    if weakest is not None and weakest.F < STRONG:
        notes.append(note("weak behind", reason=weakest.note.why))
    if chosen.interval == "influence" and _kinked(fit, query):
        notes.append(note("kinked behind"))
    notes += few_events(fit, query)
    wrong = _misfit(fit, query)
    if wrong is not None:
        notes.append(note("misfit", p=wrong))
    return found, tuple(notes)


def few_events(fit: Fitted, query: Query) -> list[Note]:
    """Outcomes in categories of which one side has few rows for each parameter of its equation, a cut among them."""
    found, asked = [], set(variables_of(query))
    for v, margin in margins_of(fit).items():
        if margin.cut and v in asked and fit.graph.parents(v):
            events = fit.n * _have(fit, v) * float(np.minimum(margin.below, 1.0 - margin.below).min())
            parameters = 1 + len(fit.graph.parents(v))
            if events < EVENTS * parameters - 1e-9:
                what = "value" if len(margin.values) == 2 else "side of a cut"
                facts = {"events": events, "rows": fit.n, "parameters": parameters, "enough": EVENTS}
                found.append(note("few events", variable=v, what=what, **facts))
    return found


def _have(fit: Fitted, v: str) -> float:
    """The share of the rows in which a column is not missing."""
    layer, acting = fit.moments.layer, fit.acting
    if acting is not None:
        return 1.0 if acting.have is None else float(acting.have[fit.graph.observed.index(v)])
    return 1.0 if layer is None else float(layer.have.diagonal()[layer.names.index(v)])


def _misfit(fit: Fitted, query: Query) -> float | None:
    """The p-value of the test of fit, where the data contradict the graph."""
    if fit.method == "dwls":
        from halftrek.inference.information.behind.dwls import dwls_test

        p = dwls_test(fit).pvalue
        return p if p is not None and p < REJECTED else None
    against = rejected(fit, query)
    return None if against is None else against.p


def _kinked(fit: Fitted, query: Query) -> bool:
    """True if an outcome in a world of its own is asked for, given a category or an event in another."""
    layer = fit.moments.layer
    assert layer is not None
    for leaf in leaves(query) if isinstance(query, Arithmetic) else (query,):
        if isinstance(leaf, Probability | Statistic):
            cut = [m for v in leaf.case.given if (m := layer.margin(v.variable)) is not None and m.cut]
            if (cut or leaf.case.events) and any(v.changes for of in sums_of(leaf) for _, v in of.parts):
                return True
    return False
