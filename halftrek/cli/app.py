"""The way from the command line's words to an exit code."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from halftrek.cli.commands import (
    bounds,
    compare,
    counterfactual,
    effect,
    fit,
    identify,
    instruments,
    predict,
    report,
    run,
    sensitivity,
    together,
)
from halftrek.cli.commands.tools import completion, convert, demo, reproduce, schema, serve, simulate
from halftrek.cli.exits import BAD_INPUT, DONE, INTERNAL, NOT_CONVERGED, NOT_IDENTIFIED, PIPE_CLOSED
from halftrek.cli.output import as_options, page_columns, prepare_streams
from halftrek.cli.process import exit_code, let_go_of_streams, say, say_stopped, was_told_to_stop
from halftrek.errors import ConvergenceError, HalftrekError, NotIdentifiedError, printable
from halftrek.reporting.tables import page

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

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

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Without argparse's habit of not noticing that nobody can read it."""
        (sys.stderr if file is None else file).write(message)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_rest: object) -> NoReturn:
        from importlib.metadata import version

        print(f"halftrek {version('halftrek')}")
        parser.exit(DONE)


_COMMANDS = (
    demo, reproduce, identify, fit, effect, instruments, sensitivity, bounds, counterfactual, predict, compare,
    together, report, run, serve, simulate, convert, completion, schema,
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


def run_words(argv: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    words = list(argv)
    prepare_streams()
    debug = False
    try:
        args = _parsed(words)
        if isinstance(args, int):
            sys.stdout.flush()
            return args
        debug = args.debug
        with page(page_columns()):
            code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has gone, as in `| head`
        let_go_of_streams()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return _stopped()
    except Exception as error:
        if was_told_to_stop():
            return _stopped()
        if debug:
            traceback.print_exc()
        code = _report(error)
        let_go_of_streams()
        return code


def _parsed(words: list[str]) -> argparse.Namespace | int:
    """The words, or the exit code of a request that is answered by reading them."""
    try:
        parser = build_parser(words)
        args, unknown = parser.parse_known_args(words)
        if unknown:  # said by the command, which knows its usage
            completion.commands_of(parser)[args.command].error(f"unrecognized arguments: {' '.join(unknown)}")
        return args
    except SystemExit as stop:  # argparse has printed what there is to say
        return stop.code if isinstance(stop.code, int) else BAD_INPUT


def _stopped() -> int:
    say_stopped()
    let_go_of_streams()
    return exit_code()


def _for_the_shell(text: str, error: NotIdentifiedError) -> str:
    """A refusal with lines for the command line in the place of those for Python."""
    if error.answer is None:
        return text.replace(error.verdict.explain(), error.verdict.explain(front="command line"))
    from halftrek.results.words.explanation import explain

    return text.replace(error.answer.explain(), explain(error.answer, front="command line"))


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
    text = str(error)
    if (
        isinstance(error, NotIdentifiedError) and error.verdict is not None
    ):  # its lines are for Python; here they are for the shell
        text = _for_the_shell(text, error)
    if isinstance(error, OSError) and not isinstance(error, HalftrekError) and error.filename is None:
        text = f"cannot write to standard output: {error.strerror or error}"
    say(f"error: {as_options(text)}")
    return code
