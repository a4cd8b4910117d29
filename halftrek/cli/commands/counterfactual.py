"""``halftrek counterfactual``: what would have been, for one unit or for each row of a table."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, TextIO

from halftrek.cli.options import (
    DATA_HELP,
    GRAPH_HELP,
    add_command,
    add_data,
    add_files,
    add_fit,
    add_table,
    add_uncertainty,
)

if TYPE_CHECKING:
    from halftrek.cli.options import Commands
    from halftrek.reporting.plots.columns import Entry
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_EXAMPLE = "halftrek counterfactual tal_or tal_or --do cond=1 --outcome reaction --unit cond=0,pmi=4.5,reaction=2"
_MOST_SHOWN = 20  # rows on a terminal


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands,
        "counterfactual",
        run,
        summary="what the outcome would have been, for one unit or for each row of a table",
        example=_EXAMPLE,
    )
    parser.usage = (
        "halftrek counterfactual [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) --do X=1 --outcome Y"
    )
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    parser.add_argument(
        "--do",
        metavar="X=1",
        action="append",
        required=True,
        help="what is changed: x=1, x+=1, x-=1, x*=2, or x=COLUMN of the rows; may be repeated",
    )
    parser.add_argument("--outcome", metavar="Y", action="append", required=True, help="may be repeated")
    parser.add_argument("--unit", metavar="X=0,Y=2", help="one unit: what was seen of it")
    parser.add_argument("--rows", metavar="FILE", help=f"units in a table, if not the data: {DATA_HELP}")
    add_table(parser)
    add_fit(parser)
    add_files(parser, analysis=False)
    add_data(parser, words)
    add_uncertainty(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the answer for one unit, or writes a table with a row for each unit."""
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.fitting import ended, fitted, refused
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import refuse_existing
    from halftrek.errors import InputError, NotIdentifiedError
    from halftrek.results.answers import Answer

    if args.unit is not None and (args.rows is not None or args.out is not None):
        raise InputError("--unit is one unit, whose answer is printed; --rows and --out are for tables")
    if args.unit is not None and args.unidentified != "raise":
        raise InputError(f"--unidentified {args.unidentified} is for the rows of a table; with --unit leave it out")
    if args.unit is None and args.rows is None and args.cov is not None:
        raise InputError("say whose outcome is asked for: --unit x=0,y=2 or --rows FILE")
    writer_of(args.out)
    analysis = analysis_of(args)
    refuse_two_standard_inputs(args.graph, args.data, args.rows)
    refuse_existing(args.force, args.out)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    with fitted(analysis, graph) as result:
        try:
            found = _asked(result, args)
        except NotIdentifiedError as error:
            return refused(error, args.json)
    if isinstance(found, Answer):
        _print_answer(found, args.json)
    else:
        write_table(found, args)
    return ended(result)


def _asked(fit: Fit, args: argparse.Namespace) -> object:
    from halftrek.cli.analysis import analysis_of, uncertainty_options
    from halftrek.cli.inputs import assignments, is_number, needs_number, opened_rows
    from halftrek.cli.output import for_command_line
    from halftrek.inference.evidence.rows_behind import in_numbers

    sure = uncertainty_options(analysis_of(args).uncertainty)
    do = {name: held_at(sign, value) for text in args.do for name, sign, value in assignments(text, "--do")}
    if args.unit is not None:
        given = {name: value for name, _, value in assignments(args.unit, "--unit")}
        unit = in_numbers(fit, {name: float(x) if is_number(x) else x for name, x in given.items()})
        for name in (name for name, x in unit.items() if isinstance(x, str)):
            raise needs_number("--unit", name, f"={given[name]}")
        return for_command_line(fit.counterfactual(unit, do, args.outcome, **sure))
    if args.rows is None:
        assert fit.rows is not None  # only a covariance has none
        return fit.counterfactual(fit.rows.source, do, args.outcome, unidentified=args.unidentified, **sure)
    with opened_rows(args.rows) as rows:
        return fit.counterfactual(rows, do, args.outcome, unidentified=args.unidentified, **sure)


def held_at(sign: str, value: str) -> float | str:
    """A number, a column's name, or a change such as "+1"."""
    from halftrek.errors import InputError

    try:
        number = float(value)
    except ValueError:
        if sign == "=":
            return value
        raise InputError(f"--do: a change needs a number, for instance x{sign}1, not {value!r}") from None
    if sign == "=":
        return number
    if sign == "/=":
        if number == 0.0:
            raise InputError("--do: nothing can be divided by 0")
        return f"*{1.0 / number!r}"
    if number < 0.0 and sign in ("+=", "-="):
        return f"{'-' if sign == '+=' else '+'}{-number!r}"
    return f"{sign[0]}{number!r}"


def _print_answer(found: Answer, as_json: bool) -> None:
    from halftrek.cli.output import show, show_json
    from halftrek.reporting.records import answer_record
    from halftrek.reporting.text import describe_answer

    if as_json:
        show_json(answer_record(found))
    else:
        show(describe_answer(found))


def write_table(frame: object, args: argparse.Namespace) -> None:
    """To a file; or on standard output: CSV for a program, a table with the first rows for a person."""
    from halftrek.cli.output import show, show_json
    from halftrek.reporting.plots.columns import columns_in
    from halftrek.reporting.tables import table

    columns = columns_in(frame, "the table")
    count = len(next(iter(columns.values())))
    columns = {"row": list(range(1, count + 1)), **columns}  # a variable of this name takes its place
    rows = list(zip(*columns.values(), strict=True))
    if args.out is not None:
        writer_of(args.out)(columns, args.out, args.force)
    if args.json:
        show_json(
            {"do": args.do, "outcome": args.outcome or [], "columns": list(columns), "rows": rows, "file": args.out}
        )
    elif args.out is not None:
        show(f"{len(rows):,} rows: {args.out}")
    elif sys.stdout.isatty():
        more = (
            f"\n\n  and {len(rows) - _MOST_SHOWN:,} more rows: --out FILE writes all" if len(rows) > _MOST_SHOWN else ""
        )
        show(table(tuple(columns), rows[:_MOST_SHOWN]) + more)
    else:
        _csv(sys.stdout, columns)


def writer_of(path: str | None) -> Callable[[dict[str, list[Entry]], str, bool], None]:
    """What writes a file of that ending."""
    from halftrek.errors import OutputError

    if path is None or path.endswith(".csv"):
        return _write_csv
    if path.endswith((".parquet", ".pq")):
        return _write_parquet
    raise OutputError(f"{path!r} has an unknown ending; known are .csv, .parquet and .pq")


def _write_csv(columns: dict[str, list[Entry]], path: str, force: bool) -> None:
    from halftrek.bottom.files import whole_file

    with whole_file(path, overwrite=force) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as out:
        _csv(out, columns)


def _csv(out: TextIO, columns: dict[str, list[Entry]]) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(["" if value is None or value != value else value for value in row])


def _write_parquet(columns: dict[str, list[Entry]], path: str, force: bool) -> None:
    from halftrek.bottom.files import whole_file
    from halftrek.errors import MissingExtraError

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("writing Parquet files", "sql") from None
    with whole_file(path, overwrite=force) as unfinished:
        pyarrow.parquet.write_table(pyarrow.table(columns), unfinished)
