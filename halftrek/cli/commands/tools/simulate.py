"""``halftrek simulate``: rows from a model of the catalog, or from random weights on a graph."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from halftrek.cli.exits import DONE
from halftrek.cli.options import GRAPH_HELP, add_command, whole

if TYPE_CHECKING:
    from numpy.random import Generator

    from halftrek.bottom.arrays import Array
    from halftrek.cli.options import Commands
    from halftrek.models import CGLSCM

_EXAMPLE = "halftrek simulate napkin -n 5 --seed 1"
_CHUNK = 20_000  # rows at a time, so that any number of rows fits into memory

_OTHERS = (".parquet", ".pq", ".feather", ".arrow", ".ipc", ".json", ".jsonl", ".xlsx", ".duckdb", ".db", ".gz")


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(commands, "simulate", run, summary="draw rows from a model, as CSV", example=_EXAMPLE)
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP + "; a graph without weights gets random ones")
    parser.add_argument(
        "-n", "--rows", type=whole(1), default=1000, metavar="ROWS", help="number of rows (default: 1000)"
    )
    parser.add_argument("--seed", type=whole(0), help="the same seed gives the same rows")
    parser.add_argument("-o", "--output", metavar="FILE", help="write CSV to a file instead of standard output")
    parser.add_argument("--force", action="store_true", help="write over a file that exists")


def run(args: argparse.Namespace) -> int:
    """Writes the rows."""
    import numpy as np

    from halftrek.cli.output import refuse_existing, show_json

    _refuse_other_formats(args.output)
    refuse_existing(args.force, args.output)
    rng = np.random.default_rng(args.seed)
    model = _model(args.graph, rng)
    if not args.json:
        with _opened(args.output, args.force) as out:
            _write_csv(model.names, _pieces(model, args.rows, rng), out)
        return DONE
    rows = model.sample(args.rows, rng)
    record = {"names": list(model.names), "rows": np.asarray(rows)}
    if args.output is not None:  # the file is CSV in any case; the record says where it is
        with _opened(args.output, args.force) as out:
            _write_csv(model.names, [rows], out)
        record["file"] = args.output
    show_json(record)
    return DONE


def _model(source: str, rng: Generator) -> CGLSCM:
    from halftrek.cli.inputs import find_entry, read_graph
    from halftrek.simulation import random_model

    known = find_entry(source)
    return random_model(read_graph(source), random_state=rng) if known is None else known.model


def _pieces(model: CGLSCM, rows: int, rng: Generator) -> Iterator[Array]:
    for start in range(0, rows, _CHUNK):
        yield model.sample(min(_CHUNK, rows - start), rng)


def _refuse_other_formats(place: str | None) -> None:
    """Rows are written as CSV; a file that says that it is something else would not be read again."""
    from pathlib import Path

    from halftrek.errors import OutputError

    ending = Path(place or "").suffix.lower()
    if ending in _OTHERS:
        raise OutputError(f"{place!r}: rows are written as CSV, not as {ending}; name a file that ends in .csv")


def _write_csv(names: Sequence[str], pieces: Iterable[Array], out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for piece in pieces:
        writer.writerows(piece.tolist())


@contextmanager
def _opened(path: str | None, force: bool) -> Iterator[TextIO]:
    """Standard output, or a file that appears when it is complete."""
    if path is None:
        if "utf" not in (sys.stdout.encoding or "").lower() and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")  # names must come through whole
        yield sys.stdout
        return
    from halftrek.bottom.files import whole_file

    with whole_file(path, overwrite=force) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as out:
        yield out
