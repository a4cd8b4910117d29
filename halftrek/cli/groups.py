"""``--by COLUMN``, ``--by COLUMN,COLUMN``: one model for each group of rows, and a question's answers in a table."""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING, Any

from halftrek.cli.exits import DONE, NOT_CONVERGED

if TYPE_CHECKING:
    from halftrek.cli.analysis import Analysis
    from halftrek.graphs import Graph
    from halftrek.queries import Query
    from halftrek.reporting.plots.columns import Entry


def run_groups(args: argparse.Namespace, analysis: Analysis, graph: Graph, question: str | Query) -> int:
    """Prints the answer in each group; the question is identified."""
    from halftrek.cli.fitting import rows_of
    from halftrek.cli.inputs import opened_data
    from halftrek.cli.output import show, show_json
    from halftrek.results import workflow
    from halftrek.results.given.inputs import read_question

    _refuse_other_options(args)
    by = columns_of(args.by)
    with opened_data(analysis) as options:
        fits = workflow.fit_groups(graph, by=by if len(by) > 1 else by[0], noise=analysis.fit.noise, **options)
        level = analysis.uncertainty.level
        records = rows_of(fits.query(question, level=level, interval="delta" if args.interval else None))
    if args.json:
        text, said = str(read_question(question)), by if len(by) > 1 else by[0]
        show_json({"query": text, "by": said, "level": level, "groups": [_plain(r, len(by)) for r in records]})
    else:
        words = f"{read_question(question)} by {', '.join(by)} ({100 * level:g}% intervals)"
        show(f"{words}\n{_table(records, by)}")
    return DONE if fits.batch.converged.any() else NOT_CONVERGED


def columns_of(given: list[str]) -> list[str]:
    """The columns that ``--by`` names, once or several times; a name with a comma stands in double quotes."""
    from halftrek.errors import InputError

    found = [name.strip() for line in csv.reader(given, skipinitialspace=True) for name in line]
    if not found or not all(found):
        raise InputError("--by names no column; give one, or several as in --by site,sex")
    return found


def _refuse_other_options(args: argparse.Namespace) -> None:
    from halftrek.errors import InputError

    given = {
        "--cov": args.cov,
        "--method cgl-go": args.method == "cgl-go",
        f"--interval {args.interval}": args.interval not in (None, "delta"),
        "--write-analysis": args.write_analysis,
    }
    for option, there in given.items():
        if there:
            raise InputError(f"{option} cannot be used with --by; leave one of them out")


def _plain(record: dict[str, Entry], parts: int) -> dict[str, object]:
    """Labels of groups as JSON has them: texts and numbers, and a list of them for several columns."""
    columns = list(record)
    labels = [_label(record[name]) for name in columns[:parts]]
    return {"group": labels if parts > 1 else labels[0], **{name: record[name] for name in columns[parts:]}}


def _label(label: object) -> str | int | float:
    return label if isinstance(label, (str, int, float)) else str(label)


def _table(records: list[dict[str, Any]], by: list[str]) -> str:
    from halftrek.reporting.tables import Cell, count, table

    several = len({r.get("outcome") for r in records}) > 1
    lines: list[list[Cell]] = []
    for r in records:
        numbers = [None if r[k] != r[k] else float(r[k]) for k in ("estimate", "se", "low", "high")]
        remarks = "; ".join(text for text in (_ended(r["status"]), r["note"]) if text)
        name = [*(str(r[column]) for column in list(r)[: len(by)]), *([r["outcome"]] if several else [])]
        lines.append([*name, *numbers, count(r["n"]), remarks])
    groups = by if len(by) > 1 else ["group"]
    heads = [*groups, *(["outcome"] if several else []), "estimate", "std. error", "low", "high", "rows", "note"]
    return table(heads, lines)


def _ended(status: str) -> str:
    return "" if status == "converged" else status
