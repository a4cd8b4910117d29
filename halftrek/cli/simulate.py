"""``halftrek simulate``: rows from a model of the catalog, or from random weights on a graph."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from halftrek.cli.exits import DONE
from halftrek.cli.options import GRAPH_HELP, add_command, whole

if TYPE_CHECKING:
    from numpy.random import Generator

    from halftrek.cli.options import Commands
    from halftrek.model import CGLSCM

_EXAMPLE = "halftrek simulate napkin -n 5 --seed 1"
_CHUNK = 20_000  # rows at a time, so that any number of rows fits into memory


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(commands, "simulate", run, summary="draw rows from a model, as CSV", example=_EXAMPLE)
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP + "; a graph without weights gets random ones")
    parser.add_argument(
        "-n", "--rows", type=whole(1), default=1000, metavar="ROWS", help="number of rows (default: 1000)"
    )
    parser.add_argument("--seed", type=whole(0), help="the same seed gives the same rows")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")
    parser.add_argument("--force", action="store_true", help="write over a file that exists")


def run(args: argparse.Namespace) -> int:
    """Writes the rows."""
    import numpy as np

    from halftrek.cli.output import refuse_existing

    refuse_existing(args.output, args.force)
    rng = np.random.default_rng(args.seed)
    model = _model(args.graph, rng)
    with _opened(args.output) as out:
        if args.json:
            from halftrek.reporting.records import to_json

            rows = model.sample(args.rows, rng)
            out.write(to_json({"names": list(model.names), "rows": np.asarray(rows)}) + "\n")
        else:
            _write_csv(model, args.rows, rng, out)
    return DONE


def _model(source: str, rng: Generator) -> CGLSCM:
    from halftrek.cli.inputs import find_entry, read_graph
    from halftrek.simulation import random_model

    known = find_entry(source)
    return random_model(read_graph(source), random_state=rng) if known is None else known.model


def _write_csv(model: CGLSCM, rows: int, rng: Generator, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(model.names)
    for start in range(0, rows, _CHUNK):
        writer.writerows(model.sample(min(_CHUNK, rows - start), rng).tolist())


@contextmanager
def _opened(path: str | None) -> Iterator[TextIO]:
    """Standard output, or a file that appears when it is complete."""
    if path is None:
        if "utf" not in (sys.stdout.encoding or "").lower():
            sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # names must come through whole
        yield sys.stdout
        return
    from halftrek.reporting.files import whole_file

    with whole_file(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as out:
        yield out
