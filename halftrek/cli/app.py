"""The way from the command line's words to an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from halftrek.cli import convert, demo, effect, fit, identify, reproduce, simulate
from halftrek.cli.exits import BAD_INPUT, DONE, INTERNAL, INTERRUPTED, NOT_CONVERGED, NOT_IDENTIFIED, PIPE_CLOSED
from halftrek.errors import ConvergenceError, HalftrekError, NotIdentifiedError

_DESCRIPTION = """\
Causal effects in linear models with hidden confounders:
can it be known, what is it, how sure are we?

GRAPH is a file, a catalog name (front-door, napkin, ...), '-' for standard
input, or the graph itself: 'x -> m -> y; x <-> y'.
DATA is a CSV or Parquet file, or '-' for standard input."""

_EXITS = "exit codes: 0 done, 2 bad usage or input, 3 not identified (or only up to several values), 4 did not converge"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message}\n{self.prog} --help explains.\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> NoReturn:
        from importlib.metadata import version

        print(f"halftrek {version('halftrek')}")
        parser.exit(DONE)


def build_parser() -> argparse.ArgumentParser:
    """The parser with all commands; each command's module adds its own."""
    parser = _Parser(
        prog="halftrek", description=_DESCRIPTION, epilog=_EXITS, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for module in (demo, reproduce, identify, fit, effect, simulate, convert):
        module.add_to(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed what there is to say
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has gone, as in `| head`. What Python still holds for it must not be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except KeyboardInterrupt:
        print("halftrek: stopped", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if args.debug:
            traceback.print_exc()
        return _report(error)


def _report(error: Exception) -> int:
    if isinstance(error, NotIdentifiedError):
        code = NOT_IDENTIFIED
    elif isinstance(error, ConvergenceError):
        code = NOT_CONVERGED
    elif isinstance(error, (HalftrekError, OSError)):
        code = BAD_INPUT
    else:
        print(
            f"halftrek: internal error: {type(error).__name__}: {error}\n"
            "This is a defect of halftrek; --debug shows where it happened.",
            file=sys.stderr,
        )
        return INTERNAL
    print(f"halftrek: error: {_as_options(str(error))}", file=sys.stderr)
    return code


def _as_options(message: str) -> str:
    """Advice that is written for Python, in the words of the command line."""
    for python, option in (('missing="drop"', "--missing drop"), ("; give syntax=... if it is another", "")):
        message = message.replace(python, option)
    return message
