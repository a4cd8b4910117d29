"""Moments by group in one pass over the rows: arrays with one entry for each group, patterns where rows have holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halftrek.arrays import Codes, Flags, Floats
from halftrek.choices import Missing
from halftrek.data.categories import Categories
from halftrek.data.check import refuse_rounded
from halftrek.data.kinds import Coding, Kind, KindSearch
from halftrek.data.kinds import merged as merged_kinds
from halftrek.data.missing.gather import PatternSums
from halftrek.data.missing.patterns import Patterns, patterns_of
from halftrek.data.moments import Moments
from halftrek.data.rows import RowReader, row_reader
from halftrek.data.weights import Counted, Sampled, Weighting, one_kind
from halftrek.errors import DataError
from halftrek.portable import Portable


@dataclass(frozen=True, eq=False)
class GroupMoments(Portable):
    """``keys`` name the groups; ``n``, ``mean``, ``cov`` (divisor n) and ``dropped`` have one entry for each.

    ``weighting`` has one for each group too, and ``kinds`` are those of the columns over all groups; see ``Moments``.
    A group that has rows with holes is in ``patterns``, by its place; its ``n`` counts rows with any value, and it has
    no moments (nan). ``troubles`` says, by place, why what a group has cannot be used.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    n: Floats
    mean: Floats
    cov: Floats
    dropped: Codes
    has_mean: bool = True
    kinds: tuple[Kind, ...] | None = None
    weighting: tuple[Weighting | None, ...] | None = None
    patterns: Mapping[int, Patterns] = field(default_factory=dict)
    troubles: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, i: int) -> Moments | Patterns:
        """What the rows of the i-th group say."""
        if i in self.patterns:
            return self.patterns[i]
        weighting = None if self.weighting is None else self.weighting[i]
        return Moments(
            self.names, float(self.n[i]), self.mean[i], self.cov[i], int(self.dropped[i]), self.has_mean, self.kinds,
            weighting,
        )  # fmt: skip

    def weighting_of(self, i: int) -> Weighting | None:
        """How the rows of the i-th group were weighted, also where they are of no use."""
        if i in self.patterns:
            return self.patterns[i].weighting
        return None if self.weighting is None else self.weighting[i]

    @property
    def sampled(self) -> bool:
        """Whether rows have sampling weights."""
        return self.weighting is not None and any(isinstance(w, Sampled) for w in self.weighting)


def stack_groups(groups: Mapping[Any, Moments | Patterns], names: Sequence[str]) -> GroupMoments:
    """Moments (or patterns) by group that are known already."""
    if not groups:
        raise DataError("there is no group to fit")
    wanted = tuple(names)
    chosen, patterns = [], {}
    for i, (key, one) in enumerate(groups.items()):
        if not isinstance(one, Moments | Patterns):
            raise DataError(f"group {key!r} must be moments (ht.moments(rows)), not {type(one).__name__}")
        found = one if one.names == wanted else one.select(wanted)
        if isinstance(found, Patterns):
            patterns[i] = found
            found = Moments(
                wanted, found.total, found.available[0], np.diag(found.available[1]), found.empty, kinds=found.kinds,
                weighting=found.weighting,
            )  # fmt: skip
        chosen.append(found)
    return _without_moments(
        GroupMoments(
            tuple(groups),
            wanted,
            np.array([m.n for m in chosen]),
            np.stack([m.mean for m in chosen]),
            np.stack([m.cov for m in chosen]),
            np.array([m.dropped for m in chosen], dtype=np.int64),
            all(m.has_mean for m in chosen),
            reduce(merged_kinds, [m.kinds for m in chosen]),
            tuple(m.weighting for m in chosen),
        ),
        patterns,
        {},
    )


def _without_moments(
    groups: GroupMoments, patterns: Mapping[int, Patterns], troubles: Mapping[int, str]
) -> GroupMoments:
    """The groups with some that have patterns, or nothing of use."""
    if not patterns and not troubles:
        return groups
    at = [*patterns, *troubles]
    mean, cov = groups.mean.copy(), groups.cov.copy()
    mean[at], cov[at] = np.nan, np.nan
    return replace(groups, mean=mean, cov=cov, patterns=patterns, troubles=troubles)


def group_reader(
    source: Any,
    by: str | ArrayLike,
    names: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    sampling_weights: str | ArrayLike | None = None,
    categories: Categories = (),
) -> RowReader:
    """The reader of rows with holes whose cluster is their group; ``by`` is a column or one label for each row."""
    wanted = tuple(names)
    if isinstance(by, str) and by in wanted:
        raise DataError(
            f"{by!r} is a variable of the graph and cannot say the group as well; add a column for the groups"
        )
    given = one_kind(weights, sampling_weights)
    sampling = 1.0 if given.sampling else None  # each group has a mean of its own
    reader = row_reader(
        source, wanted, weights=given.given, missing="fiml", cluster=by, sampling=sampling, categories=categories
    )
    reader.check("group")
    return reader


def read_groups(reader: RowReader, *, missing: Missing = "fiml") -> GroupMoments:
    """Moments of the rows of each group.

    Rows with a hole in one of the columns are kept by pattern ("fiml"), left out and counted ("drop"), or refused.
    Groups are in the order of their labels if these can be sorted, otherwise of their first appearance.
    """
    wanted = reader.names
    codes: dict[Any, int] = {}
    codings: dict[str, Coding] = {}
    state, search = _Groups(len(wanted)), KindSearch(len(wanted))
    holed: dict[int, PatternSums] = {}
    for block in reader.blocks(codes=codes, codings=codings):
        assert block.cluster is not None
        holes = _holes(block.values, wanted)
        if missing == "error" and holes.any():
            column = wanted[int(np.argmax(np.isnan(block.values).any(axis=0)))]
            raise DataError(f"column {column!r} has missing values; missing='drop' leaves such rows out")
        with np.errstate(over="ignore", invalid="ignore"):
            state.add(block.values, block.cluster, block.weights, holes, len(codes))
        search.add(block.values[~holes] if missing != "fiml" else block.values)
        if missing == "fiml" and holes.any():
            weights_there = None if block.weights is None else block.weights[holes]
            _add_holed(holed, state, block.values[holes], block.cluster[holes], weights_there)
    if not codes:
        raise DataError("there are no rows, so there are no groups")
    keys = _keys(codes)
    order = _sorted(keys)
    total, lines = state.n[order], state.lines[order]
    cov = state.squares[order] / np.maximum(total, 1e-300)[:, None, None]
    _refuse_too_large(wanted, cov)
    weighting = None if reader.weights is None else state.weighting(order, sampling=reader.sampling is not None)
    found = GroupMoments(
        tuple(keys[i] for i in order),
        wanted,
        total if reader.sampling is None else lines.astype(float),
        (state.origin + state.mean)[order],
        (cov + cov.transpose(0, 2, 1)) / 2.0,
        state.dropped[order],
        kinds=search.kinds([codings.get(v) for v in wanted]),
        weighting=weighting,
    )
    refuse_rounded(wanted, found.mean, found.cov.diagonal(axis1=1, axis2=2))
    return _completed(found, state, holed, order, reader)


def rows_by_group(reader: RowReader, groups: GroupMoments) -> dict[Any, RowReader]:
    """The rows of each group on their own, by one pass that takes them into memory."""
    codes: dict[Any, int] = {}
    blocks = list(reader.blocks(codes=codes))
    values = np.concatenate([b.values for b in blocks])
    code = np.concatenate([b.cluster for b in blocks if b.cluster is not None])
    weights = None if reader.weights is None else np.concatenate([b.weights for b in blocks if b.weights is not None])
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(codes)))
    found = {}
    place = {key: i for i, key in enumerate(groups.keys)}
    for key, rows in zip(_keys(codes), np.split(order, ends[:-1]), strict=True):
        if key not in place:
            raise DataError(f"the data have a group {key!r} now that they had not when the model was fitted; fit again")
        one = groups.weighting_of(place[key])
        found[key] = replace(
            reader,
            source=values[rows],
            weights=None if weights is None else weights[rows],
            cluster=None,
            missing="fiml" if place[key] in groups.patterns else "drop",
            columns=(),
            categories=(),
            sampling=one.mean if isinstance(one, Sampled) else None,
        )
    return found


def _keys(codes: Mapping[Any, int]) -> list[Any]:
    return [int(k) if isinstance(k, float) and k.is_integer() else k for k in codes]


# -- rows with holes -------------------------------------------------------------------------------


def _add_holed(
    sums: dict[int, PatternSums], state: _Groups, values: Floats, code: Codes, weights: Floats | None
) -> None:
    """Add rows with holes to the patterns of their groups."""
    order = np.argsort(code, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        one = sums.setdefault(int(code[rows[0]]), PatternSums(values.shape[1]))
        one.add(values[rows], None if weights is None else weights[rows])
        one.flush()
    if weights is not None:
        state.squared_holed += np.bincount(code, weights=weights**2, minlength=len(state.squared_holed))


def _completed(
    groups: GroupMoments, state: _Groups, holed: Mapping[int, PatternSums], order: Sequence[int], reader: RowReader
) -> GroupMoments:
    """The groups with the patterns of those that have holes, complete rows among them."""
    place = {code: i for i, code in enumerate(order)}
    patterns, troubles = {}, {}
    n, dropped = groups.n.copy(), groups.dropped.copy()
    for code, sums in holed.items():
        i = place[code]
        if state.lines[code]:
            squares = state.squares[code] if state.lines[code] > 1 else None
            mean = state.origin[code] + state.mean[code]
            sums.merge(np.ones(len(mean), dtype=bool), int(state.lines[code]), float(state.n[code]), mean, squares)
        total, lines = float(sums.parts.n.sum()), int(sums.parts.rows.sum())
        n[i], dropped[i] = total if reader.sampling is None else lines, sums.empty
        if sums.parts.observed.all():
            continue  # only rows without any value
        weighting: Weighting | None = None if reader.weights is None else Counted(float(lines))
        if reader.sampling is not None:
            weighting = Sampled(1.0, total**2 / float(state.squared_weights[code] + state.squared_holed[code]))
        try:
            found = patterns_of(groups.names, sums, kinds=groups.kinds, weighting=weighting)
            assert isinstance(found, Patterns)
            patterns[i] = found
        except DataError as error:
            troubles[i] = str(error)
    return _without_moments(replace(groups, n=n, dropped=dropped), patterns, troubles)


def _holes(values: Floats, names: Sequence[str]) -> Flags:
    """Which rows have a hole; infinite values are refused."""
    whole = np.asarray(np.isfinite(values).all(axis=1))
    if whole.all():
        return ~whole
    infinite = np.isinf(values).any(axis=0)
    if infinite.any():
        culprit = names[int(np.argmax(infinite))]
        raise DataError(f"column {culprit!r} holds an infinite value; remove or replace it before reading")
    return ~whole


def _refuse_too_large(names: Sequence[str], cov: Floats) -> None:
    bad = ~np.isfinite(cov.diagonal(axis1=1, axis2=2)).all(axis=0)
    if bad.any():
        culprit = names[int(np.argmax(bad))]
        raise DataError(f"the values of {culprit!r} are too large to be squared; divide the column by its scale")


def _sorted(keys: list[Any]) -> list[int]:
    try:
        return sorted(range(len(keys)), key=keys.__getitem__)
    except TypeError:
        return list(range(len(keys)))


class _Groups:
    """Number, mean and centred squares of every group so far; blocks are merged as in Chan, Golub and LeVeque.

    Means are kept as differences from the group's first row, which keeps the digits of those that are far from zero.
    """

    def __init__(self, p: int) -> None:
        self.n, self.dropped, self.lines = np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self.squared_weights, self.squared_holed = np.zeros(0), np.zeros(0)
        self.mean, self.squares, self.origin = np.zeros((0, p)), np.zeros((0, p, p)), np.zeros((0, p))

    def add(self, values: Floats, code: Codes, weights: Floats | None, holes: Flags, groups: int) -> None:
        """Add some rows; ``groups`` is the number of groups that are known by now."""
        self._grow(groups)
        if holes.any():
            self.dropped += np.bincount(code[holes], minlength=len(self.dropped))
            values, code = values[~holes], code[~holes]
            weights = None if weights is None else weights[~holes]
        if not len(values):
            return
        order = np.argsort(code, kind="stable")
        code, values = code[order], values[order]
        w = np.ones(len(values)) if weights is None else weights[order]
        starts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]])
        who = code[starts]
        n = np.add.reduceat(w, starts)
        size = np.diff(np.r_[starts, len(code)])
        self.lines[who] += size
        self.squared_weights[who] += np.add.reduceat(w**2, starts)
        new = self.n[who] == 0.0
        self.origin[who[new]] = values[starts[new]]
        values = values - np.repeat(self.origin[who], size, axis=0)
        mean = np.add.reduceat(values * w[:, None], starts) / n[:, None]
        centred = values - np.repeat(mean, size, axis=0)
        squares = np.empty((len(who), values.shape[1], values.shape[1]))
        for i in range(values.shape[1]):
            weighted = centred[:, i] * w
            for j in range(i + 1):
                squares[:, i, j] = squares[:, j, i] = np.add.reduceat(weighted * centred[:, j], starts)
        self._merge(who, n, mean, squares)

    def weighting(self, order: list[int], *, sampling: bool) -> tuple[Weighting | None, ...]:
        """How the rows of each group were weighted; None for a group without rows."""
        found: list[Weighting | None] = []
        for i in order:
            lines, total = float(self.lines[i]), float(self.n[i])
            if not lines:
                found.append(None)
            elif sampling:
                found.append(Sampled(total / lines, total**2 / float(self.squared_weights[i])))
            else:
                found.append(Counted(lines))
        return tuple(found)

    def _grow(self, groups: int) -> None:
        more = groups - len(self.n)
        if more > 0:
            p = self.mean.shape[1]
            self.n = np.r_[self.n, np.zeros(more)]
            self.squared_weights = np.r_[self.squared_weights, np.zeros(more)]
            self.squared_holed = np.r_[self.squared_holed, np.zeros(more)]
            self.dropped = np.r_[self.dropped, np.zeros(more, dtype=np.int64)]
            self.lines = np.r_[self.lines, np.zeros(more, dtype=np.int64)]
            self.mean = np.concatenate([self.mean, np.zeros((more, p))])
            self.origin = np.concatenate([self.origin, np.zeros((more, p))])
            self.squares = np.concatenate([self.squares, np.zeros((more, p, p))])

    def _merge(self, who: Codes, n: Floats, mean: Floats, squares: Floats) -> None:
        before = self.n[who]
        total = before + n
        share = (n / total)[:, None]
        gap = mean - self.mean[who]
        self.squares[who] += squares + (before * share[:, 0])[:, None, None] * gap[:, :, None] * gap[:, None, :]
        self.mean[who] += np.where(before[:, None] > 0.0, gap * share, gap)
        self.n[who] = total
