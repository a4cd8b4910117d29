"""The bounds of all groups in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np

from halftrek import upward
from halftrek.bottom.choices import Bounding
from halftrek.bottom.frames import Frame
from halftrek.bottom.progress import late_bar
from halftrek.errors import HalftrekError, InputError
from halftrek.notes import in_short
from halftrek.queries import Query
from halftrek.results.fit import Fit
from halftrek.results.group_tables import NOT_SAVED, framed, group_notes
from halftrek.results.sets.bounds import Bounds

if TYPE_CHECKING:
    from halftrek.results.groups import GroupFits


def bound_groups(fits: GroupFits, question: str | Query, **options: Unpack[Bounding]) -> Frame:
    """One row for each group: the outermost values of the set and of its interval, the set in words, what holds it."""
    if fits.clusters_left_out:
        raise InputError(f"intervals by cluster need the rows, and {NOT_SAVED}")
    fitted = set(fits.fitted.tolist())
    found: list[Bounds | None] = []
    notes: list[str] = []
    with late_bar("bounds") as advance:
        for i, key in enumerate(fits.keys):
            about = in_short(group_notes(fits, i))
            one, said = _one(fits, key, question, **options) if i in fitted else (None, fits.status[i])
            found.append(one)
            notes.append("; ".join(filter(None, (about, said))))
            advance(i + 1, len(fits))
    return framed(fits, _columns(fits, found, notes), 1)


def _one(fits: GroupFits, key: object, question: str | Query, **options: Unpack[Bounding]) -> tuple[Bounds | None, str]:
    """The bounds of a group, and what to know of them; a group that has none says why, unless all would."""
    try:
        found = upward.bounds(Fit.of(fits.one(key)), question, **options)
    except (InputError, TypeError):
        raise  # what was asked is wrong, in all groups
    except HalftrekError as error:
        return None, str(error)
    return found, in_short(found.notes)


def _columns(fits: GroupFits, found: Sequence[Bounds | None], notes: Sequence[str]) -> dict[str, Sequence[object]]:
    ends = [(np.nan, np.nan) if one is None or one.interval is None else one.interval for one in found]
    return {
        "low": [np.nan if one is None else one.low for one in found],
        "high": [np.nan if one is None else one.high for one in found],
        "interval_low": [low for low, _ in ends],
        "interval_high": [high for _, high in ends],
        "bounds": ["" if one is None else one.words for one in found],
        "binds_low": ["" if one is None else " and ".join(one.binds_low) for one in found],
        "binds_high": ["" if one is None else " and ".join(one.binds_high) for one in found],
        "certificate": ["" if one is None else one.certificate for one in found],
        "n": fits.groups.n.tolist(),
        "status": list(fits.status),
        "note": list(notes),
    }
