"""From an analysis to its fit, with what is listed beside the answers: parameters, effects, checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halftrek.cli.analysis import Analysis, Uncertainty, uncertainty_options
from halftrek.cli.exits import DONE, NOT_CONVERGED, NOT_IDENTIFIED
from halftrek.cli.output import as_options
from halftrek.errors import NotIdentifiedError

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.inference import Parameter
    from halftrek.reporting.plots.columns import Entry
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_MOST_LISTED = 10  # of residuals and edges that could be added


@contextmanager
def fitted(analysis: Analysis, graph: Graph) -> Iterator[Fit]:
    """The fit; its rows can be read again until the block ends."""
    from halftrek.cli.inputs import opened_data
    from halftrek.results import workflow

    with opened_data(analysis) as options:
        yield workflow.fit(graph, **options, method=analysis.fit.method, noise=analysis.fit.noise)


def refused(error: NotIdentifiedError, json: bool) -> int:
    """Show why a question is not identified; an error without a verdict goes on."""
    from halftrek.results.answers import Answer, Refusal

    if error.verdict is None:
        raise error
    return show_refusal(error.answer or Answer(error.verdict.query, Refusal(), error.verdict), json)


def show_refusal(refused: Answer, json: bool, *, details: bool = False) -> int:
    """Show why a question is not identified and what the data leave, and give the exit code that says so."""
    from halftrek.cli.output import show, show_json
    from halftrek.reporting.described.verdicts import describe_refusal
    from halftrek.reporting.records import refusal_record

    if json:
        show_json(refusal_record(refused))
    else:
        show(describe_refusal(refused, details=details, front="command line"))
    return NOT_IDENTIFIED


def ended(fit: Fit) -> int:
    """The exit code of a command that has shown its answer; what to know of a fit that did not converge is said."""
    from halftrek.cli.process import say

    if fit.converged:
        return DONE
    say(fit.status.words("command line"))
    return NOT_CONVERGED


def parameters(fit: Fit, sure: Uncertainty) -> list[Parameter]:
    """Every parameter with the interval asked for."""
    from halftrek.errors import InputError
    from halftrek.reporting import late_bar
    from halftrek.trust import judged_parameters

    if sure.interval == "profile":
        raise InputError("--interval profile is for one question at a time: halftrek query GRAPH DATA QUESTION")
    if sure.ends != "percentile":
        raise InputError(f"--ends {sure.ends} is for one question at a time: halftrek query GRAPH DATA QUESTION")
    if sure == Uncertainty():
        return judged_parameters(fit)
    with late_bar("bootstrap"):
        return judged_parameters(
            fit, level=sure.level, interval=sure.interval, replicates=sure.replicates, random_state=sure.random_state
        )


def parameters_beside(fit: Fit, sure: Uncertainty) -> list[Parameter]:
    """Every parameter beside questions: with their interval, or where that is for questions alone, the usual one."""
    known = replace(sure, interval=None) if sure.interval == "profile" else sure
    return parameters(fit, replace(known, ends="percentile"))


def effects(fit: Fit, sure: Uncertainty) -> tuple[list[dict[str, object]], str]:
    """Every effect that the graph has, with a number where it is identified: as records and as text."""
    from halftrek.errors import InputError
    from halftrek.reporting.described.effects import effects_document
    from halftrek.reporting.text import as_text
    from halftrek.results.answering import how_of
    from halftrek.results.words.listings import effect_rows_of

    if sure.interval == "profile":
        raise InputError("--interval profile is for one question at a time; the table of effects takes another")
    rows = effect_rows_of(fit, how_of(**uncertainty_options(sure)))
    return [asdict(row) for row in rows], as_text(effects_document(rows, sure.level))


def checks_record(fit: Fit) -> dict[str, Any]:
    """Measures of fit, and what is wrong where."""
    from halftrek.errors import InputError

    record: dict[str, Any] = {"measures": fit.measures(), "note": ""}
    listed: dict[str, Callable[[], object]] = {
        "r2": fit.r2, "tests": fit.tests, "linearity": partial(fit.tests, beyond="linearity"),
        "residuals": fit.residuals, "modifications": fit.modifications,
    }  # fmt: skip
    for name, make in listed.items():
        try:
            record[name] = rows_of(make())
        except InputError as error:  # what these data do not allow is said, and the rest is shown
            record[name], record["note"] = None, as_options(str(error))
    return record


def checks_text(fit: Fit, record: dict[str, Any]) -> str:
    """The same as text, the largest residuals and the most wanted edges only."""
    from halftrek.inference.checks.constraints import constraint_tests
    from halftrek.inference.checks.edges.modification import modification_notes, modifications
    from halftrek.inference.checks.linearity import line_tests
    from halftrek.inference.checks.residuals import residuals
    from halftrek.reporting.described.checks import claims_table, edges_table, lines_table, residuals_table
    from halftrek.reporting.document import Facts, Heading, Paragraph, Printed
    from halftrek.reporting.text import as_text

    parts: list[Printed] = [Heading("Does the graph fit?"), Facts(_measures(record["measures"]))]
    adjusted = [r["p_adjusted"] for r in record["tests"] or () if r["kind"] != "linearity"]
    if adjusted:
        parts += [Heading("What the graph implies"), claims_table(constraint_tests(fit), adjusted)]
    elif record["tests"] is not None:
        parts.append(Paragraph("The graph implies nothing about covariances that data could contradict."))
    if record["linearity"]:
        lines = [r["p_adjusted"] for r in record["linearity"]]
        parts += [Heading("Are effects straight lines?"), lines_table(line_tests(fit), lines)]
    if record["modifications"]:
        wanted = modifications(fit)[:_MOST_LISTED]
        parts += [Heading("Edges that the data ask for most"), edges_table(wanted)]
        parts += [Paragraph(note.words("command line")) for note in modification_notes(wanted[0].test)]
    left = [r for r in residuals(fit) if not _missing(r.z)][:_MOST_LISTED] if record["residuals"] else []
    if left:
        parts += [Heading("Largest residual correlations"), residuals_table(left)]
    return as_text([*parts, *([Paragraph(record["note"])] if record["note"] else [])])


def _measures(m: dict[str, Any]) -> list[tuple[str, str]]:
    from halftrek.inference.checks.robust_fit import NORMAL_THEORY
    from halftrek.reporting.document import p_words
    from halftrek.reporting.tables import number

    indices = [f"{k.upper()} {m[k]:.3f}" for k in ("cfi", "tli", "rmsea", "srmr") if not _missing(m[k])]
    chi2 = "none: the graph allows every covariance matrix (no degrees of freedom)"
    if "added" in m:
        chi2 = "none: the graph leaves no edge out that data could tell"
    if m["df"]:
        p = "" if _missing(m["pvalue"]) else f", {p_words(m['pvalue'])}".replace("\u00a0", " ")
        chi2 = f"{number(m['chi2'])} (degrees of freedom: {m['df']}){p}"
    return [
        ("chi-square", chi2),
        *([("test", m["test"])] if m["df"] and m["test"] != NORMAL_THEORY else []),
        *([("edges more", m["added"])] if m.get("added") else []),
        *([("indices", ", ".join(indices))] if indices else []),
        ("AIC, BIC", f"{number(m['aic'], 6)}, {number(m['bic'], 6)}"),
    ]


def rows_of(frame: object) -> list[dict[str, Entry]]:
    """A tidy frame of any library as a list of records."""
    from halftrek.reporting.plots.columns import columns_in

    columns = columns_in(frame, "the table")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _missing(value: object) -> bool:
    return value is None or value != value
