"""Rows with holes, gathered by pattern of missingness while they stream by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Codes, Flags, Floats, Ints

BUFFER = 4_000_000  # numbers kept before they are grouped: a group of many rows costs no more than one of few
MOST = 100_000_000  # numbers in the means and squares of patterns that are kept: most of a gigabyte
OFTEN = 256  # patterns that rare ones may be brought down to
FEW = 16  # members of a pattern up to which patterns with as many are summed up together


@dataclass(frozen=True, eq=False)
class Bundle:
    """Patterns: what each observes, its number of rows, sum of weights and means, zero elsewhere.

    ``squares`` are centred cross-products; patterns that have some come first, the others are single rows.
    """

    observed: Flags
    rows: Codes
    n: Floats
    mean: Floats
    squares: Floats

    def __len__(self) -> int:
        return len(self.n)

    def take(self, which: Ints) -> Bundle:
        """Some patterns, those with squares first."""
        some = which < len(self.squares)
        order = np.concatenate([which[some], which[~some]])
        squares = self.squares[which[some]]
        return Bundle(self.observed[order], self.rows[order], self.n[order], self.mean[order], squares)


class PatternSums:
    """Rows go in with :meth:`add` or, already summed up, with :meth:`merge`; ``parts`` holds one entry a pattern.

    Means are kept as distances from ``origin``, the first value of each column, so that a large common offset costs no
    digits when sums meet. ``most`` numbers are kept.
    """

    def __init__(self, p: int, most: int | None = None) -> None:
        self.p = p
        self.most = MOST if most is None else most
        self._origin = np.full(p, np.nan)  # of columns without a value so far there is none
        self.empty = 0
        self.left_out = 0  # values of rare patterns, where there were too many patterns
        self._parts = _nothing(p)
        self._found: list[Bundle] = []  # patterns that have not met the others yet
        self._waiting: list[tuple[Floats, Floats | None]] = []
        self._size = 0

    def add(self, table: Floats, weights: Floats | None) -> None:
        """Take in rows, nan for a hole."""
        self._waiting.append((table, weights))
        self._size += table.size
        if self._size > BUFFER:
            self.flush()

    @property
    def origin(self) -> Floats:
        """What means are distances from; zero for a column without values."""
        return np.asarray(np.nan_to_num(self._origin))

    @property
    def parts(self) -> Bundle:
        """The patterns so far."""
        parts = self._about_origin()
        return replace(parts, mean=np.where(parts.observed, self.origin + parts.mean, 0.0))

    def _about_origin(self) -> Bundle:
        self.flush()
        self._meet()
        return self._parts

    def merge(self, observed: Flags, rows: int, n: float, mean: Floats, squares: Floats | None) -> None:
        """Add rows of one pattern; no squares: they are zero, as those of a single row are."""
        own = np.zeros((int(rows > 1), self.p, self.p))
        if squares is not None:
            own[:] = squares
        self.merge_all(Bundle(observed[None], np.array([rows]), np.array([n]), mean[None], own))

    def merge_all(self, some: Bundle) -> None:
        """Add rows of many patterns, of which several may be the same."""
        self._settle(some.observed, some.mean)
        self._add(replace(some, mean=np.where(some.observed, some.mean - self.origin, 0.0)))

    def join(self, other: PatternSums) -> None:
        """Add the rows of other sums."""
        parts = other._about_origin()
        self._origin = np.where(np.isnan(self._origin), other._origin, self._origin)
        self._add(replace(parts, mean=np.where(parts.observed, parts.mean + (other.origin - self.origin), 0.0)))
        self.empty += other.empty
        self.left_out += other.left_out

    def _settle(self, observed: Flags, values: Floats) -> None:
        """The first value of a column is its origin."""
        if np.isnan(self._origin).any() and len(values):
            first = values[np.argmax(observed, axis=0), np.arange(self.p)]
            self._origin = np.where(np.isnan(self._origin) & observed.any(axis=0), first, self._origin)

    def _add(self, some: Bundle) -> None:
        seen = some.observed.any(axis=1)
        self.empty += int(some.rows[~seen].sum())
        self._found.append(some if seen.all() else some.take(np.flatnonzero(seen)))
        if sum(map(len, self._found)) > len(self._parts) + BUFFER // (1 + self.p**2):
            self._meet()

    def flush(self) -> None:
        """Sum up the rows that wait."""
        if not self._waiting:
            return
        table = np.concatenate([rows for rows, _ in self._waiting])
        weighted = self._waiting[0][1] is not None
        weights = np.concatenate([w for _, w in self._waiting if w is not None]) if weighted else np.ones(len(table))
        self._waiting, self._size = [], 0
        holes = np.isnan(table)
        self._settle(~holes, table)
        table -= self.origin
        table[holes] = 0.0
        single = np.ones(len(table), dtype=np.int64)
        self._add(_alike(Bundle(~holes, single, weights, table, np.zeros((0, self.p, self.p)))))

    def _meet(self) -> None:
        """Bring together what was found of the same patterns."""
        if self._found:
            self._parts = _alike(_joined([self._parts, *self._found] if len(self._parts) else self._found))
            self._found = []
            if _numbers(self._parts).sum() > self.most:
                kept, rare, lost = _bounded(self._parts, self.most)
                self._parts = _alike(_joined([kept, rare]))
                self.left_out += lost


def _nothing(p: int) -> Bundle:
    none = np.zeros(0)
    return Bundle(
        np.zeros((0, p), dtype=bool), np.zeros(0, dtype=np.int64), none, np.zeros((0, p)), np.zeros((0, p, p))
    )


def _joined(bundles: Sequence[Bundle]) -> Bundle:
    """One after the other, those with squares first."""
    if len(bundles) == 1:
        return bundles[0]
    order = [(one, slice(None, len(one.squares))) for one in bundles] + [
        (one, slice(len(one.squares), None)) for one in bundles
    ]
    observed, rows, n, mean = (
        np.concatenate([getattr(one, name)[part] for one, part in order]) for name in ("observed", "rows", "n", "mean")
    )
    return Bundle(observed, rows, n, mean, np.concatenate([one.squares for one in bundles]))


def _numbers(bundle: Bundle) -> Ints:
    """How many numbers are kept for each pattern."""
    p = bundle.observed.shape[1]
    return np.asarray(np.where(np.arange(len(bundle)) < len(bundle.squares), p + p * p, p), dtype=np.intp)


def _bounded(bundle: Bundle, most: int) -> tuple[Bundle, Bundle, int]:
    """Frequent patterns, half of what may be kept; the others with fewer values; and how many values they lost.

    A rare pattern is brought down to the frequent one that has most of its columns and no other; to one of its columns
    if there is none. Which values are left out depends on what was observed alone.
    """
    p = bundle.observed.shape[1]
    order = np.argsort(-bundle.rows, kind="stable")
    frequent = np.cumsum(_numbers(bundle)[order]) <= most // 2
    kept, rare = bundle.take(np.sort(order[frequent])), bundle.take(np.sort(order[~frequent]))
    targets = np.concatenate([bundle.observed[order[: min(OFTEN, int(frequent.sum()))]], np.eye(p, dtype=bool)])
    size = targets.sum(axis=1)
    observed = np.empty_like(rare.observed)
    for first in range(0, len(rare), step := max(1, BUFFER // len(targets))):
        some = rare.observed[first : first + step]
        inside = (~some).astype(np.float32) @ targets.T.astype(np.float32) == 0.0
        observed[first : first + step] = targets[np.argmax(np.where(inside, size, 0), axis=1)]
    lost = int(rare.rows @ (rare.observed.sum(axis=1) - observed.sum(axis=1)))
    several = len(rare.squares)
    both = observed[:several, :, None] & observed[:several, None, :]
    mean, squares = np.where(observed, rare.mean, 0.0), np.where(both, rare.squares, 0.0)
    return kept, Bundle(observed, rare.rows, rare.n, mean, squares), lost


def _alike(bundle: Bundle) -> Bundle:
    """Each pattern once: sums over its members by the formula of Chan, Golub and LeVeque."""
    order, starts = _sorted(bundle.observed)
    if len(starts) == len(order):
        return bundle
    sizes = np.diff(np.append(starts, len(order)))
    group = np.repeat(np.arange(len(starts)), sizes)
    rows, n = np.add.reduceat(bundle.rows[order], starts), np.add.reduceat(bundle.n[order], starts)
    first = bundle.mean[order[starts]]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        apart = bundle.mean[order] - first[group]
        weights = bundle.n[order]
        mean = first + np.add.reduceat(apart * weights[:, None], starts) / n[:, None]  # exact for a constant column
        centred = (bundle.mean[order] - mean[group]) * np.sqrt(weights)[:, None]
        has = sizes > 1
        has[group[order < len(bundle.squares)]] = True
        several = np.flatnonzero(has)
        place = np.full(len(starts), -1)
        place[several] = np.arange(len(several))
        squares = _within(centred, starts, sizes, several)
        _add_own(bundle.squares, order, group, place, squares)
    last = np.concatenate([several, np.flatnonzero(~has)])
    return Bundle(bundle.observed[order[starts]][last], rows[last], n[last], mean[last], squares)


def _within(centred: Floats, starts: Ints, sizes: Ints, several: Ints) -> Floats:
    """Cross-products of the members of some patterns."""
    p = centred.shape[1]
    squares = np.zeros((len(several), p, p))
    sizes, starts = sizes[several], starts[several]
    for size in np.unique(sizes[(sizes > 1) & (sizes <= FEW)]):
        which = np.flatnonzero(sizes == size)
        members = centred[starts[which, None] + np.arange(size)]
        squares[which] = members.transpose(0, 2, 1) @ members
    for k in np.flatnonzero(sizes > FEW):
        members = centred[starts[k] : starts[k] + sizes[k]]
        squares[k] = members.T @ members
    return squares


def _add_own(own: Floats, order: Ints, group: Ints, place: Ints, into: Floats) -> None:
    """Add the squares that members have of their own."""
    if not len(own):
        return
    member = np.flatnonzero(order < len(own))
    source, target = order[member], place[group[member]]
    begins = np.flatnonzero(np.diff(target, prepend=-1))  # members of a pattern stand together
    counts = np.diff(np.append(begins, len(target)))
    for rank in range(min(FEW, int(counts.max()))):
        at = begins[(counts > rank) & (counts <= FEW)] + rank
        into[target[at]] += own[source[at]]
    for begin, count in zip(begins[counts > FEW], counts[counts > FEW], strict=True):
        into[target[begin]] += own[source[begin : begin + count]].sum(axis=0)


def grouped(observed: Flags) -> list[tuple[Flags, Ints]]:
    """Each pattern among rows of flags, with the rows that have it."""
    order, starts = _sorted(observed)
    return [(observed[rows[0]], rows) for rows in np.split(order, starts[1:]) if len(rows)]


def stacked(observed: Flags, most: int) -> Iterator[tuple[Flags, Ints, Ints]]:
    """Patterns among rows of flags, so many at a time; their rows, and which of the patterns each of these has."""
    order, starts = _sorted(observed)
    ends = np.append(starts, len(order))
    for first in range(0, len(starts), most):
        last = min(first + most, len(starts))
        sizes = np.diff(ends[first : last + 1])
        yield (
            observed[order[starts[first:last]]],
            order[ends[first] : ends[last]],
            np.repeat(np.arange(last - first), sizes),
        )


def _sorted(observed: Flags) -> tuple[Ints, Ints]:
    """An order in which rows of the same pattern stand together, in their own order, and where each pattern starts."""
    packed = np.packbits(observed, axis=1)
    wide = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    wide[:, : packed.shape[1]] = packed
    keys = wide.view(np.uint64)
    order = np.argsort(keys[:, 0], kind="stable") if keys.shape[1] == 1 else np.lexsort(keys.T)
    keys = keys[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return order, np.flatnonzero(new)
