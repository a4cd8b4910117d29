"""``halftrek serve``: the page, in the browser."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE
from halftrek.cli.options import DATA_HELP, GRAPH_HELP, add_command

if TYPE_CHECKING:
    from pathlib import Path

    from halftrek.cli.options import Commands
    from halftrek.web.work.bench import Source

_EXAMPLE = "halftrek serve front_door front_door"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands, "serve", run, summary="open a page to draw a graph, ask, drop a file, see", example=_EXAMPLE
    )
    parser.add_argument("graph", metavar="GRAPH", nargs="?", help=GRAPH_HELP)
    parser.add_argument("data", metavar="DATA", nargs="?", help=DATA_HELP)
    parser.add_argument("--port", metavar="N", type=_port, help="where the page is (default: 8717, or a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and open no browser")


def run(args: argparse.Namespace) -> int:
    """Serves until it is told to stop, which is how it ends."""
    from halftrek.bottom.files import temporary_folder
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import show, show_json
    from halftrek.cli.process import forget_signal
    from halftrek.web.page import serve, start_with

    refuse_two_standard_inputs(args.graph, args.data)
    graph = None if args.graph is None else read_graph(args.graph)
    with ExitStack() as files:
        folder = files.enter_context(temporary_folder())
        source = files.enter_context(_source(args.data, folder))
        start = start_with(graph, source, _question(args.graph, args.data))
        page = serve(start, folder, files.pop_all(), port=args.port, debug=args.debug)
    try:
        with page:
            if args.json:
                show_json({"address": page.address, "port": page.port})
            else:
                show(f"halftrek's page: {page.address}\nCtrl-C ends it.")
            if not args.no_browser:
                page.show()
            page.wait()
    except KeyboardInterrupt:  # the usual end, and no failure
        forget_signal()
    return DONE


@contextmanager
def _source(data: str | None, folder: Path) -> Iterator[Source | None]:
    """Where the data are that the command line names; standard input is there until the page ends."""
    from halftrek.cli.inputs import opened_rows
    from halftrek.web.page import source_of

    if data is None:
        yield None
        return
    if _is_bundled(data):
        yield {"id": "start", "kind": "bundled", "name": data}
        return
    with opened_rows(data) as rows:
        yield source_of(rows, None, folder)


def _is_bundled(name: str) -> bool:
    from pathlib import Path

    from halftrek.examples import dataset

    return name in dataset() and not Path(name).exists()


def _question(graph: str | None, data: str | None) -> str | None:
    """What a bundled data set asks of its own graph."""
    from halftrek.examples import dataset

    if graph is None or graph != data or not _is_bundled(graph):
        return None
    return dataset(graph).question


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; choose one from 1024 to 65535")
    return int(text)
