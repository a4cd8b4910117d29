"""One file for one value: what it is, which format, a digest against damage, the content."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from halftrek.errors import HalftrekError, InputError
from halftrek.results.fit import Fit
from halftrek.results.groups import GroupFits
from halftrek.storage.codec import decode, encode
from halftrek.storage.kinds import names
from halftrek.storage.malformed import Malformed
from halftrek.storage.rows import with_rows

FORMAT = "halftrek"
VERSION = 1
DEEPEST = 200  # of lists and objects in one another
_HEAD = ("format", "version", "halftrek", "digest", "content")

# What turns the content of a file of one version into that of the next. A change of the format adds a line here and a
# file of the old version to tests/reference/saved, so that old files keep loading.
_MIGRATIONS: dict[int, Callable[[Any], Any]] = {}


def save(value: object, path: str | os.PathLike[str], *, rows: bool = False, overwrite: bool = False) -> Path:
    """Write a fit, a model, an answer, a verdict, a graph or moments as JSON, whole or not at all.

    The rows of a fit stay where they are: a fit of a file remembers the file's name, other rows are left out, and
    intervals that need them cannot be had from the loaded fit. ``rows=True`` puts them into the file. A file that
    halftrek wrote is replaced, another one only with ``overwrite=True``.
    """
    from halftrek import __version__
    from halftrek.bottom.files import whole_file  # here, so that import halftrek stays quick

    if type(value) not in names():
        raise InputError(f"a {type(value).__name__} cannot be saved; fits, models, answers, verdicts and graphs can")
    if rows and not isinstance(value, Fit):
        raise InputError(f"rows=True is for a fit, whose rows it saves; a {type(value).__name__} has none")
    if isinstance(value, GroupFits):  # rows of groups stay where they are
        value = replace(value, rows=None, clusters_left_out=value.clustered)
    content = encode(with_rows(value, rows) if isinstance(value, Fit) else value)
    head = {"format": FORMAT, "version": VERSION, "halftrek": __version__, "digest": _digest(content)}
    with whole_file(path, overwrite=overwrite) as unfinished:
        unfinished.write_text(_lines({**head, "content": content}) + "\n", encoding="utf-8")
    return Path(path)


def load(path: str | os.PathLike[str]) -> Any:
    """What ``save`` wrote: a fit, a model, an answer ... that gives the same numbers to the last bit."""
    where = f"cannot load {str(path)!r}"
    envelope = _read(Path(path), where)
    if not isinstance(envelope, dict) or envelope.get("format") != FORMAT:
        raise InputError(f"{where}: it is not a file that halftrek saved. Data go into ht.fit(graph, data)")
    version, writer = envelope.get("version"), envelope.get("halftrek", "an unknown version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InputError(f"{where}: its format version is {version!r}, which no halftrek has written; save it again")
    if version > VERSION:
        raise InputError(
            f"{where}: it has the format version {version}, written by halftrek {writer}, and this halftrek reads "
            f"versions up to {VERSION}. Install a newer halftrek"
        )
    for key in envelope:
        if key not in _HEAD:
            raise InputError(f"{where}: it has a part {key!r}, which is not known. Save it again")
    content = envelope.get("content")
    if not isinstance(content, dict):
        raise InputError(f"{where}: it has no content. Save it again")
    if _depth(content) > DEEPEST:
        raise InputError(f"{where}: its content is nested more than {DEEPEST} deep, as no value of halftrek is")
    if envelope.get("digest") != _digest(content):
        raise InputError(f"{where}: its content is not what was saved, for it was damaged or edited. Save it again")
    try:
        for step in range(version, VERSION):
            content = _MIGRATIONS[step](content)
        value = decode(content)
    except Malformed as error:
        raise InputError(f"{where}: {error}. It was written by halftrek {writer}; try that version") from None
    except (HalftrekError, TypeError, ValueError, KeyError, RecursionError) as error:
        raise InputError(f"{where}: its parts do not make a whole: {error}") from error
    if type(value) not in names():
        raise InputError(f"{where}: its content is a {type(value).__name__}, which halftrek does not save alone")
    return value


def _lines(record: dict[str, object], margin: str = "") -> str:
    """JSON with one part on each line, the content's parts too: numbers in a column help nobody."""
    lines = []
    for key, value in record.items():
        inner = (
            _lines(value, margin + " ")
            if key == "content" and isinstance(value, dict)
            else json.dumps(value, allow_nan=False)
        )
        lines.append(f'{margin} "{key}": {inner}')
    return "{\n" + ",\n".join(lines) + f"\n{margin}}}"


def _read(path: Path, where: str) -> object:
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text, parse_constant=_refuse, parse_float=_number, object_pairs_hook=_once)
    except FileNotFoundError:
        raise InputError(f"{where}: there is no such file") from None
    except OSError as error:
        raise InputError(f"{where}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{where}: it is not text, so halftrek did not save it") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}: it is not whole JSON ({error.msg} in line {error.lineno}); it was cut off, or is another kind "
            f"of file. Save it again"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: it is not JSON that halftrek wrote: {error}") from None


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"it holds {text}, which is too large for a number")
    return number


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"it has {next(k for k in keys if keys.count(k) > 1)!r} twice in one place")
    return found


def _depth(content: dict[str, object]) -> int:
    """How deep lists and objects are nested; layer by layer, since a file may be deeper than calls can be."""
    depth = 0
    layer: list[dict[str, object] | list[object]] = [content]
    while layer:
        depth += 1
        inner: list[dict[str, object] | list[object]] = []
        for one in layer:
            parts = list(one.values()) if isinstance(one, dict) else one
            inner += [part for part in parts if isinstance(part, (dict, list))]
        layer = inner
    return depth


def _digest(content: object) -> str:
    """Of the content, however the JSON is laid out."""
    import hashlib

    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
