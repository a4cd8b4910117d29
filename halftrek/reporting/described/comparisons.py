"""Models side by side, described."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.reporting.document import Described, Heading, Paragraph, Printed, Table, p_value
from halftrek.reporting.tables import Cell

if TYPE_CHECKING:
    from halftrek.comparison.models import Asked, Comparison, Nested
    from halftrek.results.beside.measurement import MeasurementInvariance
    from halftrek.results.beside.together import FitsTogether


def comparison_document(found: Comparison) -> Described:
    """Likelihoods and criteria, tests of nested models, the question under each model."""
    rows: list[tuple[Cell, ...]] = [
        (m.name, m.loglik, m.parameters, m.chi2, m.df, m.aic, m.bic, m.weight) for m in found.models
    ]
    heads = ("model", "loglik", "par.", "chi2", "df", "AIC", "BIC", "weight")
    parts: list[Printed] = [Heading("Models"), Table(heads, rows)]
    if found.nested:
        robust = any(t.test == "robust" for t in found.nested)
        scaled = " (robust tests: scaled by the spread over independent units)" if robust else ""
        parts += [Heading(f"Nested models{scaled}"), _nested(found.nested)]
    if found.unrelated:
        pairs = "; ".join(f"{a} and {b}" for a, b in found.unrelated)
        parts.append(Paragraph(f"Not nested, so only AIC and BIC compare them: {pairs}."))
    if found.query is not None:
        parts += [Heading(str(found.query)), _asked(found.asked)]
    return [*parts, *(Paragraph(f"warning: {w}") for w in found.warnings)]


def invariance_document(found: MeasurementInvariance) -> Described:
    """Levels of measurement invariance, each tested against the one before."""
    rows: list[tuple[Cell, ...]] = [
        (one.level, one.chi2, one.df, one.cfi, one.rmsea, one.bic, one.chi2_more, one.df_more, _tested(one.p_more))
        for one in found.levels
    ]
    heads = ("level", "chi2", "df", "CFI", "RMSEA", "BIC", "more chi2", "more df", "p")
    title = Heading(f"Measurement invariance across {len(found.groups)} groups")
    late = [one.level for one in found.levels if not one.converged]
    warned = [Paragraph(f"warning: no maximum was reached for {', '.join(late)}.")] if late else []
    return [title, Table(heads, rows), *warned]


def together_document(found: FitsTogether) -> Described:
    """Groups that were fitted together: measures of fit, and the parameters of each."""
    fit = found.fit
    heads = ("loglik", "par.", "chi2", "df", "p", "CFI", "TLI", "RMSEA", "SRMR", "BIC")
    line: tuple[Cell, ...] = (
        fit.loglik, fit.parameters, fit.chi2, fit.df, _tested(fit.pvalue), fit.cfi, fit.tli, fit.rmsea, fit.srmr,
        fit.bic,
    )  # fmt: skip
    parts: list[Printed] = [Heading(f"{len(found.groups)} groups, fitted together"), Table(heads, [line])]
    if not found.converged:
        parts.append(Paragraph("warning: no maximum was reached; the numbers are those of the last step."))
    for group, variable in found.at_zero:
        parts.append(Paragraph(f"warning: the error variance of {variable} in the group {group} ended at zero."))
    for group in (*found.groups, ""):
        rows: list[tuple[Cell, ...]] = [
            (
                f"{r.lhs} {r.op} {r.rhs}".strip(),
                *_numbers(r.est, r.se),
                *_numbers(r.z),
                _tested(r.p),
                *_numbers(r.std),
                r.note,
            )
            for r in found.rows
            if r.group == group
        ]
        if rows:
            parts.append(Heading(f"group {group}" if group else "made of labelled parameters"))
            parts.append(Table(("", "estimate", "std. error", "z", "p", "std.", "note"), rows))
    return parts


def _numbers(*values: float) -> list[Cell]:
    return [None if np.isnan(x) else x for x in values]


def _tested(p: float | None) -> Cell:
    return None if p is None or np.isnan(p) else p_value(p)


def _nested(tests: tuple[Nested, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (f"{t.smaller} in {t.larger}", t.statistic, t.df, p_value(t.p), t.verdict) for t in tests
    ]
    return Table(("", "statistic", "df", "p", ""), rows)


def _asked(asked: tuple[Asked, ...]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for a in asked:
        name = f"{a.name}: {a.outcome}" if a.outcome and sum(b.name == a.name for b in asked) > 1 else a.name
        if np.isnan(a.estimate):
            rows.append((name, None, None, None, None, a.note))
        else:
            rows.append((name, a.estimate, a.se, a.low, a.high, a.note))
    return Table(("model", "estimate", "std. error", "low", "high", "note"), rows)
