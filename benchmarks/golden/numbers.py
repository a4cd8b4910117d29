"""Every number of a result, by its place in it.

A result is taken apart without knowing its class: public fields and properties of a frozen dataclass, entries of a
mapping or a sequence, cells of a table of any library, a text that is JSON. So nothing here has to change when a field
or a class is renamed; only the places do, and for these there is ``renamed.toml``.

Three sorts of content come out:

- ``lone``: a number by its place, ``"estimate.level"``;
- ``words``: a short text that is a code or a name, ``"status.code"``, and of notes their levels and codes, sorted;
- ``blocks``: a table or an array: its columns of numbers, and its columns of text, which say which row is which. Rows
  of an array are named by the variables of its owner.

Sentences, LaTeX, HTML, pictures and files have no numbers of their own: of them a cell keeps nothing but that it
worked. Their numbers are those of the value that they are made from, which has a cell as well.
"""

from __future__ import annotations

import dataclasses
import json
import math
import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import narwhals as nw
import numpy as np

from benchmarks.grid.columns import Kind

Number = float | int | None
Block = dict[str, Any]  # {"rows": how many, "texts": {column: cells}, "numbers": {column: cells or a digest}}

DEPTH = 7
WHOLE = 60  # rows of an array that is kept as it is; of a table whose rows have names ...
WHOLE_NAMED = 400
FIRST = 20  # of a longer one, beside its sums
DIGITS = 12
SHORT = 60  # characters of a name
# what data and questions are made of, and the steps of a proof: nothing that was computed from the data
NOT_FOLLOWED = re.compile(r"halftrek\.(graphs|queries|syntax|identification\.recipes|data\.(?!moments))")
# fields that are said to people, whose words may change
SAID = re.compile(
    r"notes?|message|text|texts|words|why|warnings|remarks|asides|reasons|advice|details|next_steps|explanation|says|"
    r"latex|estimand|title|short|bounds|assumed|said|behind"
)
SENTENCE = re.compile(r"[.;:!?](\s|$)|\n|\d\.\d")


def numbers_of(kind: Kind, operation: str, got: Any) -> dict[str, Any]:
    """What is kept of a cell's result: its numbers, in plain data for JSON."""
    del kind, operation
    found = _Found({}, {}, {})
    _take(found, "", got, (), 0)
    return {"numbers": dataclasses.asdict(found)}


@dataclasses.dataclass(frozen=True)
class _Found:
    lone: dict[str, Number]
    words: dict[str, str | list[str]]
    blocks: dict[str, Block]


def _take(found: _Found, place: str, got: Any, names: Sequence[str], depth: int) -> None:
    """Everything at a place and below it; ``names`` are the variables of the owner."""
    if depth > DEPTH or isinstance(got, type) or NOT_FOLLOWED.match(type(got).__module__):
        return
    if _is_number(got):
        found.lone[place] = _rounded(got)
    elif isinstance(got, str):
        _take_text(found, place, got, depth)
    elif isinstance(got, np.ndarray):
        _take_array(found, place, got, names)
    elif (table := _columns(got)) is not None:
        _take_table(found, place, table)
    elif isinstance(got, Mapping):
        for key, value in got.items():
            if not (SAID.fullmatch(str(key)) and _is_said(value)):
                _take(found, _below(place, str(key)), value, names, depth + 1)
    elif isinstance(got, list | tuple):
        _take_sequence(found, place, got, names, depth)
    elif dataclasses.is_dataclass(got):
        own = getattr(got, "names", ())
        named = own if isinstance(own, tuple) and all(isinstance(one, str) for one in own) else ()
        for field, value in _parts(got):
            if not (SAID.fullmatch(field) and _is_said(value)):
                _take(found, _below(place, field), value, named, depth + 1)


def _below(place: str, name: str) -> str:
    """The place of a field or of a key, as it would be written in Python."""
    if not name.isidentifier():
        return f"{place}[{name}]"
    return f"{place}.{name}" if place else name


def _parts(got: Any) -> Iterator[tuple[str, Any]]:
    """Public fields, and public properties that are numbers, arrays or names."""
    fields = [field.name for field in dataclasses.fields(got) if not field.name.startswith("_")]
    for name in fields:
        yield name, getattr(got, name)
    for name in dir(type(got)):
        if name.startswith("_") or name in fields:
            continue
        if isinstance(getattr(type(got), name), property | cached_property):
            try:
                value = getattr(got, name)
            except Exception:  # it says that this result has it not: nothing to keep, and if it comes it is new
                continue
            if _is_plain(value):
                yield name, value


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(one) for one in value)
    return _is_number(value) or isinstance(value, np.ndarray | str)


def _is_number(got: Any) -> bool:
    return isinstance(got, numbers.Real | np.bool_)


def _is_note(got: Any) -> bool:
    """A finding with a code for programs, as an object or in JSON."""
    there = got if isinstance(got, Mapping) else {name for name in ("code", "level", "facts") if hasattr(got, name)}
    return {"code", "level", "facts"} <= set(there)


def _is_said(value: Any) -> bool:
    """Texts for people: a string, or several; findings with codes are not, nor are numbers of that name."""
    if isinstance(value, list | tuple):
        return all(isinstance(one, str) for one in value)
    return isinstance(value, str)


def _rounded(got: Any) -> Number:
    """A number as it is kept; infinite and NaN stay what they are."""
    if got is None:
        return None
    if isinstance(got, numbers.Integral | np.bool_):
        return int(got)
    value = float(got)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else value


def _is_name(text: str) -> bool:
    return len(text) <= SHORT and not SENTENCE.search(text)


def _take_text(found: _Found, place: str, text: str, depth: int) -> None:
    if text[:1] in ("{", "["):
        try:
            _take(found, place, json.loads(text), (), depth + 1)
        except ValueError:
            return  # a set in words, or some other text
    elif _is_name(text):
        found.words[place] = text


def _take_sequence(found: _Found, place: str, got: Sequence[Any], names: Sequence[str], depth: int) -> None:
    if not got:
        found.words[place] = []
    elif all(_is_note(one) for one in got):
        found.words[place] = sorted(_code_of(one) for one in got)
    elif all(one is None or _is_number(one) for one in got):
        _take_table(found, place, {"": list(got)}, _row_names((len(got),), names))
    elif all(isinstance(one, str) for one in got):
        if all(_is_name(one) for one in got):
            found.words[place] = list(got)
    elif (rows := _rows(got)) is not None:
        _take_table(found, place, rows)
    else:
        for i, one in enumerate(got):
            _take(found, f"{place}[{i}]", one, names, depth + 1)


def _code_of(note: Any) -> str:
    if isinstance(note, Mapping):
        return f"{note['level']}: {note['code']}"
    return f"{note.level}: {note.code}"


# Arrays and tables.


def _take_array(found: _Found, place: str, got: np.ndarray, names: Sequence[str]) -> None:
    if got.dtype.kind in "OUS":
        _take_sequence(found, place, got.ravel().tolist(), (), DEPTH)
    elif got.dtype.kind in "fiub":
        _take_table(found, place, {"": got.ravel().tolist()}, _row_names(got.shape, names))


def _row_names(shape: tuple[int, ...], names: Sequence[str]) -> list[str] | None:
    """Names for the entries of an array with an axis for the variables."""
    if not names or len(names) not in shape or math.prod(shape) > WHOLE_NAMED:
        return None
    axes = [list(names) if size == len(names) else [str(i) for i in range(size)] for size in shape]
    return [", ".join(entry) for entry in product(*axes)]


def _columns(got: Any) -> dict[str, list[Any]] | None:
    """The columns of a table of any library; None for anything else."""
    try:
        frame = nw.from_native(got, eager_only=True)
    except TypeError:
        return None
    return {str(name): frame[name].to_list() for name in frame.columns}


def _rows(got: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Columns of rows that all have the same fields, each a number, a text, or a tuple of these."""
    if all(isinstance(one, Mapping) for one in got):
        rows = [{str(key): value for key, value in one.items()} for one in got]
    elif all(dataclasses.is_dataclass(one) and type(one) is type(got[0]) for one in got):
        rows = [dict(_parts(one)) for one in got]
    else:
        return None
    columns = {name: [row[name] for row in rows] for name in rows[0] if all(name in row for row in rows)}
    same = all(len(row) == len(columns) for row in rows)
    return columns if same and all(_is_cell(cell) for cells in columns.values() for cell in cells) else None


def _is_cell(cell: Any) -> bool:
    if isinstance(cell, list | tuple):
        return all(isinstance(one, str) for one in cell) or all(_is_number(one) for one in cell)
    return cell is None or isinstance(cell, str) or _is_number(cell)


def _take_table(found: _Found, place: str, columns: dict[str, list[Any]], rows: list[str] | None = None) -> None:
    texts: dict[str, list[str]] = {} if rows is None else {"": rows}
    values: dict[str, list[Number]] = {}
    for name, cells in columns.items():
        for part, entries in _split(name, cells):
            if all(entry is None or _is_number(entry) for entry in entries):
                values[part] = [_rounded(entry) for entry in entries]
            elif not SAID.fullmatch(name):
                written = ["" if entry is None else _as_text(entry) for entry in entries]
                if all(_is_name(text) for text in written):
                    texts[part] = written
    count = len(next(iter(columns.values()), []))
    if count > (WHOLE_NAMED if texts else WHOLE):
        digests = {name: _digest(entries) for name, entries in values.items()}
        first = {name: entries[:FIRST] for name, entries in texts.items()}
        found.blocks[place] = {"rows": count, "texts": first, "numbers": digests}
    else:
        found.blocks[place] = {"rows": count, "texts": texts, "numbers": values}


def _split(name: str, cells: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """A column of pairs of numbers, as intervals are, is two columns."""
    sizes = {len(cell) for cell in cells if isinstance(cell, list | tuple) and cell and _is_number(cell[0])}
    if len(sizes) != 1:
        yield name, cells
        return
    for i in range(sizes.pop()):
        yield f"{name}[{i}]", [cell[i] if isinstance(cell, list | tuple) and cell else None for cell in cells]


def _as_text(entry: Any) -> str:
    return ", ".join(str(one) for one in entry) if isinstance(entry, list | tuple) else str(entry)


def _digest(entries: list[Number]) -> dict[str, Any]:
    """The first numbers of many, and sums that see a change of any other, or of their order."""
    there = [i for i, x in enumerate(entries) if x is not None and math.isfinite(x)]
    values = np.array([entries[i] for i in there], dtype=float)
    ramp = np.array(there, dtype=float) / len(entries)
    sums = {
        "sum": values.sum(),
        "absolute": np.abs(values).sum(),
        "squares": (values**2).sum(),
        "weighted": (ramp * values).sum(),
    }
    return {"first": entries[:FIRST], "finite": len(there), **{k: _rounded(v) for k, v in sums.items()}}
