"""``halftrek convert``: a graph from one way of writing it to another."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING, get_args

from halftrek.bottom.choices import Syntax
from halftrek.cli.exits import DONE
from halftrek.cli.options import GRAPH_HELP, add_command, add_lavaan

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek convert 'x -> m -> y; x <-> y' --to lavaan"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(commands, "convert", run, summary="write a graph in another notation", example=_EXAMPLE)
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    parser.add_argument("--to", choices=get_args(Syntax), required=True, help="the notation to write")
    add_lavaan(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the graph."""
    from halftrek.cli.analysis import lavaan_of
    from halftrek.cli.inputs import read_graph
    from halftrek.cli.output import show_json, show_whole
    from halftrek.reporting.records import graph_record
    from halftrek.syntax import format_graph

    graph = read_graph(args.graph, lavaan=lavaan_of(args))
    text = format_graph(graph, args.to)
    if args.json:
        show_json({"format": args.to, "text": text, "graph": graph_record(graph)})
    else:
        show_whole(text.rstrip("\n"))
    return DONE
