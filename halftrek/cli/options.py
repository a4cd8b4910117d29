"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, get_args

from halftrek.bottom.choices import Divisor, Ends, Interval, LavaanFunction, Method, Missing, Unidentified

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

GRAPH_HELP = (
    "file (text, or a saved model or fit), name of the catalog or of a bundled data set, '-' for standard input, "
    "or the graph itself"
)
DATA_HELP = "CSV, Parquet or Arrow file, name of a bundled data set, or '-' for standard input"
QUESTION_HELP = "for instance 'P(y | do(x=1))' or 'x ~> y'"
INTERVALS = get_args(Interval)
_ELSEWHERE = ("--sql", "--cov")


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
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON (see: halftrek schema)")
    parser.add_argument("--debug", action="store_true", help="show where an error happened")
    parser.set_defaults(run=run)
    return parser


def add_data(parser: argparse.ArgumentParser, words: Collection[str], *, option: bool = False) -> None:
    """DATA, which is left out where ``--sql`` or ``--cov`` says where the data are, and these options.

    argparse cannot leave out an argument in the middle, so it is told beforehand which words there are.
    """
    group = parser.add_argument_group("data")
    if option:
        group.add_argument("--data", metavar="DATA", help=DATA_HELP)
    elif has(words, *_ELSEWHERE):
        parser.set_defaults(data=None)
    else:
        parser.add_argument("data", metavar="DATA", help=f"{DATA_HELP}; left out with --sql or --cov")
    group.add_argument("--sql", metavar="QUERY", help="rows of a DuckDB query: \"select * from 'rows.parquet'\"")
    add_connect(group, "with --sql: the database")
    group.add_argument("--cov", metavar="FILE", help="a covariance matrix as text, full or its lower triangle")
    group.add_argument("--n", type=float, metavar="ROWS", help="with --cov: the number of rows behind it")
    group.add_argument("--means", metavar="X=1,Y=2", help="with --cov: the means, if they are known")
    group.add_argument(
        "--divisor", choices=get_args(Divisor), default="n", help="with --cov: what sums were divided by (default: n)"
    )
    group.add_argument(
        "--missing",
        choices=get_args(Missing),
        default="fiml",
        help="rows with missing values: use what they have, leave them out, or refuse (default: fiml)",
    )
    group.add_argument("--weights", metavar="COLUMN", help="column that says how many rows a row counts for")
    group.add_argument(
        "--sampling-weights", metavar="COLUMN", help="column of survey weights, of which only the ratios matter"
    )
    group.add_argument(
        "--categories",
        action="append",
        metavar="COLUMN=LEVEL",
        help="make indicators of a column of texts, compared with this level; may be repeated",
    )
    group.add_argument(
        "--kind",
        action="append",
        dest="kinds",
        metavar="COLUMN=KIND",
        help="what a column is: ordered, ranked, behind or acts; with the levels of a text, ordered:low<mid<high; may "
        "be repeated",
    )
    group.add_argument("--cluster", metavar="COLUMN", help="column that says which rows belong together")


def add_connect(parser: argparse._ActionsContainer, where: str) -> None:
    """The database of an SQL query; without it, DuckDB reads files."""
    parser.add_argument(
        "--connect",
        metavar="ADDRESS",
        help=f"{where}, as postgres://user@host/base, sqlite:///rows.db, duckdb://rows, or sc://host for Spark",
    )


def add_lavaan(parser: argparse.ArgumentParser) -> None:
    """How a graph in lavaan's syntax is read."""
    group = parser.add_argument_group("a graph in lavaan's syntax")
    group.add_argument(
        "--lavaan", choices=get_args(LavaanFunction), help="read it as this function of lavaan does, with its defaults"
    )
    group.add_argument("--std-lv", action="store_true", help="with --lavaan: factors of variance 1, as std.lv = TRUE")
    group.add_argument("--orthogonal", action="store_true", help="with --lavaan: factors that do not covary")


def add_fit(parser: argparse.ArgumentParser) -> None:
    """What may be chosen about a fit, and how its graph is read."""
    add_lavaan(parser)
    parser.add_argument(
        "--method",
        choices=get_args(Method),
        default="em",
        help="exact and fast, or the paper's Algorithm 1 (default: em)",
    )
    parser.add_argument(
        "--noise", choices=("free", "unit"), help="noise variances estimated, or all one (default: free; cgl-go: unit)"
    )


def add_uncertainty(parser: argparse.ArgumentParser) -> None:
    """Where intervals come from."""
    group = parser.add_argument_group("uncertainty")
    words = "where it comes from (default: what suits the rows and the question)"
    group.add_argument("--interval", choices=INTERVALS, help=words)
    group.add_argument("--level", type=share, default=0.95, help="of the interval (default: 0.95)")
    group.add_argument("--replicates", type=whole(2), default=1000, help="of a bootstrap (default: 1000)")
    group.add_argument(
        "--ends", choices=get_args(Ends), default="percentile", help="of a bootstrap (default: percentile)"
    )
    group.add_argument("--random-state", type=whole(0), default=0, metavar="SEED", help="of a bootstrap (default: 0)")


def add_table(parser: argparse.ArgumentParser) -> None:
    """Where a table with a line for each row goes, and what becomes of rows without an answer."""
    parser.add_argument("--out", metavar="FILE", help="write the table to a .csv or .parquet file")
    parser.add_argument(
        "--unidentified",
        choices=get_args(Unidentified),
        default="raise",
        help="rows without an answer: stop, or leave them empty (default: raise)",
    )


def add_files(parser: argparse.ArgumentParser, *, analysis: bool = True) -> None:
    """Files to write beside what is printed."""
    if analysis:
        parser.add_argument("--write-analysis", metavar="FILE", help="write the choices to a file for: halftrek run")
    parser.add_argument("--force", action="store_true", help="write over files that exist")


def add_outside(parser: argparse.ArgumentParser) -> None:
    """An analysis file may have come from somebody else."""
    parser.add_argument(
        "--outside", action="store_true", help="let the analysis file read and write files outside its folder"
    )


def has(words: Collection[str], *options: str) -> bool:
    """True if one of the options stands among the words, also as ``--option=value``."""
    return any(word == o or word.startswith(o + "=") for word in words for o in options)


def share(text: str) -> float:
    """A number between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1; give for instance 0.95")
    return number


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
