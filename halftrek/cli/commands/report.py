"""``halftrek report``: one self-contained HTML file with questions, graph, assumptions, answers and checks."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_CONVERGED, NOT_IDENTIFIED
from halftrek.cli.options import (
    GRAPH_HELP,
    QUESTION_HELP,
    add_command,
    add_data,
    add_files,
    add_fit,
    add_outside,
    add_uncertainty,
)

if TYPE_CHECKING:
    from halftrek.cli.analysis import Analysis
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek report mroz mroz --question 'educ -> lwage' --out report.html"


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands, "report", run, summary="write a report as one HTML file, from graph to answer", example=_EXAMPLE
    )
    parser.usage = (
        "halftrek report [options] (ANALYSIS.toml | GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS)) --out FILE.html"
    )
    parser.add_argument("graph", metavar="GRAPH", help=f"an analysis file (.toml); or {GRAPH_HELP}")
    parser.add_argument("--question", metavar="QUESTION", action="append", help=f"{QUESTION_HELP}; may be repeated")
    parser.add_argument("--out", metavar="FILE.html", help="the report (default: report.html, or as the analysis says)")
    parser.add_argument("--title", help="of the report")
    add_outside(parser)
    add_fit(parser)
    add_files(parser)
    add_data(parser, () if not any(word.endswith(".toml") for word in words) else ("--sql",))
    add_uncertainty(parser)


def run(args: argparse.Namespace) -> int:
    """Writes the report."""
    from halftrek.cli.analysis import analysis_of, refuse_choices, uncertainty_options
    from halftrek.cli.analysis_file import keep_analysis, read_analysis
    from halftrek.cli.fitting import fitted
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import refuse_existing, show, show_json
    from halftrek.cli.process import say
    from halftrek.errors import InputError

    if args.graph.endswith(".toml"):
        refuse_choices(args)
        analysis = read_analysis(args.graph, outside=args.outside, connect=args.connect)
        analysis = replace(analysis, questions=(*analysis.questions, *(args.question or ())))
        named = analysis.output.report
        path = args.out or ("report.html" if named is None else str(analysis.place(named)))
    else:
        if args.outside:
            raise InputError("--outside is for an analysis file; what the command line names may lie anywhere")
        refuse_two_standard_inputs(args.graph, args.data)
        analysis = analysis_of(args, tuple(args.question or ()))
        path = args.out or "report.html"
    refuse_existing(args.force, path, args.write_analysis)
    graph = read_graph(analysis.graph, analysis.folder, analysis.lavaan)
    with fitted(analysis, graph) as result:
        sure = uncertainty_options(analysis.uncertainty)
        written = result.report(path, list(analysis.questions), title=args.title, overwrite=args.force, **sure)
    keep_analysis(_with_report(analysis, path), args.write_analysis, args.force)
    unknown = [q for q in analysis.questions if not _identified(result.graph, q)]
    if args.json:
        show_json({"report": str(written), "questions": list(analysis.questions), "not_identified": unknown})
    else:
        show(f"Report: {written}")
    if not result.converged:
        say(result.status.words("command line"))
        return NOT_CONVERGED
    return NOT_IDENTIFIED if unknown else DONE


def _with_report(analysis: Analysis, path: str) -> Analysis:
    return replace(analysis, output=replace(analysis.output, report=path))


def _identified(graph: object, question: str) -> bool:
    from halftrek.results.given.reading import identify

    return identify(graph, question).identified
