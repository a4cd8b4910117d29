"""``halftrek predict``: what to expect of new rows, as they come or when something is done."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from halftrek.cli.options import (
    DATA_HELP,
    GRAPH_HELP,
    add_command,
    add_data,
    add_files,
    add_fit,
    add_table,
    add_uncertainty,
)

if TYPE_CHECKING:
    from halftrek.bottom.frames import Frame
    from halftrek.cli.options import Commands
    from halftrek.results.fit import Fit

_EXAMPLE = "halftrek predict tal_or tal_or --outcome reaction --do cond=1 --out predicted.csv"


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    summary = "what to expect of new rows, as they come or when something is done"
    parser = add_command(commands, "predict", run, summary=summary, example=_EXAMPLE)
    parser.usage = "halftrek predict [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) [--rows FILE]"
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    parser.add_argument("--rows", metavar="FILE", help=f"the new rows, if not the data: {DATA_HELP}")
    parser.add_argument(
        "--outcome", metavar="Y", action="append", help="may be repeated (default: what the rows have no column of)"
    )
    parser.add_argument(
        "--do",
        metavar="X=1",
        action="append",
        default=[],
        help="what is done: x=1, x+=1, x-=1, x*=2, or x=COLUMN of the rows; may be repeated",
    )
    parser.add_argument("--given", metavar="Z,W", help="columns to predict from (default: all that tell something)")
    add_table(parser)
    add_fit(parser)
    add_files(parser, analysis=False)
    add_data(parser, words)
    add_uncertainty(parser)


def run(args: argparse.Namespace) -> int:
    """Writes a table with a line for each row."""
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.commands.counterfactual import write_table, writer_of
    from halftrek.cli.fitting import ended, fitted, refused
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import refuse_existing
    from halftrek.errors import InputError, NotIdentifiedError

    if args.rows is None and args.cov is not None:
        raise InputError("say which rows are to be predicted: --rows FILE")
    writer_of(args.out)
    analysis = analysis_of(args)
    refuse_two_standard_inputs(args.graph, args.data, args.rows)
    refuse_existing(args.force, args.out)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    with fitted(analysis, graph) as result:
        try:
            found = _asked(result, args)
        except NotIdentifiedError as error:
            return refused(error, args.json)
    write_table(found, args)
    return ended(result)


def _asked(fit: Fit, args: argparse.Namespace) -> Frame:
    from halftrek.cli.analysis import analysis_of, uncertainty_options
    from halftrek.cli.commands.counterfactual import held_at
    from halftrek.cli.inputs import assignments, opened_rows

    options = uncertainty_options(analysis_of(args).uncertainty)
    do = {name: held_at(sign, value) for text in args.do for name, sign, value in assignments(text, "--do")}
    given = None if args.given is None else [v.strip() for v in args.given.split(",")]
    ask = partial(fit.predict, outcome=args.outcome, do=do, given=given, unidentified=args.unidentified, **options)
    if args.rows is None:
        assert fit.rows is not None  # only a covariance has none
        return ask(fit.rows.source)
    with opened_rows(args.rows) as rows:
        return ask(rows)
