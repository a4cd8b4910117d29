"""``halftrek instruments`` and ``halftrek adjustments``: how an effect is known, one table for each way."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

from halftrek.cli.options import (
    GRAPH_HELP,
    QUESTION_HELP,
    add_command,
    add_data,
    add_fit,
    add_uncertainty,
    share,
    whole,
)

if TYPE_CHECKING:
    from halftrek.cli.options import Commands
    from halftrek.results.beside.adjustments import Adjustments
    from halftrek.results.beside.instruments import Instruments
    from halftrek.results.fit import Fit

_EXAMPLE = "halftrek instruments card card 'educ -> lwage'"
_ADJUSTED = "halftrek adjustments tal_or tal_or 'cond ~> reaction'"


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds both commands to the parser."""
    summary = "strength of instruments, 2SLS, LIML, and tests, for a question that they answer"
    parser = add_command(commands, "instruments", run, summary=summary, example=_EXAMPLE)
    _add_rest(parser, words)
    parser.add_argument("--level", type=share, default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument(
        "--robust",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="allow for unequal spread and clusters in errors and tests (default: where the rows ask for it)",
    )
    summary = "an effect by every minimal adjustment set, beside the crude slope"
    parser = add_command(commands, "adjustments", run, summary=summary, example=_ADJUSTED)
    _add_rest(parser, words)
    parser.add_argument("--most", type=whole(1), default=20, help="sets that are listed (default: 20)")
    add_uncertainty(parser)


def _add_rest(parser: argparse.ArgumentParser, words: Collection[str]) -> None:
    name = parser.prog.rpartition(" ")[2]
    parser.usage = f"halftrek {name} [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) QUESTION"
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    add_fit(parser)
    add_data(parser, words)
    parser.add_argument("question", metavar="QUESTION", help=QUESTION_HELP)


def run(args: argparse.Namespace) -> int:
    """Prints the tables, or why there are none."""
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.fitting import ended, fitted, refused
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import show_result
    from halftrek.errors import NotIdentifiedError

    analysis = analysis_of(args, (args.question,))
    refuse_two_standard_inputs(args.graph, args.data)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    with fitted(analysis, graph) as result:
        try:
            found = _asked(result, args)
        except NotIdentifiedError as error:
            return refused(error, args.json)
    show_result(found, args.json)
    return ended(result)


def _asked(fit: Fit, args: argparse.Namespace) -> Instruments | Adjustments:
    from halftrek.cli.analysis import analysis_of, uncertainty_options

    if args.command == "instruments":
        return fit.instruments(args.question, level=args.level, robust=args.robust)
    return fit.adjustments(args.question, most=args.most, **uncertainty_options(analysis_of(args).uncertainty))
