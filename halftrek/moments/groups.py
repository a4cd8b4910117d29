"""Moments by group in one pass over the rows: arrays with one entry for each group, patterns where rows have holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.errors import DataError
from halftrek.moments.gather import PatternSums
from halftrek.moments.moments import Moments
from halftrek.moments.patterns import Patterns, patterns_of
from halftrek.moments.rows import row_reader

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """``keys`` name the groups; ``n``, ``mean``, ``cov`` (divisor n) and ``dropped`` have one entry for each.

    A group that has rows with holes is in ``patterns``, by its place; its ``n`` counts rows with any value, and it has
    no moments (nan). ``troubles`` says, by place, why what a group has cannot be used.
    """

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    n: Floats
    mean: Floats
    cov: Floats
    dropped: NDArray[np.int64]
    has_mean: bool = True
    patterns: Mapping[int, Patterns] = field(default_factory=dict)
    troubles: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, i: int) -> Moments | Patterns:
        """What the rows of the i-th group say."""
        if i in self.patterns:
            return self.patterns[i]
        return Moments(
            self.names, float(self.n[i]), self.mean[i], self.cov[i], int(self.dropped[i]), has_mean=self.has_mean
        )


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
            found = Moments(wanted, found.total, found.available[0], np.diag(found.available[1]), found.empty)
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


def read_groups(
    source: Any,
    by: str | ArrayLike,
    names: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    missing: Literal["fiml", "error", "drop"] = "fiml",
) -> GroupMoments:
    """Moments of the rows of each group; ``by`` is a column (numbers or texts) or one label for each row.

    Rows with a hole in one of the columns are kept by pattern ("fiml"), left out and counted ("drop"), or refused.
    Groups are in the order of their labels if these can be sorted, otherwise of their first appearance.
    """
    wanted = tuple(names)
    if isinstance(by, str) and by in wanted:
        raise DataError(
            f"{by!r} is a variable of the graph and cannot say the group as well; add a column for the groups"
        )
    reader = row_reader(source, wanted, weights=weights, missing="fiml", cluster=by)
    reader.check("group")
    codes: dict[Any, int] = {}
    state = _Groups(len(wanted))
    holed: dict[int, PatternSums] = {}
    for block in reader.blocks(codes=codes):
        assert block.cluster is not None
        holes = np.asarray(np.isnan(block.values).any(axis=1))
        if missing == "error" and holes.any():
            column = wanted[int(np.argmax(np.isnan(block.values).any(axis=0)))]
            raise DataError(f"column {column!r} has missing values; missing='drop' leaves such rows out")
        state.add(block.values, block.cluster, block.weights, holes, len(codes))
        if missing == "fiml" and holes.any():
            weights_there = None if block.weights is None else block.weights[holes]
            _add_holed(holed, block.values[holes], block.cluster[holes], weights_there)
    if not codes:
        raise DataError("there are no rows, so there are no groups")
    keys = [int(k) if isinstance(k, float) and k.is_integer() else k for k in codes]
    order = _sorted(keys)
    n, mean, squares, dropped = (
        state.n[order],
        (state.origin + state.mean)[order],
        state.squares[order],
        state.dropped[order],
    )
    cov = squares / np.maximum(n, 1e-300)[:, None, None]
    found = GroupMoments(tuple(keys[i] for i in order), wanted, n, mean, (cov + cov.transpose(0, 2, 1)) / 2.0, dropped)
    return _completed(found, state, holed, order)


# -- rows with holes -------------------------------------------------------------------------------


def _add_holed(sums: dict[int, PatternSums], values: Floats, code: NDArray[np.int64], weights: Floats | None) -> None:
    """Add rows with holes to the patterns of their groups."""
    order = np.argsort(code, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        one = sums.setdefault(int(code[rows[0]]), PatternSums(values.shape[1]))
        one.add(values[rows], None if weights is None else weights[rows])
        one.flush()


def _completed(
    groups: GroupMoments, state: _Groups, holed: Mapping[int, PatternSums], order: Sequence[int]
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
        n[i], dropped[i] = sum(part.n for part in sums.parts.values()), sums.empty
        if all(part.observed.all() for part in sums.parts.values()):
            continue  # only rows without any value
        try:
            found = patterns_of(groups.names, sums)
            assert isinstance(found, Patterns)
            patterns[i] = found
        except DataError as error:
            troubles[i] = str(error)
    return _without_moments(replace(groups, n=n, dropped=dropped), patterns, troubles)


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
        self.mean, self.squares, self.origin = np.zeros((0, p)), np.zeros((0, p, p)), np.zeros((0, p))

    def add(
        self, values: Floats, code: NDArray[np.int64], weights: Floats | None, holes: NDArray[np.bool_], groups: int
    ) -> None:
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

    def _grow(self, groups: int) -> None:
        more = groups - len(self.n)
        if more > 0:
            p = self.mean.shape[1]
            self.n = np.r_[self.n, np.zeros(more)]
            self.dropped = np.r_[self.dropped, np.zeros(more, dtype=np.int64)]
            self.lines = np.r_[self.lines, np.zeros(more, dtype=np.int64)]
            self.mean = np.concatenate([self.mean, np.zeros((more, p))])
            self.origin = np.concatenate([self.origin, np.zeros((more, p))])
            self.squares = np.concatenate([self.squares, np.zeros((more, p, p))])

    def _merge(self, who: NDArray[np.int64], n: Floats, mean: Floats, squares: Floats) -> None:
        before = self.n[who]
        total = before + n
        share = (n / total)[:, None]
        gap = mean - self.mean[who]
        self.squares[who] += squares + (before * share[:, 0])[:, None, None] * gap[:, :, None] * gap[:, None, :]
        self.mean[who] += np.where(before[:, None] > 0.0, gap * share, gap)
        self.n[who] = total
