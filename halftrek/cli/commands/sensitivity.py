"""``halftrek robustness`` and ``halftrek sensitivity``: what an answer rests on."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.cli.exits import NOT_IDENTIFIED
from halftrek.cli.options import GRAPH_HELP, QUESTION_HELP, add_command, add_data, add_fit, share

if TYPE_CHECKING:
    from halftrek.cli.options import Commands
    from halftrek.partial import Benchmark, Contours, Ranking, Robustness, Sensitivity
    from halftrek.results.fit import Fit

_ROBUST = "halftrek robustness mroz mroz 'educ -> lwage'"
_VARIED = "halftrek sensitivity mroz mroz 'educ -> lwage' --edge 'fatheduc <-> lwage' --picture curve.png"
_EDGE = "'x <-> y' for correlated errors, 'x -> y' for an arrow; the graph may have it or not"


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds both commands to the parser."""
    summary = "how strong an edge must be for an answer to be zero, or no longer significant"
    parser = add_command(commands, "robustness", run, summary=summary, example=_ROBUST)
    _add_rest(parser, words)
    parser.add_argument("--edge", help=f"one edge (default: every absent one that carries the answer): {_EDGE}")
    parser.add_argument(
        "--assumptions",
        action="store_true",
        help="list every absent edge: tested by the data, carrying the answer, or harmless",
    )
    parser.add_argument(
        "--benchmark",
        metavar="NAME",
        action="append",
        default=[],
        help="bounds for a hidden cause 1, 2 and 3 times as strong as this covariate (may be repeated)",
    )
    summary = "an answer for each value of an edge, or over two edges"
    parser = add_command(commands, "sensitivity", run, summary=summary, example=_VARIED)
    _add_rest(parser, words)
    parser.add_argument("--edge", action="append", required=True, help=f"the edge to vary, at most twice: {_EDGE}")
    parser.add_argument("--values", help="comma-separated covariances of the errors, or weights of the arrow")
    parser.add_argument("--picture", metavar="FILE", help="draw it into this file (.png, .svg, .pdf)")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace the picture's file even if halftrek did not write it"
    )


def _add_rest(parser: argparse.ArgumentParser, words: Collection[str]) -> None:
    name = parser.prog.rpartition(" ")[2]
    parser.usage = f"halftrek {name} [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) QUESTION"
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    add_fit(parser)
    add_data(parser, words)
    parser.add_argument("question", metavar="QUESTION", help=QUESTION_HELP)
    parser.add_argument("--level", type=share, default=0.95, help="of the intervals (default: 0.95)")
    parser.add_argument("--target", type=float, help="the answer to look for (default: 0, and 1 for ratios)")


def run(args: argparse.Namespace) -> int:
    """Prints the tables, or why there are none."""
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.fitting import ended, fitted
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import show, show_json, show_result
    from halftrek.errors import NotIdentifiedError
    from halftrek.reporting.described.verdicts import describe_verdict

    analysis = analysis_of(args, (args.question,))
    refuse_two_standard_inputs(args.graph, args.data)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    with fitted(analysis, graph) as result:
        try:
            asked = _asked(result, args)
            found = replace(asked, notes=tuple(n.for_front("command line") for n in asked.notes))
        except NotIdentifiedError as error:
            if error.verdict is None:
                raise
            if args.json:
                show_json(error.verdict.to_dict())
            else:
                show(describe_verdict(error.verdict))
            return NOT_IDENTIFIED
    show_result(found, args.json)
    return ended(result)


def _asked(fit: Fit, args: argparse.Namespace) -> Sensitivity | Contours | Robustness | Ranking | Benchmark:
    if args.command == "sensitivity":
        return _varied(fit, args)
    if args.benchmark:
        return _benchmark(fit, args)
    if args.assumptions:
        return fit.assumptions(args.question, target=args.target)
    return fit.robustness(args.question, args.edge, target=args.target, level=args.level)


def _varied(fit: Fit, args: argparse.Namespace) -> Sensitivity | Contours:
    from halftrek.errors import InputError

    values = None
    if args.values is not None:
        try:
            values = [float(x) for x in args.values.split(",")]
        except ValueError:
            raise InputError(f"--values are numbers separated by commas, not {args.values!r}") from None
        if len(args.edge) > 1:
            raise InputError("--values is for one edge; two edges have their own range")
    found = fit.sensitivity(args.question, args.edge, values=values, level=args.level, target=args.target)
    if args.picture:
        from halftrek.partial import plot_sensitivity
        from halftrek.reporting import save
        from halftrek.reporting.plots.figures import new_figure

        figure = new_figure(6.0, 4.0)
        plot_sensitivity(found, ax=figure.axes[0])
        save(figure, args.picture, overwrite=args.overwrite)
    return found


def _benchmark(fit: Fit, args: argparse.Namespace) -> Benchmark:
    from halftrek.errors import InputError
    from halftrek.queries import DirectEffect, TotalEffect
    from halftrek.results.given.inputs import read_question

    query = read_question(args.question)
    if not isinstance(query, TotalEffect | DirectEffect):
        raise InputError("--benchmark is for an effect, like 'x ~> y' or 'x -> y'")
    return fit.benchmark(query.cause, query.effect, args.benchmark, level=args.level)
