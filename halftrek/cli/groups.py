"""``--by COLUMN``: one model for each group of rows, and a question's answers in a table."""

from __future__ import annotations

import argparse
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
    from halftrek.results.inputs import read_question

    _refuse_other_options(args)
    with opened_data(analysis) as options:
        del options["cluster"]
        fits = workflow.fit_groups(graph, by=args.by, noise=analysis.fit.noise, **options)
    level = analysis.uncertainty.level
    records = rows_of(fits.query(question, level=level, interval="delta" if args.interval else None))
    if args.json:
        text = str(read_question(question))
        show_json({"query": text, "by": args.by, "level": level, "groups": [_plain(r) for r in records]})
    else:
        show(f"{read_question(question)} by {args.by} ({100 * level:g}% intervals)\n{_table(records)}")
    return DONE if fits.batch.converged.any() else NOT_CONVERGED


def _refuse_other_options(args: argparse.Namespace) -> None:
    from halftrek.errors import InputError

    given = {
        "--cov": args.cov,
        "--cluster": args.cluster,
        "--method cgl-go": args.method == "cgl-go",
        f"--interval {args.interval}": args.interval not in (None, "delta"),
        "--write-analysis": args.write_analysis,
    }
    for option, there in given.items():
        if there:
            raise InputError(f"{option} cannot be used with --by; leave one of them out")


def _plain(record: dict[str, Entry]) -> dict[str, Entry]:
    """Labels of groups as JSON has them: texts and numbers."""
    key = record["group"]
    return {**record, "group": key if isinstance(key, (str, int, float)) else str(key)}


def _table(records: list[dict[str, Any]]) -> str:
    from halftrek.reporting.tables import Cell, count, table

    several = len({r.get("outcome") for r in records}) > 1
    lines: list[list[Cell]] = []
    for r in records:
        numbers = [None if r[k] != r[k] else float(r[k]) for k in ("estimate", "se", "low", "high")]
        told = "; ".join(text for text in (_ended(r["status"]), r["note"]) if text)
        name = [str(r["group"]), *([r["outcome"]] if several else [])]
        lines.append([*name, *numbers, count(r["n"]), told])
    heads = ["group", *(["outcome"] if several else []), "estimate", "std. error", "low", "high", "rows", "note"]
    return table(heads, lines)


def _ended(status: str) -> str:
    return "" if status == "converged" else status
