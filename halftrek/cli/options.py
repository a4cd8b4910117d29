"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

GRAPH_HELP = "file, catalog name, '-' for standard input, or the graph itself"
DATA_HELP = "CSV or Parquet file, or '-' for standard input"
QUESTION_HELP = "for instance 'P(y | do(x=1))' or 'x ~> y'"


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], *, summary: str, example: str
) -> argparse.ArgumentParser:
    """A command with ``--json`` and ``--debug`` whose help ends with an example."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--debug", action="store_true", help="show where an error happened")
    parser.set_defaults(run=run)
    return parser


def whole(least: int) -> Callable[[str], int]:
    """A reader of whole numbers that are not below ``least``."""

    def read(text: str) -> int:
        try:
            number = int(text.replace("_", "").replace(",", ""))
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < least:
            raise argparse.ArgumentTypeError(f"{text} is too small; the least is {least}")
        return number

    return read
