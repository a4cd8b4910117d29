"""``halftrek identify``: may the question be answered from data of this graph?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_IDENTIFIED
from halftrek.cli.options import GRAPH_HELP, QUESTION_HELP, add_command

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek identify 'x -> m -> y; x <-> y' 'P(y | do(x))'"


def add_to(commands: Commands) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands,
        "identify",
        run,
        summary="decide from the graph alone whether a question has an answer",
        example=_EXAMPLE,
    )
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    parser.add_argument("question", metavar="QUESTION", help=QUESTION_HELP)


def run(args: argparse.Namespace) -> int:
    """Prints the verdict."""
    from halftrek.cli.inputs import read_graph
    from halftrek.reporting.records import to_json
    from halftrek.reporting.text import describe_verdict
    from halftrek.workflow import identify

    verdict = identify(read_graph(args.graph), args.question)
    print(to_json(verdict.to_dict()) if args.json else describe_verdict(verdict))
    return DONE if verdict.identified else NOT_IDENTIFIED
