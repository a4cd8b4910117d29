"""How text leaves the program: page width, colour only where it helps, plain letters where others cannot be shown."""

from __future__ import annotations

import codecs
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from halftrek.errors import UNSHOWN, OutputError, printable

if TYPE_CHECKING:
    from halftrek.results.answers import Answer
    from halftrek.upward import Faces

_LEAST_WIDTH, _MOST_WIDTH = 40, 80
_PLAIN = {
    "·": "*", "×": "x", "−": "-", "–": "-", "—": "-", "…": "...", "→": "->", "←": "<-", "↔": "<->", "≤": "<=",
    "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf", "“": '"', "”": '"', "‘": "'", "’": "'", "•": "-", "√": "sqrt",
    "χ": "chi", "β": "beta", "σ": "sigma", "Σ": "Sigma", "τ": "tau", "ω": "omega", "Ω": "Omega", "μ": "mu",
    "λ": "lambda", "ψ": "psi", "⊥": "_|_", "∈": "in", "∪": "or", "∩": "and",
}  # fmt: skip
_STYLES = (
    (r"^ *-{3,}[- ]*$", "dim"),  # the rule under a table's head
    (r"^\S.*$", "bold"),  # titles stand at the margin
    (r"\bnot identified\b|\bcontradicted by the data\b|\bsmaller contradicted\b", "bold red"),
    (r"(?<!not )\bidentified\b", "green"),
    (r"^ *warning\b:?", "yellow"),
)


def page_columns() -> int:
    """The width to write for: the terminal's, within reason; 80 where there is none."""
    return max(_LEAST_WIDTH, min(_MOST_WIDTH, shutil.get_terminal_size((_MOST_WIDTH, 24)).columns))


def prepare_streams() -> None:
    """Characters that a terminal's encoding cannot show are written in plain letters instead of failing."""
    codecs.register_error("halftrek-plain", _plain_letters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and "utf" not in (stream.encoding or "").lower():
            stream.reconfigure(errors="halftrek-plain")


def _plain_letters(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(map(_plain_letter, bad)), error.end


def _plain_letter(letter: str) -> str:
    if letter in _PLAIN:
        return _PLAIN[letter]
    return unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode() or "?"


def show(text: str) -> None:
    """Prints text; with colours if standard output is a terminal that wants them and rich is installed.

    Names come from files, so that what a terminal would obey is written as an escape, wherever the text goes.
    """
    text = printable(text)
    if not _colours_wanted():
        print(text)
        return
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        print(text)
        return
    styled = Text(text)
    for pattern, style in _STYLES:
        for found in re.finditer(pattern, text, re.MULTILINE):
            styled.stylize(style, *found.span())
    Console(highlight=False, soft_wrap=True).print(styled)


def _colours_wanted() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in (None, "", "dumb")


def show_whole(text: str) -> None:
    """Prints text that another program may read: as it is, or with escapes if it goes to a terminal."""
    print(printable(text) if sys.stdout.isatty() else text)


def show_result(found: Faces, json: bool) -> None:
    """Prints a result, as JSON if that was asked for."""
    if json:
        show_json(found.to_dict())
    else:
        show(found.summary())


def show_json(record: Mapping[str, object]) -> None:
    """Prints a record as JSON; in an encoding that lacks some letters they are escaped, so that none is lost."""
    from halftrek.reporting.records import to_json

    text = re.sub(UNSHOWN, _escaped, to_json(record))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = re.sub(r"[^\x00-\x7f]", _escaped, text)
    print(text)


def _escaped(found: re.Match[str]) -> str:
    pair = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pair[k]:02x}{pair[k + 1]:02x}" for k in range(0, len(pair), 2))


_ADVICE = (
    ('missing="drop"', "--missing drop"),
    ("missing='drop'", "--missing drop"),
    ("; give syntax=... if it is another", ""),
    ('interval="delta"', "--interval delta"),
    ('interval="bootstrap"', "--interval bootstrap"),
    ('interval="influence"', "--interval influence"),
    ("overwrite=True", "--force"),
)


def as_options(message: str) -> str:
    """Advice that is written for Python, in the words of the command line."""
    for python, option in _ADVICE:
        message = message.replace(python, option)
    message = re.sub(r"kinds=\{'(.+?)': '(.*?)'\}", r"--kind '\1=\2'", message)
    message = re.sub(r"kinds=\{'(.+?)': \[\.\.\.\]\}", r"--kind '\1=ordered:low<mid<high'", message)
    message = re.sub(r"categories=\{'(.+?)': '(.*?)'\}", r"--categories '\1=\2'", message)
    return re.sub(r"\bsampling_weights='(.+?)'", r"--sampling-weights \1", message)


def for_command_line(answer: Answer) -> Answer:
    """The answer with its warnings in the words of the command line."""
    crude = None if answer.crude is None else for_command_line(answer.crude)
    return replace(answer, notes=tuple(n.for_front("command line") for n in answer.notes), crude=crude)


def refuse_existing(force: bool, *paths: str | os.PathLike[str] | None) -> None:
    """Places to write to: an existing file is not written over unless that was asked for; none is named twice.

    Said before the work, not after it.
    """
    from halftrek.bottom.files import check_place, own_stream

    named: set[str] = set()
    for path in paths:
        if path is None:
            continue
        said = os.fspath(path)
        if not force and Path(path).is_file() and own_stream(path) is None:
            raise OutputError(f"{said!r} exists already; --force writes over it, or name another file")
        check_place(path, overwrite=True)
        if own_stream(path) is None and not _is_stream(path):
            real = os.path.realpath(path)
            if real in named:
                raise OutputError(f"{said!r} is named for two results; name a file for each of them")
            named.add(real)


def _is_stream(path: str | os.PathLike[str]) -> bool:
    return Path(path).exists() and not Path(path).is_file()
