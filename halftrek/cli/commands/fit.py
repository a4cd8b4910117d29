"""``halftrek fit``: every parameter of the graph, estimated from data."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_CONVERGED
from halftrek.cli.options import GRAPH_HELP, add_command, add_data, add_files, add_fit, add_uncertainty

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek fit tal_or tal_or --effects --checks"


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands, "fit", run, summary="estimate every parameter of a graph from data", example=_EXAMPLE
    )
    parser.usage = "halftrek fit [options] GRAPH (DATA | --sql QUERY [--connect ADDRESS] | --cov FILE --n ROWS)"
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    add_fit(parser)
    parser.add_argument("--effects", action="store_true", help="also every direct, indirect and total effect")
    parser.add_argument("--checks", action="store_true", help="also how well the graph fits, and where it does not")
    parser.add_argument("--save", metavar="FILE", help="keep the fit as JSON, for ht.load")
    add_files(parser)
    add_data(parser, words)
    add_uncertainty(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the fit, and what was asked for beside it."""
    from halftrek.cli import fitting
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.analysis_file import keep_analysis
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import refuse_existing, show, show_json
    from halftrek.reporting.records import fit_record
    from halftrek.reporting.text import summarize_fit

    analysis = analysis_of(args)
    refuse_two_standard_inputs(args.graph, args.data)
    refuse_existing(args.force, args.save, args.write_analysis)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    with fitting.fitted(analysis, graph) as result:
        rows = fitting.parameters(result, analysis.uncertainty)
        record = fit_record(result, rows)
        texts = [] if args.json else [summarize_fit(result, rows)]
        if args.effects:
            record["effects"], text = fitting.effects(result, analysis.uncertainty)
            texts.append(text)
        if args.checks:
            record["checks"] = found = fitting.checks_record(result)
            texts.append(fitting.checks_text(result, found))
    if args.json:
        show_json(record)
    else:
        show("\n\n".join(texts))
    if args.save is not None:
        result.save(args.save, overwrite=args.force)
    keep_analysis(analysis, args.write_analysis, args.force)
    return DONE if result.converged else NOT_CONVERGED
