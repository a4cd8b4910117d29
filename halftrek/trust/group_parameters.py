"""The parameters of many groups in one table: the interval that suits each, and a word where one may mislead.

As for a single question: complete groups in one array program, the worst of the suspects one by one; groups with
missing values, and all groups where intervals are made from the rows, from their own fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.errors import HalftrekError
from halftrek.estimation import Fitted
from halftrek.estimation.many.groups import PIECE, FittedGroups
from halftrek.inference import How
from halftrek.inference.evidence.row_needs import needs_rows
from halftrek.inference.groups.parameters import NUMBERS, GroupParameters, Sides, edge_strengths, group_parameters
from halftrek.notes import Note, in_short, note
from halftrek.trust.groups import LOOKS, Suspect, chances
from halftrek.trust.judge import SURE
from halftrek.trust.misfit import REJECTED
from halftrek.trust.strength import STRONG
from halftrek.trust.tables import about_rows, judged_columns

Edge = tuple[str, str]


def judged_group_parameters(fits: FittedGroups, how: How) -> GroupParameters:
    """All parameters of all groups; those that could not be fitted have no numbers, and notes that say why."""
    fitted = fits.fitted
    if not len(fitted):
        return GroupParameters.empty((), len(fits))
    first = fits.one(fits.keys[int(fitted[0])])
    one_by_one = how.interval is None and (fits.clustered or needs_rows(first))
    alone = [int(i) for i in fitted if one_by_one or i in fits.alone]
    whole = np.setdiff1d(fitted, alone)
    parts = [group_parameters(fits, whole[k : k + PIECE], how) for k in range(0, len(whole), PIECE)]
    found = GroupParameters.empty(parts[0].sides if parts else _sides(fits, alone, how), len(fits))
    for start, part in zip(range(0, len(whole), PIECE), parts, strict=True):
        at = whole[start : start + PIECE]
        for name in NUMBERS:
            found.numbers[name][at] = part.numbers[name]
        for i, notes in zip(at, part.notes, strict=True):
            found.notes[i][:] = notes
    for i in alone:
        _take_own(found, i, fits.one(fits.keys[i]), how)
    if len(whole):
        _look_closer(fits, whole, how, found, first)
    return found


def _sides(fits: FittedGroups, alone: Sequence[int], how: How) -> tuple[Sides, ...]:
    """The parameters of all groups; where categories have cuts, a group may have more of them than others."""
    found: dict[Sides, None] = {}
    for i in alone if fits.with_kinds else alone[:1]:
        with suppress(HalftrekError):
            columns = judged_columns(fits.one(fits.keys[i]), how if fits.with_kinds else How("delta"))
            sides = zip(*(map(str, columns[name]) for name in ("lhs", "op", "rhs")), strict=True)
            found |= dict.fromkeys((lhs, op, rhs) for lhs, op, rhs in sides)
    cuts = sorted((one for one in found if one[1] == "|"), key=lambda one: (one[0], int(one[2][1:])))  # t2 before t10
    return (*(one for one in found if one[1] != "|"), *cuts)


def _take_own(found: GroupParameters, i: int, fit: Fitted, how: How) -> None:
    """The lines of a group's own table, or what stands against one."""
    try:
        columns = judged_columns(fit, how)
    except HalftrekError as error:
        found.notes[i][:] = [str(error)] * len(found.sides)
        return
    place = {sides: k for k, sides in enumerate(zip(columns["lhs"], columns["op"], columns["rhs"], strict=True))}
    own = [k for k, sides in enumerate(found.sides) if sides in place]
    at = [place[found.sides[k]] for k in own]
    for name in NUMBERS:
        found.numbers[name][i, own] = np.asarray(columns[name], dtype=float)[at]
    found.notes[i][:] = [
        str(columns["note"][place[sides]]) if sides in place else "this group has no such cut" for sides in found.sides
    ]


def _look_closer(fits: FittedGroups, whole: Ints, how: How, found: GroupParameters, first: Fitted) -> None:
    """Give the worst suspects the table of their own fit; the others, a word in the lines that it concerns."""
    said, everywhere = about_rows(first, how)
    strengths: dict[int, dict[Edge, float]] = {}
    suspects: list[Suspect] = []
    for start in range(0, len(whole), PIECE):
        rows = whole[start : start + PIECE]
        by_edge = edge_strengths(fits, rows)
        chance = chances(fits, rows) if how.interval is None else np.ones(len(rows))
        weakest = np.min([*by_edge.values(), np.full(len(rows), np.inf)], axis=0)
        for k in np.flatnonzero((weakest < SURE) | (chance < REJECTED)):
            place = int(rows[k])
            strengths[place] = _of_group(by_edge, int(k))
            suspects.append(Suspect(place, float(weakest[k]), float(chance[k])))
    suspects.sort(key=lambda one: one.worst_first)
    closer = suspects[:LOOKS] if how.interval is None else []
    for one in closer:
        _take_own(found, one.place, fits.one(fits.keys[one.place]), how)
    wrong = {one.place: one.chance for one in suspects[len(closer) :] if one.chance < REJECTED}
    looked_at = {one.place for one in closer}
    noted = chain(whole.tolist() if said or everywhere else (), strengths)
    for i in dict.fromkeys(place for place in noted if place not in looked_at):
        misfit = [note("misfit", p=wrong[i])] if i in wrong else []
        for column, sides in enumerate(found.sides):
            about = said.get(sides[0], ()) if sides[1] == "~" else ()
            _add(found, i, column, [*_weak(strengths.get(i, {}), sides), *misfit, *about, *everywhere])


def _of_group(by_edge: Mapping[Edge, Floats], k: int) -> dict[Edge, float]:
    return {edge: float(values[k]) for edge, values in by_edge.items() if values[k] < STRONG}


def _weak(strengths: Mapping[Edge, float], sides: Sides) -> list[Note]:
    """What speaks against a line: its own edge is weak; errors are known no better than the effects taken out."""
    lhs, op, rhs = sides
    if op == "~":
        concerned = [F for edge, F in strengths.items() if edge == (rhs, lhs)]
    else:
        concerned = [F for (_, v), F in strengths.items() if op == "~~" and v in (lhs, rhs)]
    return [note("weak divisor", F=concerned[0], strong=STRONG)] if concerned else []


def _add(found: GroupParameters, i: int, k: int, notes: list[Note]) -> None:
    text = found.notes[i][k]
    if notes and text != "fixed":
        found.notes[i][k] = "; ".join(filter(None, (text, in_short(notes))))
