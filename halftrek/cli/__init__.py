"""The command line: reads words, calls the workflow, prints what reporting makes of it."""

from halftrek.cli.app import main

__all__ = ["main"]
