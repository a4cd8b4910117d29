"""What kind of rows stand behind a fit: weights, clusters, texts that became numbers."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from halftrek.data.columns.categories import Categories, Category, indicators_of
from halftrek.data.columns.kinds import Coding
from halftrek.data.columns.ordered import in_order
from halftrek.data.sources.sending import Spent
from halftrek.data.weights import Counted, Sampled
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.notes import Note, note


def has_rows(fit: Fitted) -> bool:
    """Whether the rows can be read again, which a robust interval needs."""
    return fit.rows is not None and not isinstance(fit.rows.source, Spent)


def sampled(fit: Fitted) -> Sampled | None:
    """The sampling weights of the rows, if they have some."""
    weighting = data_of(fit).weighting
    return weighting if isinstance(weighting, Sampled) else None


def codings(fit: Fitted) -> dict[str, Coding]:
    """The variables that were texts, and how they became numbers."""
    data = data_of(fit)
    return {v: k.coding for v, k in zip(data.names, data.kinds or (), strict=False) if k.coding is not None}


def categories_behind(fit: Fitted) -> Categories:
    """The columns of categories that the fit's indicators stand for."""
    layer = fit.moments.layer
    in_levels = () if layer is None else zip(layer.names, layer.margins, strict=True)
    ordered = tuple(in_order(v, m.labels) for v, m in in_levels if m.labels)
    if fit.rows is not None:
        return (*(c for c in fit.rows.categories if not c.ordered), *ordered)
    levels: dict[tuple[str, str], list[str]] = {}
    for v, coding in codings(fit).items():
        if v != coding.column:
            levels.setdefault((coding.column, coding.zero), []).append(coding.one)
    indicators = (Category(column, reference, tuple(others)) for (column, reference), others in levels.items())
    return (*indicators, *ordered)


def in_numbers(fit: Fitted, values: Mapping[str, object]) -> dict[str, object]:
    """Values of one unit with texts as the fit read them: 1 for "yes", all indicators for a level of a category."""
    by_column = {c.column: c for c in categories_behind(fit)}
    known = codings(fit)
    found: dict[str, Any] = {}
    for v, value in values.items():
        if v in by_column and v not in fit.graph:
            for name, indicator in zip(by_column[v].names, indicators_of(by_column[v], value), strict=True):
                if name in fit.graph:
                    found[name] = indicator
        elif isinstance(value, str) and v in by_column and by_column[v].ordered:
            found[v] = by_column[v].numbers.get(value.strip(), value)
        elif isinstance(value, str) and v in known and known[v].column == v:
            texts = {known[v].zero.lower(): 0.0, known[v].one.lower(): 1.0}
            found[v] = texts.get(value.strip().lower(), value)
        else:
            found[v] = value
    return found


def coding_notes(fit: Fitted, variables: Container[str] | None = None) -> tuple[Note, ...]:
    """How texts became numbers, for all variables or for some."""
    found = []
    for v, coding in codings(fit).items():
        if variables is not None and v not in variables:
            continue
        code = "coded" if v == coding.column else "indicator"
        found.append(note(code, variable=v, column=coding.column, one=coding.one, zero=coding.zero))
    return tuple(found)


def data_notes(fit: Fitted) -> tuple[Note, ...]:
    """What to know of the data themselves: how texts were read, what weights count."""
    found = list(coding_notes(fit))
    weighting = data_of(fit).weighting
    if isinstance(weighting, Sampled):
        found.append(note("sampling weights", rows=fit.n, worth=weighting.worth))
    if isinstance(weighting, Counted) and weighting.lines != fit.n:
        found.append(note("counted rows", lines=weighting.lines, rows=fit.n))
    return tuple(found)
