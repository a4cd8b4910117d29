"""From an analysis to its fit, with what is listed beside the answers: parameters, effects, checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halftrek.cli.analysis import Analysis, Uncertainty, uncertainty_options
from halftrek.cli.output import as_options

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.inference import Parameter
    from halftrek.results.fit import Fit

_MOST_LISTED = 10  # of residuals and edges that could be added


@contextmanager
def fitted(analysis: Analysis, graph: Graph) -> Iterator[Fit]:
    """The fit; its rows can be read again until the block ends."""
    from halftrek.cli.inputs import opened_data
    from halftrek.results import workflow

    with opened_data(analysis) as options:
        yield workflow.fit(graph, **options, method=analysis.fit.method, noise=analysis.fit.noise)


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


def effect_records(fit: Fit, sure: Uncertainty) -> list[dict[str, Any]]:
    """Every effect that the graph has, with a number where it is identified."""
    from halftrek.errors import InputError

    if sure.interval == "profile":
        raise InputError("--interval profile is for one question at a time; the table of effects takes another")
    return rows_of(fit.effects(**uncertainty_options(sure)))


def effects_table(records: Sequence[dict[str, Any]], level: float) -> str:
    """The same as text."""
    from halftrek.reporting.tables import Cell, paragraph, table

    if not records:
        return paragraph("The graph has no directed path between observed variables: no effect to list.", indent=2)
    lines: list[list[Cell]] = []
    for r in records:
        numbers = [None] * 4 if _missing(r["est"]) else [_number(r[k]) for k in ("est", "se", "ci_low", "ci_high")]
        lines.append([f"{r['cause']} ~> {r['effect']}", r["kind"], *numbers, r["note"]])
    heads = ["", "kind", "effect", "std. error", "low", "high", "note"]
    if not any(r["note"] for r in records):
        heads, lines = heads[:-1], [line[:-1] for line in lines]
    return f"Effects ({100 * level:g}% intervals)\n" + table(heads, lines)


def checks_record(fit: Fit) -> dict[str, Any]:
    """Measures of fit, and what is wrong where."""
    from halftrek.errors import InputError

    record: dict[str, Any] = {"measures": fit.measures(), "r2": rows_of(fit.r2()), "note": ""}
    for name in ("tests", "residuals", "modifications"):
        try:
            record[name] = rows_of(getattr(fit, name)())
        except InputError as error:  # what these data do not allow is said, and the rest is shown
            record[name], record["note"] = None, as_options(str(error))
    return record


def checks_text(record: dict[str, Any]) -> str:
    """The same as text, the largest residuals and the most wanted edges only."""
    from halftrek.inference.checks.modification import modification_notes
    from halftrek.inference.checks.robust_fit import NORMAL_THEORY
    from halftrek.reporting.tables import facts, number, paragraph, table

    m = record["measures"]
    indices = [f"{k.upper()} {m[k]:.3f}" for k in ("cfi", "tli", "rmsea", "srmr") if not _missing(m[k])]
    chi2 = "none: the graph allows every covariance matrix (no degrees of freedom)"
    if m["df"]:
        p = "" if _missing(m["pvalue"]) else f", p = {number(m['pvalue'])}"
        chi2 = f"{number(m['chi2'])} (degrees of freedom: {m['df']}){p}"
    head = [
        ("chi-square", chi2),
        *([("test", m["test"])] if m["df"] and m["test"] != NORMAL_THEORY else []),
        ("indices", ", ".join(indices)),
        ("AIC, BIC", f"{number(m['aic'], 6)}, {number(m['bic'], 6)}"),
    ]
    parts = ["Does the graph fit?\n" + facts(head)]
    tests = [(r["constraint"], _number(r["p"]), _number(r["p_adjusted"]), r["verdict"]) for r in record["tests"] or ()]
    if tests:
        parts.append("What the graph implies\n" + table(("constraint", "p", "adjusted", "verdict"), tests))
    elif record["tests"] is not None:
        parts.append(paragraph("The graph implies nothing that data could contradict.", indent=2))
    wanted = [(r["edge"], _number(r["mi"]), _number(r["epc"])) for r in record["modifications"] or ()][:_MOST_LISTED]
    if wanted:
        kind = record["modifications"][0]["test"]
        less = "robust index" if kind == "robust score" else "chi-square less"
        parts.append("Edges that the data ask for most\n" + table(("edge", less, "its value"), wanted))
        parts += [paragraph(note.words("command line"), indent=2) for note in modification_notes(kind)]
    left = [r for r in record["residuals"] or () if not _missing(r["z"])][:_MOST_LISTED]
    if left:
        lines = [(f"{r['lhs']}, {r['rhs']}", *(_number(r[k]) for k in ("observed", "implied", "z"))) for r in left]
        parts.append("Largest residual correlations\n" + table(("", "observed", "implied", "z"), lines))
    return "\n\n".join([*parts, *([paragraph(record["note"], indent=2)] if record["note"] else [])])


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """A tidy frame of any library as a list of records."""
    from halftrek.reporting.columns import columns_in

    columns = columns_in(frame, "the table")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _missing(value: Any) -> bool:
    return value is None or value != value


def _number(value: Any) -> float | None:
    return None if _missing(value) else float(value)
