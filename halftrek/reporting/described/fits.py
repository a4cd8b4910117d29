"""A fit, described: what was fitted to what, how it ended, every parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halftrek.inference.evidence.few_valued import kind_notes
from halftrek.inference.evidence.rows_behind import data_notes
from halftrek.inference.information.base import kind_of_data
from halftrek.reporting.document import Described, Facts, Heading, Paragraph, Printed, Span, Table, p_value
from halftrek.reporting.tables import Cell, count, number
from halftrek.trust import judged_parameters

if TYPE_CHECKING:
    from halftrek.inference import Parameter
    from halftrek.results.fit import Fit

_MANY = 40  # lines of a table
_TITLES = {"~": "Effects", "=~": "Loadings of hidden causes", "~~": "Covariances of the errors"}
_PAIR = (
    "data determine what a hidden cause of two variables adds to the covariance of their errors, not its two loadings."
)


def fit_document(fit: Fit, rows: Sequence[Parameter] | None = None) -> Described:
    """The whole fit (``rows``: with another kind of interval)."""
    parts = [*fit_head(fit), *parameter_document(fit, judged_parameters(fit) if rows is None else rows)]
    searched = [d for d in fit.districts if len(d.members) > 1]
    if searched:
        found = [(", ".join(d.members), d.iterations, f"{d.agreeing} of {d.starts}") for d in searched]
        parts += [Heading("Confounded groups"), Table(("variables", "iterations", "starts that agree"), found)]
    return parts


def fit_head(fit: Fit) -> Described:
    """What was fitted to what, and how it ended."""
    graph, dropped = fit.graph, fit.moments.dropped
    facts = Facts(
        [
            ("rows", count(fit.n) + (f" ({dropped:,} more left out)" if dropped else "")),
            ("variables", count(len(graph.observed)) + (f", hidden: {len(graph.latents)}" if graph.latents else "")),
            *([("missing values", sentence)] if (sentence := kind_of_data(fit).sentence(fit)) else []),
            *(("note", str(note)) for note in (*data_notes(fit), *kind_notes(fit))),
            *([("log-likelihood", number(fit.loglik, 9))] if fit.moments.layer is None else []),
            ("status", [Span(str(fit.status), "good" if fit.status.code == "converged" else "bad")]),
        ]
    )
    return Heading(f"Fit of a {_model(fit)}"), facts


def _model(fit: Fit) -> str:
    """What was fitted, with the categories that act in it."""
    edges = f"{fit.graph.edge_count} edge{'s' * (fit.graph.edge_count != 1)}"
    if fit.acting is None:
        return f"linear model with {edges}"
    acts = [v for v, margin in fit.acting.margins.items() if margin.kind == "acts"]
    one = len(acts) == 1
    return f"model with {edges} in which {' and '.join(acts)} act{'s' * one} as {'a category' if one else 'categories'}"


def parameter_document(fit: Fit, rows: Sequence[Parameter], most: int = _MANY) -> Described:
    """Every parameter with its standard error; what data do not determine is marked, not estimated."""
    parts: list[Printed] = []
    heads = ("", "estimate", "std. error", "low", "high", "p", "standardised", "note")
    for op, title in _TITLES.items():
        chosen = [r for r in rows if r.op == op and r.lhs != r.rhs]
        if chosen:
            lines = [(str(r.edge), *_numbers(r), p_value(r.p), r.std, r.note) for r in chosen]
            table = Table(heads, lines, wide=("p", "standardised"), most=most, more="fit.params()")
            parts += [Heading(title), table]
    parts += [Heading("Equations"), _equations(fit, rows, most)]
    cuts = [(f"{r.lhs} {r.op} {r.rhs}", *_numbers(r), r.note) for r in rows if r.op == "|"]
    if cuts:
        parts += [
            Heading("Cuts between categories"),
            Table((*heads[:5], "note"), cuts, most=most, more="fit.params()"),
        ]
    made = [(f"{r.lhs} := {r.rhs}", *_numbers(r), p_value(r.p), r.note) for r in rows if r.op == ":="]
    if made:
        shown = (*heads[:6], "note")
        parts += [Heading("Made of parameters"), Table(shown, made, wide=("p",), most=most, more="fit.params()")]
    if any(r.op == "=~" for r in rows):
        parts.append(Paragraph("The sign of a hidden cause is free: all its loadings may be turned at once."))
    pairs = [u for u in fit.graph.latents if not any(r.op == "=~" and r.lhs == u for r in rows)]
    return [*parts, *([Paragraph(f"{', '.join(pairs)}: {_PAIR}")] if pairs else [])]


def _equations(fit: Fit, rows: Sequence[Parameter], most: int) -> Table:
    """Intercept and variance of the error of each variable."""
    model = fit.model
    means = {r.lhs: r for r in rows if r.op == "~1"}
    noise = {r.lhs: r for r in rows if r.op == "~~" and r.lhs == r.rhs}
    lines: list[tuple[Cell, ...]] = []
    for i, v in enumerate(model.names):
        variance = _with_fixed(noise[v]) if v in noise else (float(model.psi[i]), "fixed", None, None)
        notes = (row.note for row in (means[v], noise.get(v)) if row is not None and row.note)
        lines.append((v, *_with_fixed(means[v]), *variance, "; ".join(dict.fromkeys(notes))))
    sure = ("std. error", "low", "high")
    heads = ("variable", "intercept", *sure, "error variance", *sure, "note")
    return Table(heads, lines, wide=("low", "high", "note"), most=most, more="fit.params()")


def _with_fixed(row: Parameter) -> tuple[Cell, ...]:
    """The same, with a word in the place of an error that is none."""
    return (row.est, "fixed", None, None) if row.note == "fixed" else _numbers(row)


def _numbers(row: Parameter) -> tuple[Cell, ...]:
    return ("",) * 4 if np.isnan(row.est) else (row.est, row.se, row.ci_low, row.ci_high)
