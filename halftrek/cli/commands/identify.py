"""``halftrek identify``: may the question be answered from data of this graph?"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, get_args

from halftrek.bottom.choices import Scope
from halftrek.cli.exits import DONE, NOT_IDENTIFIED
from halftrek.cli.options import GRAPH_HELP, QUESTION_HELP, add_command, add_lavaan, has
from halftrek.errors import InputError

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek identify 'x -> m -> y; x <-> y' 'P(y | do(x))'"
_PATIENCE = 0.5  # seconds of the hardest step without a word


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands,
        "identify",
        run,
        summary="decide from the graph alone whether a question has an answer",
        example=_EXAMPLE,
    )
    parser.usage = "halftrek identify [options] GRAPH (QUESTION | --all)"
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    parser.add_argument("question", metavar="QUESTION", nargs="?" if has(words, "--all") else None, help=QUESTION_HELP)
    parser.add_argument("--all", action="store_true", help="decide every arrow and every total effect, as a table")
    parser.add_argument(
        "--budget",
        metavar="SECONDS",
        type=_seconds,
        default=5.0,
        help="time for the hardest step of each question (default: 5)",
    )
    parser.add_argument(
        "--scope",
        choices=get_args(Scope),
        default="linear",
        help="what may be used: linear equations, the arrows alone, or independent errors that are not normal too",
    )
    parser.add_argument("--details", action="store_true", help="say how it was found, in mathematical terms too")
    add_lavaan(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the verdict, or a table of verdicts."""
    if args.all and args.scope == "nonparametric":
        raise InputError("--all decides arrows, which mean nothing without linear equations: ask one question")
    if args.all == (args.question is not None):
        raise InputError("give either a question like 'x -> y' or --all")
    return _run_all(args) if args.all else _run_one(args)


def _run_one(args: argparse.Namespace) -> int:
    """Without the workflow, which would load what fits and infers: a verdict needs the graph alone, and is quick."""
    from halftrek import identification
    from halftrek.cli.analysis import lavaan_of
    from halftrek.cli.inputs import read_graph
    from halftrek.cli.output import show, show_json
    from halftrek.queries.checks import check_query, speaking_of
    from halftrek.reporting.described.verdicts import describe_verdict
    from halftrek.syntax import parse_question

    graph, query = read_graph(args.graph, lavaan=lavaan_of(args)), parse_question(args.question)
    check_query(query, graph := speaking_of(graph, query))
    with _patient() as progress:
        verdict = identification.identify(graph, query, scope=args.scope, budget=args.budget, progress=progress)
    if args.json:
        show_json(verdict.to_dict())
    else:
        show(describe_verdict(verdict, details=args.details, front="command line"))
    return DONE if verdict.identified else NOT_IDENTIFIED


def _run_all(args: argparse.Namespace) -> int:
    from halftrek.cli.analysis import lavaan_of
    from halftrek.cli.inputs import read_graph
    from halftrek.cli.output import show, show_json
    from halftrek.identification import identify_all
    from halftrek.reporting.described.verdicts import verdict_table
    from halftrek.reporting.records import graph_record

    graph = read_graph(args.graph, lavaan=lavaan_of(args))
    with _patient() as progress:
        verdicts = identify_all(graph, scope=args.scope, budget=args.budget, progress=progress)
    if args.json:
        show_json({"graph": graph_record(graph), "verdicts": [v.to_dict() for v in verdicts]})
    else:
        show(verdict_table(verdicts))
    return DONE


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0.0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no time to work in; give seconds, for instance 30")
    return seconds


@contextmanager
def _patient() -> Iterator[Callable[[float, float], None]]:
    """A progress bar that appears only if the hardest step takes its time."""
    from halftrek.reporting import progress_bar

    with ExitStack() as stack:
        bars: list[Callable[[int, int], None]] = []

        def progress(seconds: float, budget: float) -> None:
            if seconds >= _PATIENCE and not bars:
                bars.append(stack.enter_context(progress_bar("Eliminating unknowns")))
            for advance in bars:
                advance(round(1000 * seconds), round(1000 * budget))

        yield progress
