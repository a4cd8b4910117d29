"""``halftrek compare``: several graphs fitted to the same data, side by side."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_CONVERGED
from halftrek.cli.options import GRAPH_HELP, QUESTION_HELP, add_command, add_data, add_fit, share

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = (
    "halftrek compare tal_or 'cond -> pmi -> reaction' --names full,mediated --data tal_or --question 'pmi -> reaction'"
)


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands, "compare", run, summary="fit several graphs to the same data, side by side", example=_EXAMPLE
    )
    parser.usage = "halftrek compare [options] GRAPH GRAPH ... (--data DATA | --sql QUERY | --cov FILE --n ROWS)"
    parser.add_argument("graphs", metavar="GRAPH", nargs="+", help=GRAPH_HELP)
    parser.add_argument("--names", metavar="A,B", help="names of the models, in the order of the graphs")
    parser.add_argument("--question", metavar="QUESTION", help=f"a question to ask of each: {QUESTION_HELP}")
    parser.add_argument("--level", type=share, default=0.95, help="of the intervals (default: 0.95)")
    add_fit(parser)
    add_data(parser, words, option=True)


def run(args: argparse.Namespace) -> int:
    """Prints likelihoods, criteria, tests of nested models, and the question under each model."""
    from halftrek.cli.analysis import Fitting, analysis_of
    from halftrek.cli.inputs import opened_data, read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import show, show_json
    from halftrek.comparison import compare
    from halftrek.results.workflow import fit

    names = _names(args)
    analysis = analysis_of(args)
    refuse_two_standard_inputs(*args.graphs, args.data)
    graphs = {name: read_graph(source, lavaan=analysis.lavaan) for name, source in zip(names, args.graphs, strict=True)}
    how: Fitting = analysis.fit
    with opened_data(analysis) as options:
        fits = {name: fit(graph, **options, method=how.method, noise=how.noise) for name, graph in graphs.items()}
        found = compare(fits, None, args.question, level=args.level)
    if args.json:
        show_json({**found.to_dict(), "question": args.question})
    else:
        show(str(found))
    return DONE if all(one.converged for one in fits.values()) else NOT_CONVERGED


def _names(args: argparse.Namespace) -> list[str]:
    """The names given; else of files and catalog entries their own, of texts their number."""
    from halftrek.errors import InputError

    if len(args.graphs) < 2:
        raise InputError("give at least two graphs to compare")
    if args.names is not None:
        names = [name.strip() for name in args.names.split(",")]
        if len(names) != len(args.graphs) or len(set(names)) < len(names) or not all(names):
            raise InputError(
                f"--names needs {len(args.graphs)} different names with commas between, not {args.names!r}"
            )
        return names
    names = []
    for k, source in enumerate(args.graphs, start=1):
        plain = len(source) < 60 and not set(source) & set("<>~;={} \n")
        name = Path(source).stem if plain and source != "-" else f"model {k}"
        names.append(f"{name} ({k})" if name in names else name)
    return names
