"""Moments by group in one pass over the rows: arrays with one entry for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.errors import DataError
from halftrek.moments.moments import Moments
from halftrek.moments.rows import row_reader

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """``keys`` name the groups; ``n``, ``mean``, ``cov`` (divisor n) and ``dropped`` have one entry for each."""

    keys: tuple[Any, ...]
    names: tuple[str, ...]
    n: Floats
    mean: Floats
    cov: Floats
    dropped: NDArray[np.int64]
    has_mean: bool = True

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, i: int) -> Moments:
        """The moments of the i-th group."""
        return Moments(
            self.names, float(self.n[i]), self.mean[i], self.cov[i], int(self.dropped[i]), has_mean=self.has_mean
        )


def stack_groups(groups: Mapping[Any, Moments], names: Sequence[str]) -> GroupMoments:
    """Moments by group that are known already."""
    if not groups:
        raise DataError("there is no group to fit")
    wanted = tuple(names)
    chosen = []
    for key, one in groups.items():
        if not isinstance(one, Moments):
            raise DataError(f"group {key!r} must be moments (ht.moments(rows)), not {type(one).__name__}")
        chosen.append(one if one.names == wanted else one.select(wanted))
    return GroupMoments(
        tuple(groups),
        wanted,
        np.array([m.n for m in chosen]),
        np.stack([m.mean for m in chosen]),
        np.stack([m.cov for m in chosen]),
        np.array([m.dropped for m in chosen], dtype=np.int64),
        all(m.has_mean for m in chosen),
    )


def read_groups(
    source: Any,
    by: str | ArrayLike,
    names: Sequence[str],
    *,
    weights: str | ArrayLike | None = None,
    missing: Literal["error", "drop"] = "drop",
) -> GroupMoments:
    """Moments of the rows of each group; ``by`` is a column (numbers or texts) or one label for each row.

    Rows with a hole in one of the columns are left out and counted. Groups are in the order of their labels if these
    can be sorted, otherwise of their first appearance.
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
    for block in reader.blocks(codes=codes):
        assert block.cluster is not None
        holes = np.asarray(np.isnan(block.values).any(axis=1))
        if missing == "error" and holes.any():
            column = wanted[int(np.argmax(np.isnan(block.values).any(axis=0)))]
            raise DataError(f"column {column!r} has missing values; missing='drop' leaves such rows out")
        state.add(block.values, block.cluster, block.weights, holes, len(codes))
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
    return GroupMoments(tuple(keys[i] for i in order), wanted, n, mean, (cov + cov.transpose(0, 2, 1)) / 2.0, dropped)


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
        self.n, self.dropped = np.zeros(0), np.zeros(0, dtype=np.int64)
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
