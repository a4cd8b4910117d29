"""``halftrek fit``: every parameter of the graph, estimated from data."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_CONVERGED
from halftrek.cli.options import DATA_HELP, GRAPH_HELP, add_command

if TYPE_CHECKING:
    from halftrek.cli.options import Commands
    from halftrek.estimation.fit import Fit
    from halftrek.graph import Graph

_EXAMPLE = "halftrek simulate front-door -n 1000 --seed 1 | halftrek fit front-door -"


def add_to(commands: Commands) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands, "fit", run, summary="estimate every parameter of a graph from data", example=_EXAMPLE
    )
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    add_fit_options(parser)


def add_fit_options(parser: argparse.ArgumentParser) -> None:
    """What may be chosen about a fit."""
    parser.add_argument(
        "--method",
        choices=("em", "cgl-go"),
        default="em",
        help="exact and fast, or the paper's Algorithm 1 (default: em)",
    )
    parser.add_argument(
        "--noise", choices=("free", "unit"), help="noise variances estimated, or all one (default: free; cgl-go: unit)"
    )
    parser.add_argument(
        "--missing",
        choices=("fiml", "drop", "error"),
        default="fiml",
        help="rows with missing values: use what they have, leave them out, or refuse (default: fiml)",
    )
    parser.add_argument("--weights", metavar="COLUMN", help="column of the data that holds row weights")


def fit_as_told(graph: Graph, args: argparse.Namespace) -> Fit:
    """The fit that the arguments of ``add_fit_options`` describe."""
    from halftrek.cli.inputs import data_source
    from halftrek.workflow import fit

    with data_source(args.data) as source:
        return fit(graph, source, method=args.method, noise=args.noise, missing=args.missing, weights=args.weights)


def run(args: argparse.Namespace) -> int:
    """Prints the fit."""
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.reporting.records import fit_record, to_json
    from halftrek.reporting.text import summarize_fit

    refuse_two_standard_inputs(args.graph, args.data)
    result = fit_as_told(read_graph(args.graph), args)
    print(to_json(fit_record(result)) if args.json else summarize_fit(result))
    return DONE if result.converged else NOT_CONVERGED
