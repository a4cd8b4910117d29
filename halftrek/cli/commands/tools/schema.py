"""``halftrek schema``: what ``--json`` prints, as JSON Schema."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE
from halftrek.cli.options import add_command
from halftrek.cli.schemas import SCHEMAS

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek schema effect"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(commands, "schema", run, summary="print what --json gives, as JSON Schema", example=_EXAMPLE)
    parser.add_argument("name", metavar="NAME", choices=tuple(SCHEMAS), help="a command: " + ", ".join(SCHEMAS))


def run(args: argparse.Namespace) -> int:
    """Prints the schema."""
    from halftrek.cli.output import show_json

    show_json(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"halftrek {args.name} --json",
            **SCHEMAS[args.name],
        }
    )
    return DONE
