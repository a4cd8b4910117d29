"""``halftrek bounds``: between which values an answer lies that the graph does not determine."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

from halftrek.bottom.choices import SetInterval
from halftrek.cli.options import GRAPH_HELP, QUESTION_HELP, add_command, add_data, add_fit, share

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek bounds mroz mroz 'educ -> lwage' --assume 'abs(fatheduc -> lwage) <= 0.01'"
_ASSUME = (
    "an assumption, may be repeated: 'corr(x <-> y) in [-0.3, 0.3]', 'abs(z -> y) <= 0.1', 'x <-> y >= 0', "
    "'confounding(x, y) <= 2 * z'; an edge that the graph lacks is added"
)


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    summary = "between which values an answer lies, under assumptions that one can state"
    parser = add_command(commands, "bounds", run, summary=summary, example=_EXAMPLE)
    parser.usage = (
        "halftrek bounds [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) QUESTION [--assume TEXT ...]"
    )
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    add_fit(parser)
    add_data(parser, words)
    parser.add_argument("question", metavar="QUESTION", help=QUESTION_HELP)
    parser.add_argument("--assume", metavar="TEXT", action="append", default=[], help=_ASSUME)
    parser.add_argument("--level", type=share, default=0.95, help="of the interval for the true value (default: 0.95)")
    parser.add_argument(
        "--interval",
        choices=get_args(SetInterval),
        help="by the likelihood (default), or by standard errors of the ends (default with --kind)",
    )
    parser.add_argument("--picture", metavar="FILE", help="draw it into this file (.png, .svg, .pdf)")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the picture's file even if halftrek did not write it"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the set and the interval around it; values that the data exclude all are an answer too."""
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.fitting import ended, fitted
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import show_result

    analysis = analysis_of(args, (args.question,))
    refuse_two_standard_inputs(args.graph, args.data)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    with fitted(analysis, graph) as result:
        found = result.bounds(args.question, assume=args.assume, level=args.level, interval=args.interval)
    if args.picture:
        from halftrek.reporting import save
        from halftrek.reporting.plots.figures import new_figure

        figure = new_figure(7.2, 2.4)
        found.plot(ax=figure.axes[0])
        save(figure, args.picture, overwrite=args.overwrite)
    show_result(found, args.json)
    return ended(result)
