"""``halftrek reproduce``: the paper's two experiments and a study of the estimator over many samples."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE
from halftrek.cli.options import add_command, whole

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek reproduce --rows 200 --replicates 2 --output output"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands,
        "reproduce",
        run,
        summary="repeat the paper's experiments: tables, matrices, a figure",
        example=_EXAMPLE,
    )
    parser.add_argument(
        "--rows", type=whole(10), default=10_000, help="rows of each sample (default: 10000, the paper's)"
    )
    parser.add_argument("--replicates", type=whole(2), default=200, help="samples in the study (default: 200)")
    parser.add_argument("--seed", type=whole(0), default=0, help="the same seed gives the same samples (default: 0)")
    parser.add_argument("--output", metavar="DIR", default="output", help="folder for the figure (default: output)")
    parser.add_argument("--force", action="store_true", help="write over a figure that halftrek did not write")


def run(args: argparse.Namespace) -> int:
    """Prints the tables and writes the figure."""
    from halftrek.bottom.files import check_place, output_folder
    from halftrek.cli.output import show, show_json
    from halftrek.reporting import progress_bar, save
    from halftrek.reproduction import run as reproduce
    from halftrek.reproduction.figure import figure

    place = output_folder(args.output) / "reproduce.png"
    check_place(place, overwrite=args.force)  # before the work, not after it
    with progress_bar("Samples") as advance:
        result = reproduce(random_state=args.seed, rows=args.rows, replicates=args.replicates, progress=advance)
    if args.json:
        show_json(result.to_dict())
    else:
        show(result.to_text())
    sys.stdout.flush()
    picture = save(figure(result), place, overwrite=args.force)
    print(f"Figure: {picture}", file=sys.stderr if args.json else sys.stdout)
    return DONE
