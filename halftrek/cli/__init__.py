"""The command line: reads words, calls the workflow, prints what reporting makes of it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    Without words it is the program itself, which then also answers for the process: its signals and its streams.
    """
    if argv is None:
        try:
            from halftrek.cli.process import run_program

            return run_program()
        except KeyboardInterrupt:  # before anything could listen
            return 130
    from halftrek.cli.app import run_words

    return run_words(argv)
