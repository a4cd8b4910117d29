"""What users say of groups: a column, several, or labels for each row; and the reader of rows that knows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard, cast

from numpy.typing import ArrayLike

from halftrek.data.columns.categories import Categories
from halftrek.data.rows import RowReader, row_reader
from halftrek.data.weights import one_kind
from halftrek.errors import DataError


class Table(Protocol):
    """A frame of any library: labels by the names of its columns."""

    columns: Sequence[str]

    def __getitem__(self, name: str, /) -> ArrayLike: ...


# a column, one label for each row, a list of columns, or columns (or labels of rows) by name
GroupLabels = str | ArrayLike | Mapping[str, str | ArrayLike] | Table
_MOST = 32  # texts in a list that are looked up among the columns in any case


@dataclass(frozen=True, eq=False)
class Grouping:
    """What says the group of a row: columns, or entries for each row; ``names`` of these where they are a list."""

    labels: tuple[str | ArrayLike, ...]
    names: tuple[str, ...] = ()


def grouping_of(by: GroupLabels, columns: Callable[[], Sequence[str]]) -> Grouping:
    """What a user says of groups; ``columns``, those of the data, are asked for only where a list may mean them.

    A list of texts is one of columns if it names any, and otherwise one label for each row.
    """
    if isinstance(by, str):
        return Grouping((by,))
    if isinstance(by, Mapping):
        return _no_twins(Grouping(tuple(by.values()), tuple(map(str, by))))
    if _is_table(by):
        return _no_twins(Grouping(tuple(by[name] for name in by.columns), tuple(by.columns)))
    if isinstance(by, list | tuple) and by and all(isinstance(name, str) for name in by):
        names = tuple(str(name) for name in by)
        few = len(names) <= _MOST or len(set(names)) == len(names)  # labels of rows are many, and come again
        if few and not set(names).isdisjoint(columns()):
            return _no_twins(Grouping(names, names))
    return Grouping((cast("ArrayLike", by),))


def _is_table(by: object) -> TypeGuard[Table]:
    columns = getattr(by, "columns", None)
    return columns is not None and all(isinstance(name, str) for name in columns)


def _no_twins(grouping: Grouping) -> Grouping:
    names = grouping.names
    if not names:
        raise DataError("by names no column; give one or several, as in by=['site', 'sex']")
    twin = next((name for name in names if names.count(name) > 1), None)
    if twin is not None:
        raise DataError(f"by has {twin!r} twice; name each column once")
    return grouping


def group_reader(
    source: object,
    by: GroupLabels,
    names: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Categories = (),
    cluster: str | ArrayLike | None = None,
) -> tuple[RowReader, tuple[str, ...]]:
    """The reader of rows with holes and their groups, and the names of the columns in ``by`` if it is a list of them.

    ``by`` is a column, one label for each row, or several of these: ``["site", "sex"]``, ``{"site": labels, ...}``.
    """
    wanted = tuple(names)
    given = one_kind(weights, sampling_weights)
    sampling = 1.0 if given.sampling else None  # each group has a mean of its own
    reader = row_reader(
        source, wanted, weights=given.given, missing="fiml", cluster=cluster, sampling=sampling, categories=categories
    )
    reader.refuse_spent()
    grouping = grouping_of(by, reader.known_columns)
    for label in grouping.labels:
        if isinstance(label, str) and label in wanted:
            raise DataError(
                f"{label!r} is a variable of the graph and cannot say the group as well; add a column for the groups"
            )
    reader = replace(reader, by=grouping.labels)
    reader.check()
    return reader, grouping.names
