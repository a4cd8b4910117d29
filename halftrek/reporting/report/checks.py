"""Does the model fit? The chapter of measures, tests, residuals and edges that the data ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from halftrek.errors import InputError
from halftrek.inference.checks.acting.edges import wider
from halftrek.inference.checks.constraints import constraint_tests
from halftrek.inference.checks.edges.modification import modification_notes, modifications
from halftrek.inference.checks.linearity import line_tests
from halftrek.inference.checks.multiplicity import holm
from halftrek.inference.checks.residuals import explained, residuals
from halftrek.inference.checks.robust_fit import NORMAL_THEORY, usual_measures
from halftrek.reporting.described.checks import claims_table, edges_table, lines_table, residuals_table
from halftrek.reporting.document import Chapter, Document, Heading, Paragraph, Piece, Remark, Table, p_words
from halftrek.reporting.plots.checks import plot_constraints, plot_residuals
from halftrek.reporting.report.figures import drawn
from halftrek.reporting.tables import Cell, count, number
from halftrek.results.beside.checks import LEVEL

if TYPE_CHECKING:
    from halftrek.inference.checks.measures import Measures
    from halftrek.results.fit import Fit

_TESTS = 30
_HINTS = 10
_PAIRS = 12
_HEAT = 40  # variables beyond which no heat map is drawn


def checks_chapter(fit: Fit) -> tuple[Chapter, list[str]]:
    """The chapter, and what of it a reader must not miss."""
    warnings: list[str] = []
    parts: list[Piece] = []
    chapters: tuple[tuple[str, Callable[[], Document]], ...] = (
        ("Overall", lambda: _overall(fit, warnings)),
        ("What the graph implies, tested", lambda: _tests(fit, warnings)),
        ("Residual correlations", lambda: _residuals(fit)),
        ("Edges that the data ask for", lambda: _hints(fit)),
        ("How much each equation explains", lambda: _explained(fit)),
        ("Are effects straight lines?", lambda: _lines(fit, warnings)),
    )
    if fit.acting is not None:  # the others are made of covariances
        chapters = (chapters[0], chapters[1], chapters[-1])
    for title, make in chapters:
        try:
            found = make()
        except InputError as error:  # a check that these data do not allow
            found = [Remark(f"Not available: {error}.")]
        parts += [Heading(title), *found] if found else []
    return Chapter("checks", "Does the model fit the data?", parts), warnings


def _overall(fit: Fit, warnings: list[str]) -> Document:
    found, test = usual_measures(fit)
    scaled = "" if test == NORMAL_THEORY else f" ({test})"
    kind = "Test" if fit.method == "dwls" else "Likelihood-ratio test"
    if fit.acting is not None:
        return _overall_acting(fit, found, test, warnings)
    parts: list[Piece] = []
    if not found.df:
        parts.append(Paragraph("The model has no degrees of freedom: it fits any data, so data cannot contradict it."))
    elif found.pvalue is not None:
        bad = found.pvalue < LEVEL
        verdict = "contradict the graph as a whole" if bad else "do not contradict the graph as a whole"
        parts.append(
            Paragraph(
                f"{kind} against the model that says nothing{scaled}: χ² = {number(found.chi2)} with "
                f"{found.df} degrees of freedom, {p_words(found.pvalue)}. At the {100 * LEVEL:g}% level the data "
                f"{verdict}."
            )
        )
        if bad:
            warnings.append(
                f"The data contradict the graph as a whole (χ² = {number(found.chi2)}, {found.df} degrees of freedom, "
                f"{p_words(found.pvalue)}): see what fails under “Does the model fit the data?”."
            )
    return [*parts, Table(("measure", "value", "meaning"), _measures(found))]


def _overall_acting(fit: Fit, found: Measures, test: str, warnings: list[str]) -> Document:
    """Where categories act: against the largest graph around this one that data can tell."""
    parts: list[Piece] = []
    if not found.df:
        parts.append(Paragraph("The graph leaves no edge out that data could tell: they cannot contradict it."))
    elif found.pvalue is None:
        parts.append(Remark(f"{test}."))
    else:
        result = f"χ² = {number(found.chi2)} with {found.df} degrees of freedom, {p_words(found.pvalue)}"
        bad = found.pvalue < LEVEL
        verdict = "contradict the graph as a whole" if bad else "do not contradict the graph as a whole"
        edges = ", ".join(map(str, wider(fit)))
        parts.append(
            Paragraph(
                f"{test[0].upper()}{test[1:]}: {edges}. {result}. At the {100 * LEVEL:g}% level the data {verdict}."
            )
        )
        if bad:
            warnings.append(
                f"The data contradict the graph as a whole ({result}): see what fails under “Does the model fit the "
                f"data?”."
            )
    return [*parts, Table(("measure", "value", "meaning"), _measures(found))]


def _measures(found: Measures) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = [
        ("log-likelihood", _three(found.loglik), ""),
        ("parameters", count(found.parameters), "that the data determine"),
        ("AIC", _three(found.aic), "smaller is better, among models of the same data"),
        ("BIC", _three(found.bic), "the same, with a larger price for each parameter"),
    ]
    if found.df and not math.isnan(found.cfi):
        spread = f"90% interval {found.rmsea_low:.3f} to {found.rmsea_high:.3f}"
        rows += [
            ("CFI", f"{found.cfi:.3f}", "1 is perfect; above 0.95 counts as good"),
            ("TLI", f"{found.tli:.3f}", "the same, with a price for parameters"),
            ("RMSEA", f"{found.rmsea:.3f}", f"0 is perfect; below 0.06 counts as good ({spread})"),
            ("SRMR", f"{found.srmr:.3f}", "mean residual correlation; below 0.08 counts as good"),
        ]
    return rows


def _three(value: float) -> str:
    """With the decimals of the whole column."""
    return f"{value:.3f}".replace("-", "−") if math.isfinite(value) else number(value)


def _tests(fit: Fit, warnings: list[str]) -> Document:
    found = [row for row in constraint_tests(fit) if row.kind != "together"]  # which is told before
    parts: list[Piece] = []
    if not found:
        return [Paragraph("The graph implies nothing that data could contradict.")]
    adjusted = holm(np.array([c.p for c in found], dtype=float)).tolist()
    ordered = sorted(zip(found, adjusted, strict=True), key=lambda one: (math.isnan(one[1]), one[1], one[0].p))
    found, adjusted = [c for c, _ in ordered], [p for _, p in ordered]
    failed = [c.constraint for c, p in ordered if p < LEVEL]
    many = f"{len(found):,} claims" if len(found) > 1 else "One claim"
    result = f"{len(failed)} of them are contradicted" if failed else "none is contradicted"
    if len(found) == 1:
        result = "it is contradicted" if failed else "it is not contradicted"
    parts.append(
        Paragraph(
            f"{many}, tested one by one; {result} at the {100 * LEVEL:g}% level, with p-values adjusted for their "
            f"number (Holm)."
        )
    )
    if failed:
        more = f" (and {len(failed) - 3:,} more)" if len(failed) > 3 else ""
        warnings.append(f"The data contradict what the graph implies: {'; '.join(failed[:3])}{more}.")
    parts.append(claims_table(found, adjusted, _TESTS))
    if 1 < len(found) <= _TESTS:
        columns = {"p_adjusted": adjusted} | {k: [getattr(c, k) for c in found] for k in ("constraint", "estimate")}
        parts += drawn(
            "claims",
            lambda ax: plot_constraints(columns, level=LEVEL, ax=ax),
            (7.2, 1.1 + 0.32 * len(found)),
            "Adjusted p-values; in brackets what is zero where the claim holds.",
        )
    return parts


def _lines(fit: Fit, warnings: list[str]) -> Document:
    found = line_tests(fit)
    if not found:
        return []
    adjusted = holm(np.array([row.p for row in found], dtype=float)).tolist()
    curved = [row.constraint for row, p in zip(found, adjusted, strict=True) if p < LEVEL]
    tested = sum(not math.isnan(p) for p in adjusted)
    result = f"contradicted: {len(curved)}" if curved else "none is contradicted"
    words = f"Equations that rows can test: {tested} of {len(found)}; {result} at the {100 * LEVEL:g}% level (Holm)."
    if curved:
        lines = "; ".join(curved[:3])
        warnings.append(f"The data contradict straight lines: {lines}. Linear answers are averages then.")
    return [Paragraph(words), lines_table(found, adjusted, _TESTS)]


def _residuals(fit: Fit) -> Document:
    found = residuals(fit)
    parts: list[Piece] = []
    if max((abs(r.residual) for r in found), default=0.0) < 1e-6:
        return [Paragraph("The model reproduces every correlation.")]
    p = len(fit.graph.observed)
    if p <= _HEAT:
        side = min(7.0, 2.0 + 0.42 * p)
        parts += drawn(
            "residuals",
            lambda ax: plot_residuals(fit, ax=ax),
            (side + 0.6, side),
            "Observed less implied correlation of each pair.",
        )
    return [*parts, residuals_table(found, _PAIRS)]


def _hints(fit: Fit) -> Document:
    found = [m for m in modifications(fit) if m.p < LEVEL]
    if not found:
        return [Paragraph("None: no single edge would improve the fit noticeably.")]
    words = Paragraph(
        "How much χ² would fall if one edge were added, and the weight that it would have. Edges that data cannot "
        "tell apart have the same number; which of them to add is for your knowledge to say."
    )
    notes = [Remark(_sentence(str(note))) for note in modification_notes(found[0].test)]
    return [words, *notes, edges_table(found, _HINTS)]


def _explained(fit: Fit) -> Document:
    found = explained(fit)
    if not found:
        return []
    rows = [(r.variable, r.r2, r.error_variance, r.variance, r.note) for r in found]
    headers = ("variable", "R²", "error variance", "variance", "note")
    return [Table(headers, rows, most=60, more="fit.r2()")]


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + "."
