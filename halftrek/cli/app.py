"""The way from the command line's words to an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from halftrek.cli import (
    compare,
    completion,
    convert,
    counterfactual,
    demo,
    effect,
    fit,
    identify,
    report,
    reproduce,
    run,
    schema,
    simulate,
)
from halftrek.cli.exits import BAD_INPUT, DONE, INTERNAL, INTERRUPTED, NOT_CONVERGED, NOT_IDENTIFIED, PIPE_CLOSED
from halftrek.cli.output import as_options, page_columns, prepare_streams, say
from halftrek.errors import ConvergenceError, HalftrekError, NotIdentifiedError, printable
from halftrek.reporting.tables import page

_DESCRIPTION = """\
Causal effects in linear models with hidden confounders:
can it be known, what is it, how sure are we?

GRAPH is a file, a catalog name (front-door, napkin, ...), '-' for standard
input, or the graph itself: 'x -> m -> y; x <-> y'.
DATA is a CSV, Parquet or Arrow file, a bundled data set (card, mroz, tal_or,
airquality, ...), or '-' for standard input; --sql and --cov are other ways."""

_EXITS = "exit codes: 0 done, 2 bad usage or input, 3 not identified (or only up to several values), 4 did not converge"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        usage = f"usage: {self.usage}\n" if self.usage else ""
        self.exit(BAD_INPUT, f"{self.prog}: error: {printable(message)}\n{usage}{self.prog} --help explains.\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> NoReturn:
        from importlib.metadata import version

        print(f"halftrek {version('halftrek')}")
        parser.exit(DONE)


_COMMANDS = (
    demo, reproduce, identify, fit, effect, counterfactual, compare, report, run, simulate, convert, completion, schema,
)  # fmt: skip


def build_parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser with all commands; each command's module adds its own, in view of the words to parse."""
    parser = _Parser(
        prog="halftrek",
        description=_DESCRIPTION,
        epilog=_EXITS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and stop")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for module in _COMMANDS:
        module.add_to(commands, words)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    prepare_streams()
    try:
        parser = build_parser(words)
        args, unknown = parser.parse_known_args(words)
        if unknown:  # said by the command, which knows its usage
            completion.commands_of(parser)[args.command].error(f"unrecognized arguments: {' '.join(unknown)}")
    except SystemExit as stop:  # argparse has printed what there is to say
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    try:
        with page(page_columns()):
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
        say(
            f"internal error: {type(error).__name__}: {error}\n"
            "This is a defect of halftrek; --debug shows where it happened."
        )
        return INTERNAL
    say(f"error: {as_options(str(error))}")
    return code
