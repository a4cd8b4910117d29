"""Texts as numbers: yes/no and their like as 0/1, other categories as indicator columns on the user's word.

``categories={"region": "north"}`` replaces the column ``region`` by one column for each of its other levels, called
``region=south`` and so on: 1 in the rows of that level, 0 in all others. ``north`` is what they are compared with.
Levels that are in an order become one column of numbers: those that they are written as, or 0, 1, 2 and so on.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from halftrek.bottom.arrays import Array, Floats
from halftrek.bottom.words import did_you_mean, listed
from halftrek.data.columns.kinds import Coding
from halftrek.data.sources.memory import objects
from halftrek.data.sources.source import Source
from halftrek.data.summing.accumulate import Block
from halftrek.data.summing.sums import Column, Request, Sums
from halftrek.errors import DataError

# The later one in the alphabet is 1, throughout: so "f" is 0 whether "t" or "m" is the other.
PAIRS = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("f", "m"), ("female", "male"))
LEVELS = 50  # a column with more levels holds names or numbers, not categories
OFFERED = 20  # levels up to which indicator columns are offered


@dataclass(frozen=True)
class Category:
    """A column of categories: its reference, and the other levels, each of which gets a column.

    ``ordered``: the reference is the lowest, the others follow, and all are one column.
    """

    column: str
    reference: str
    levels: tuple[str, ...]
    ordered: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The indicator columns; the column itself where levels are in an order."""
        return (self.column,) if self.ordered else tuple(f"{self.column}={level}" for level in self.levels)

    @property
    def numbers(self) -> dict[str, float]:
        """What levels in an order stand for."""
        every = (self.reference, *self.levels)
        rising = [float(x) for x in every] if all(map(_is_number, every)) else []
        if rising and all(a < b for a, b in pairwise(rising)):
            return dict(zip(every, rising, strict=True))
        return {level: float(k) for k, level in enumerate(every)}


Categories = tuple[Category, ...]


def category_of(column: str, reference: object, pieces: Iterator[Array]) -> Category:
    """The levels of a column, of which ``pieces`` are the entries."""
    found: set[str] = set()
    for piece in pieces:
        found |= {label for x in dict.fromkeys(piece.tolist()) if (label := _label(x)) is not None}
        if len(found) > LEVELS:
            raise DataError(
                f"categories: column {column!r} has more than {LEVELS} levels, as many as names or measured numbers "
                f"have; group them into fewer before, or leave it out of categories"
            )
    chosen = _label(reference)
    if chosen is None or chosen not in found:
        raise DataError(
            f"categories: the reference {reference!r} is no level of column {column!r}."
            f"{did_you_mean(str(chosen), _ordered(found))}"
        )
    if len(found) < 2:
        raise DataError(f"categories: column {column!r} has only the level {chosen!r}; leave it out of the graph")
    return Category(column, chosen, tuple(v for v in _ordered(found) if v != chosen))


def bare_names(names: Sequence[str] | None, categories: Categories) -> tuple[str, ...] | None:
    """Names of columns as the source has them: a column of categories in place of its indicators."""
    if names is None or not categories:
        return None if names is None else tuple(names)
    column = {name: c.column for c in categories for name in c.names}
    return tuple(dict.fromkeys(column.get(v, v) for v in names))


def expanded_names(names: Sequence[str] | None, categories: Categories) -> tuple[str, ...] | None:
    """The inverse: the indicators in place of a column of categories."""
    if names is None:
        return None
    parts = {c.column: c.names for c in categories}
    return tuple(name for v in names for name in parts.get(v, (v,)))


def coded(source: Source, categories: Categories = (), *, way_out: str = "leave it out") -> Source:
    """The source with numbers for texts: its ``codings`` are complete once the blocks have been read.

    ``way_out`` is what else a user can do about a column of texts.
    """
    if not source.texts and not categories:
        return source
    by_column = {c.column: c for c in categories}
    owner = {name: c for c in categories for name in c.names}
    for c in categories:
        _refuse_clash(c, source)
    columns = tuple(name for v in source.columns for name in (by_column[v].names if v in by_column else (v,)))
    codings = dict(source.codings)
    for c in [c for c in categories if not c.ordered]:
        codings |= {name: Coding(c.column, level, c.reference) for name, level in zip(c.names, c.levels, strict=True)}

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        bare = bare_names(wanted, categories) or ()
        truths = {v: _Truths(v, way_out) for v in bare if v in source.texts and v not in by_column}
        if bare == wanted and not truths and not any(v in owner for v in wanted):
            yield from source.blocks(wanted)
            return
        for block in source.blocks(bare):
            parts = dict(zip(bare, block.T if isinstance(block, np.ndarray) else block, strict=True))
            for v, reader in truths.items():
                parts[v] = reader.numbers(parts[v])
            for c in {owner[v] for v in wanted if v in owner}:
                parts |= zip(c.names, _indicators(c, parts[c.column]), strict=True)
            yield [parts[v] for v in wanted]
        codings.update((v, reader.coding) for v, reader in truths.items())

    def sums(request: Request) -> Sums | None:
        assert source.sums is not None
        if source.parts is not None and any(c.name in owner or c.name in source.texts for c in request.columns):
            return None  # workers make numbers of texts
        made = []
        for column in request.columns:
            if column.name in owner:
                made.append(_indicator_column(column.name, owner[column.name], source))
            elif column.name in source.texts:
                numbers, codings[column.name] = _truths_there(source, column.name, way_out)
                made.append(Column(column.name, column.name, numbers))
            else:
                made.append(column)
        return source.sums(replace(request, columns=tuple(made)))

    answers = None if source.sums is None else sums
    return replace(source, columns=columns, blocks=blocks, codings=codings, sums=answers)


def _truths_there(source: Source, column: str, way_out: str) -> tuple[dict[Hashable, float], Coding]:
    """The texts of an engine's column as 0 and 1, and which is which."""
    reader = _Truths(column, way_out)
    entries = objects(_distinct(source, column, LEVELS))
    return dict(zip(entries.tolist(), reader.numbers(entries).tolist(), strict=True)), reader.coding


def codings_there(source: Source, names: Sequence[str], way_out: str = "leave it out") -> dict[str, Coding]:
    """How texts become numbers, where the workers of an engine will make them: known before they begin."""
    texts = [v for v in names if v in source.texts]
    return {**source.codings, **{v: _truths_there(source, v, way_out)[1] for v in texts}}


def _indicator_column(name: str, category: Category, source: Source) -> Column:
    """An indicator as an engine can make it: a number for each entry of the column."""
    entries = objects(_distinct(source, category.column, 2 * LEVELS))
    column = _indicators(category, entries)[category.names.index(name)]
    return Column(name, category.column, dict(zip(entries.tolist(), column.tolist(), strict=True)))


def _distinct(source: Source, column: str, most: int) -> list[Hashable]:
    """The entries of an engine's column, holes aside."""
    assert source.values is not None
    return [x for x in source.values(column, most) if x is not None]


def _refuse_clash(category: Category, source: Source) -> None:
    column = category.column
    if column not in source.columns:
        raise DataError(f"categories: the data have no column {column!r}.{did_you_mean(column, source.columns)}")
    if column in source.refused:
        raise DataError(f"categories: column {column!r} {source.refused[column]}")
    both = [] if category.ordered else [v for v in category.names if v in source.columns]
    if both:
        raise DataError(f"categories: the data have a column {both[0]!r} already; rename it")


def indicators_of(category: Category, entry: object) -> list[float]:
    """One entry of the column as the values of its indicators; nan for a hole."""
    column = np.empty(1, dtype=object)
    column[0] = entry
    return [float(x[0]) for x in _indicators(category, column)]


def _indicators(category: Category, labels: Array) -> list[Floats]:
    """One column for each level but the reference; nan where the label is missing."""
    raw = labels.tolist()
    known = {label: k for k, label in enumerate((category.reference, *category.levels))}
    place: dict[Hashable, float] = {}
    for x in dict.fromkeys(raw):
        label = _label(x)
        if label is not None and label not in known:
            raise DataError(
                f"column {category.column!r} holds {label!r}, which is none of its levels: {listed(list(known), 10)}"
            )
        place[x] = np.nan if label is None else float(known[label])
    where = np.array([place[x] for x in raw])
    if category.ordered:
        numbers = np.array(list(category.numbers.values()))
        return [np.where(np.isnan(where), np.nan, numbers[np.nan_to_num(where).astype(int)])]
    return [np.where(np.isnan(where), np.nan, where == k + 1.0) for k in range(len(category.levels))]


class _Truths:
    """Texts of one column as 0 and 1, piece by piece; every piece must keep to the same pair of texts."""

    def __init__(self, column: str, way_out: str) -> None:
        self._column, self._way_out = column, way_out
        self._pairs: tuple[tuple[str, str], ...] = PAIRS
        self._shown: dict[int, str] = {}

    def numbers(self, labels: Array) -> Floats:
        raw = labels.tolist()
        try:
            distinct = dict.fromkeys(raw)
        except TypeError:  # lists and the like
            why = f"column {self._column!r} holds values that are not numbers"
            raise DataError(f"{why}; {self._way_out}") from None
        number: dict[Hashable, float] = {}
        for x in distinct:
            value = self._number(x)
            if value is None:
                raise DataError(_about_texts(self._column, list(distinct), self._way_out))
            number[x] = value
        return np.array([number[x] for x in raw], dtype=np.float64)

    def _number(self, x: object) -> float | None:
        """nan for a hole, None for a text that is not understood."""
        if isinstance(x, bool | np.bool_):
            return float(x)
        label = _label(x)
        if label is None:
            return float("nan")
        text = label.lower()
        self._pairs = tuple(pair for pair in self._pairs if text in pair)
        if not self._pairs:
            return None
        value = self._pairs[0].index(text)
        self._shown.setdefault(value, label)
        return float(value)

    @property
    def coding(self) -> Coding:
        """Which text is 1, as it was written."""
        zero, one = self._pairs[0]
        return Coding(self._column, self._shown.get(1, one), self._shown.get(0, zero))


def _about_texts(column: str, entries: Sequence[object], way_out: str) -> str:
    """Why a column of texts is no column of numbers, and what to do."""
    labels = _ordered({label for x in entries if (label := _label(x)) is not None})
    words = [label for label in labels if not _is_number(label)]
    if not words:
        return f"column {column!r} holds numbers as text, for instance {labels[0]!r}; convert it to numbers"
    example = f"column {column!r} holds values that are not numbers, for instance {words[0]!r}"
    if all(_WITH_COMMAS.fullmatch(word) for word in words):
        return (
            f"{example}; write numbers with a decimal point and without separators of thousands (decimal commas are "
            f"read in files with semicolons between the columns)"
        )
    if len(words) < len(labels):
        return f"{example}; correct them, or leave them empty for missing values"
    if len(words) > OFFERED:
        return f"{example}; convert it to numbers, or {way_out}"
    others = f" ({listed(words)})" if len(words) > 1 else ""
    return (
        f"{example}{others}; for indicator columns give categories={{{column!r}: {words[0]!r}}}, where "
        f"{words[0]!r} is the level that the others are compared with; for levels in an order give them, the lowest "
        f"first, as kinds={{{column!r}: [...]}}; or convert it to numbers, or {way_out}"
    )


_WITH_COMMAS = re.compile(r"[-+]?\d+(?:[.,' \u00a0\u202f]\d+)+(?:[eE][-+]?\d+)?")


def _label(x: object) -> str | None:
    """An entry as text, the same whether it came from a file or a frame; None for a hole."""
    if isinstance(x, str):
        return x.strip() or None
    if isinstance(x, bytes):
        return x.decode("utf-8", "replace").strip() or None
    if isinstance(x, bool | np.bool_):
        return "1" if x else "0"
    if isinstance(x, int | float | np.number):
        return None if x != x else f"{x:.12g}"
    return None if x is None or type(x).__name__ in ("NAType", "NaTType") else str(x)


def _ordered(labels: set[str]) -> list[str]:
    numbers = all(map(_is_number, labels))
    return sorted(labels, key=lambda v: (float(v) if numbers else 0.0, v))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_categories(given: Mapping[str, object] | Categories | None) -> Mapping[str, object]:
    """What a user gave: references by column."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(v, str) for v in given):
        raise DataError(
            f"categories names the reference level of each column, for instance categories={{'region': 'north'}}, "
            f"not {given!r}"
        )
    return given
