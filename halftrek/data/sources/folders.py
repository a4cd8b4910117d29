"""Rows in folders and object stores: many files as one table, hive partitions as columns, only what is asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.bottom.arrays import Array
from halftrek.data.sources.files import ARROW, HOLES, PARQUET, TEXT
from halftrek.data.sources.guard import first_line, guarded, in_our_words
from halftrek.data.sources.memory import PIECE, from_batches
from halftrek.data.sources.source import Source
from halftrek.data.summing.accumulate import Block
from halftrek.errors import DataError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import CsvFileFormat, Dataset
    from pyarrow.fs import FileSystem

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
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
        return guarded(_from_dataset(_dataset(path)), about)


def _dataset(path: str) -> Dataset:
    from pyarrow import dataset, fs

    system, inside = fs.FileSystem.from_uri(path) if is_address(path) else (fs.LocalFileSystem(), os.path.abspath(path))
    kind = _kind_of(path, _names(system, inside))
    return dataset.dataset(inside, filesystem=system, format=_format(kind), partitioning="hive")


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
