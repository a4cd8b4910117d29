"""Rows in folders and object stores: many files as one table, hive partitions as columns, only what is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

import numpy as np

from halftrek.bottom.arrays import Array
from halftrek.bottom.words import listed
from halftrek.data.sources.files import ARROW, HOLES, PARQUET, TEXT, from_each
from halftrek.data.sources.guard import first_line, guarded, in_our_words
from halftrek.data.sources.memory import PIECE, from_batches, objects
from halftrek.data.sources.source import Numeric, Source, chained
from halftrek.data.summing.accumulate import Block, rows_in
from halftrek.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import CsvFileFormat, Dataset
    from pyarrow.fs import FileSystem

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
NOWHERE = "__HIVE_DEFAULT_PARTITION__"  # the folder of rows for which its column is null
AHEAD = 4  # pieces that are read before they are needed, so that memory stays bounded


def is_address(path: str) -> bool:
    """Whether a path leads to an object store, as ``s3://bucket/visits`` does."""
    return ADDRESS.match(path) is not None


def from_folder(path: str) -> Source:
    """All files below a folder, or below an address; names of folders such as ``year=2026`` are columns."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading folders", "sql") from None

    def about(error: Exception) -> DataError:
        return DataError(f"{path!r} cannot be read: {first_line(error)}. Check the files, and that they are alike")

    with in_our_words(about):
        from pyarrow import dataset, fs

        here = fs.LocalFileSystem(), os.path.abspath(path)
        system, inside = fs.FileSystem.from_uri(path) if is_address(path) else here
        names = _names(system, inside)
        kind = _kind_of(path, names)
        if kind == "csv" and isinstance(system, fs.LocalFileSystem):
            return _texts_below(inside, sorted(name for name in names if name.lower().endswith(TEXT)))
        asked = partial(dataset.dataset, inside, filesystem=system, format=_format(kind), partitioning="hive")
        found = asked()
        if (common := _common(found)) != found.schema:
            found = asked(schema=common)
        return guarded(_from_dataset(found), about)


def _common(found: Dataset) -> pa.Schema:
    """The columns of all files, which must have the same; whole numbers in some files and fractions in others are both.

    Arrow takes the columns of the first file, and nulls for those that another file lacks.
    """
    import pyarrow as pa

    own = [(fragment.path, fragment.physical_schema) for fragment in found.get_fragments()]
    for place, schema in own[1:]:
        if lone := sorted(set(schema.names) ^ set(own[0][1].names)):
            raise DataError(f"{own[0][0]} and {place} have different columns: {listed(lone)} in one of them only")
    fields = []
    for field in found.schema:
        kinds = {schema.field(field.name).type for _, schema in own if schema.names.count(field.name) == 1}
        known = [kind for kind in kinds if not pa.types.is_null(kind)]
        if len(known) > 1 and all(str(kind).startswith(Numeric) for kind in known):
            whole = all(pa.types.is_signed_integer(kind) for kind in known)
            known = [pa.int64() if whole else pa.float64()]
        fields.append(field.with_type(known[0]) if len(known) == 1 else field)
    return pa.schema(fields)


def _texts_below(folder: str, names: list[str]) -> Source:
    """Files of text, each read as if it were alone, with the names of its folders as columns."""
    places = [_partitions(os.path.relpath(name, folder)) for name in names]
    keys = {key: None for place in places for key in place}
    whole = [key for key in keys if all(re.fullmatch(r"-?\d{1,18}", place.get(key) or "0") for place in places)]
    parts = []
    for source, place in zip(from_each(names), places, strict=True):
        entries = {key: place.get(key) for key in keys}
        parts.append(_with_entries(source, {k: _label(v, k in whole) for k, v in entries.items()}))
    return chained(parts, names)


def _partitions(name: str) -> dict[str, str | None]:
    """What the folders of a file say, as ``year=2026`` does."""
    pairs = [part.split("=", 1) for part in name.split(os.sep)[:-1] if "=" in part]
    return {unquote(key): None if entry == NOWHERE else unquote(entry) for key, entry in pairs}


def _label(entry: str | None, whole: bool) -> int | str | None:
    return int(entry) if whole and entry is not None else entry


def _with_entries(source: Source, entries: Mapping[str, int | str | None]) -> Source:
    """The source with more columns, each of one entry throughout."""
    if not entries:
        return source
    if both := sorted(set(entries) & set(source.columns)):
        raise DataError(f"the column {both[0]!r} is in the names of folders and in files below them; rename one")
    texts = source.texts | {v for v, entry in entries.items() if isinstance(entry, str)}

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        own = tuple(v for v in wanted if v not in entries) or source.columns[:1]
        for block in source.blocks(own):
            rows = rows_in(block)
            parts = dict(zip(own, block.T if isinstance(block, np.ndarray) else block, strict=True))
            more = {v: objects([entry] * rows) if v in texts else np.full(rows, np.nan if entry is None else entry)
                    for v, entry in entries.items()}  # fmt: skip
            yield [(parts | more)[v] for v in wanted]

    def labels(name: str) -> Iterator[Array]:
        assert source.labels is not None
        for piece in source.labels(source.columns[0] if name in entries else name):
            yield objects([entries[name]] * len(piece)) if name in entries else piece

    return replace(source, columns=(*source.columns, *entries), blocks=blocks, labels=labels, texts=frozenset(texts))


def _names(system: FileSystem, inside: str) -> list[str]:
    """The files that count: those of engines' own, which begin with a dot or a low line, do not."""
    from pyarrow import fs

    info = system.get_file_info(inside)
    if info.type == fs.FileType.NotFound:
        raise DataError(f"there is nothing at {inside!r}; check the path")
    if info.type == fs.FileType.File:
        return [inside]
    found = system.get_file_info(fs.FileSelector(inside, recursive=True))
    files = [one.path for one in found if one.type == fs.FileType.File]
    return [name for name in files if not any(p.startswith((".", "_")) for p in name[len(inside) :].split("/"))]


def _kind_of(path: str, names: list[str]) -> str:
    kinds = {
        kind
        for name in names
        for kind, endings in (("parquet", PARQUET), ("csv", TEXT), ("feather", ARROW))
        if name.lower().endswith(endings)
    }
    if len(kinds) == 1:
        return kinds.pop()
    if not kinds:
        raise DataError(f"{path!r} has no Parquet, CSV or Arrow files; check the path")
    raise DataError(
        f"{path!r} has files of several kinds ({', '.join(sorted(kinds))}); put each kind in its own folder"
    )


def _format(kind: str) -> str | CsvFileFormat:
    if kind != "csv":
        return kind
    from pyarrow import csv, dataset

    return dataset.CsvFileFormat(convert_options=csv.ConvertOptions(null_values=list(HOLES), strings_can_be_null=True))


def _from_dataset(found: Dataset) -> Source:
    def batches(wanted: list[str]) -> Iterator[pa.RecordBatch]:
        yield from found.to_batches(columns=wanted, batch_size=PIECE, batch_readahead=AHEAD, fragment_readahead=1)

    def part(wanted: tuple[str, ...]) -> Source:
        import pyarrow as pa

        return from_batches(pa.schema([found.schema.field(v) for v in wanted]), batches(list(wanted)))

    def blocks(wanted: tuple[str, ...]) -> Iterator[Block]:
        yield from part(wanted).blocks(wanted)

    def labels(name: str) -> Iterator[Array]:
        one = part((name,))
        assert one.labels is not None
        yield from one.labels(name)

    return replace(from_batches(found.schema, ()), blocks=blocks, labels=labels, rows=_rows(found))


def _rows(found: Dataset) -> int | None:
    """How many rows, where files say so in their heads."""
    return int(found.count_rows()) if found.format.default_extname == "parquet" else None
