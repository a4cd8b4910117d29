"""Results that are made of rows: all of them have the same frame."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from halftrek.bottom.frames import as_frame
from halftrek.upward import Tabled

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class Listed(Tabled):
    """Base of results with ``rows``, each of one kind."""

    row: ClassVar[type[DataclassInstance]]

    def to_frame(self) -> Any:
        """A tidy frame, one row for each of ``rows``, with their fields."""
        rows, library = getattr(self, "rows", ()), getattr(self, "library", "")
        return as_frame({f.name: [getattr(one, f.name) for one in rows] for f in fields(self.row)}, library)
