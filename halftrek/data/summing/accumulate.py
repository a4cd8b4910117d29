"""Means and centred cross-products of a stream of blocks, in one pass with cache-sized chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from halftrek.bottom.arrays import Array, Codes, Flags, Floats, Ints
from halftrek.bottom.choices import Missing
from halftrek.bottom.words import listed
from halftrek.data.columns.kinds import Coding, Kind, KindSearch
from halftrek.data.missing.gather import PatternSums
from halftrek.data.moments import Moments
from halftrek.data.weights import Counted, Sampled, Weighting
from halftrek.errors import DataError

Block = Array | Sequence[Array]  # rows x columns, or one array for each column

CHUNK = 196_608  # numbers in a chunk: 1.5 megabytes, which stays in the cache between centring and multiplying
WIDEST = 2_000_000  # numbers in the chunk of a wide table, where a product needs many rows to pay its call
FOLD = 512  # numbers in one line of a narrow table folded for centring
LOSS = 64.0  # a shift may inflate a sum of squares by this factor (six bits) before a chunk is centred again


@dataclass
class Accumulator:
    """Rows go in with :meth:`add`; :meth:`result` gives their moments.

    Chunks are shifted near their mean before they are multiplied. The shift is kept from chunk to chunk, so that this
    is one pass: it is zero at first, which is good enough for columns of moderate mean and costs nothing. A chunk for
    which the shift is too far off (which shows in the diagonal) is done again: the first one about its first row,
    later ones about their own mean. Runs of chunks with the same shift are merged by the formula of Chan, Golub and
    LeVeque. Means are kept as distances from the first shift, so that a large common offset costs no digits. Holes
    and infinities poison the sums of their chunk, so that they are searched for only in a chunk that has some.

    Weights are counts of rows, or with ``sampling`` shares of a population, of which only the ratios matter.
    """

    names: tuple[str, ...]
    missing: Missing = "error"
    sampling: bool = False
    most: int | None = None  # numbers that are kept of patterns of holes
    rows: int = 0
    dropped: int = 0
    holes: Codes = field(init=False)
    hole_rows: int = 0

    def __post_init__(self) -> None:
        p = len(self.names)
        self.holes = np.zeros(p, dtype=np.int64)
        self._origin = np.zeros(p)  # the shift of the first chunk
        self._shift = np.zeros(p)
        self._run = _Sums.empty(p)  # chunks since the last change of shift, about the shift
        self._total = _Sums.empty(p)  # everything before, about its own mean; sums hold the mean less the origin
        self._raw = np.zeros(p)  # sums of squares as multiplied ...
        self._kept = np.zeros(p)  # ... and what is left of them after centring
        self._buffer = np.empty(0)
        self._product = np.empty((p, p))
        self._patterns = PatternSums(p, self.most)  # rows with holes, for missing="fiml"
        self._unweighted = 0  # rows of weight zero
        self._kinds = KindSearch(p)
        self._lines = 0  # rows that are used ...
        self._weights = self._squares = 0.0  # ... and the sums of their weights and of the squares of these

    def add(self, block: Block, weights: Floats | None = None) -> None:
        """Take in a block of rows, chunk by chunk."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for start, stop, piece in chunks_of(block, len(self.names)):
                self._add_chunk(piece, None if weights is None else weights[start:stop], self.rows + start)
        self.rows += rows_in(block)

    def join(self, other: Accumulator) -> None:
        """Take in the rows of another, as they would be merged if they had come in one stream."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            self._close_run()
            other._close_run()
            theirs = other._total
            if theirs.n > 0.0:
                if self._total.n == 0.0:
                    self._origin = self._shift = other._origin
                self._merge(theirs.n, (other._origin - self._origin) + theirs.first, theirs.second)
        self._patterns.join(other._patterns)
        self._kinds.join(other._kinds)
        self.holes += other.holes
        self._raw += other._raw
        self._kept += other._kept
        for count in ("rows", "dropped", "hole_rows", "_unweighted", "_lines", "_weights", "_squares"):
            setattr(self, count, getattr(self, count) + getattr(other, count))

    def result(self, codings: Mapping[str, Coding] = MappingProxyType({})) -> Moments:
        """The moments of all rows so far; ``codings`` say which columns were texts."""
        if self.hole_rows:
            raise DataError(about_holes(self.names, self.holes, self.hole_rows, self.rows))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            self._close_run()
        total, mean, squares = self._total.n, self._total.first, self._total.second
        n = float(self._lines) if self.sampling else total
        if n < 2:
            raise DataError(about_few_rows(self.names, n, self.rows, self.dropped))
        cov = squares / total
        too_large = ~np.isfinite(np.diag(cov))
        if too_large.any():
            culprit = self.names[int(np.argmax(too_large))]
            raise DataError(f"the values of {culprit!r} are too large to be squared; divide the column by its scale")
        return Moments(
            self.names, n, self._origin + mean, (cov + cov.T) / 2.0, self.dropped,
            kinds=self.kinds(codings), weighting=self.weighting,
        )  # fmt: skip

    def kinds(self, codings: Mapping[str, Coding]) -> tuple[Kind, ...]:
        """What kind of numbers the columns hold, of the rows so far."""
        return self._kinds.kinds([codings.get(v) for v in self.names])

    @property
    def weighting(self) -> Weighting | None:
        """How the rows so far were weighted; None without weights."""
        if not self._weights:
            return None
        if not self.sampling:
            return Counted(float(self._lines))
        return Sampled(self._weights / self._lines, self._weights**2 / self._squares)

    def __getstate__(self) -> dict[str, object]:
        """What goes to another process: not the buffers."""
        return {name: part for name, part in vars(self).items() if name not in ("_buffer", "_product")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        p = len(self.names)
        self._buffer, self._product = np.empty(0), np.empty((p, p))

    def patterns(self) -> PatternSums | None:
        """The rows so far by pattern of missingness; None if no row has a hole."""
        if not self.hole_rows:
            return None
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            self._close_run()
        total = self._total
        if total.n > 0.0:
            whole, count = np.ones(len(self.names), dtype=bool), self.rows - self.hole_rows - self._unweighted
            self._patterns.merge(whole, count, total.n, self._origin + total.first, total.second)
        self._total = _Sums.empty(len(self.names))
        return self._patterns

    # -- one chunk -------------------------------------------------------------------------------

    def _add_chunk(self, piece: Block, weights: Floats | None, first_row: int) -> None:
        if weights is not None and (weights == 0.0).any():
            keep = weights != 0.0
            self._unweighted += int((~keep).sum())
            piece, weights = rows_of(piece, keep), weights[keep]
        if not rows_in(piece):
            return
        sums = self._multiply(piece, weights)
        if not np.isfinite(sums.first).all():
            whole = self._without_holes(piece, weights, first_row)
            if whole is None:
                return
            piece, weights = whole
            sums = self._multiply(piece, weights)
        for _ in range(2):
            if self._precise(sums):
                break
            self._move_shift(piece, sums)
            sums = self._multiply(piece, weights)
        self._count(piece, weights)
        run = self._run
        run.n += sums.n
        run.first += sums.first
        run.second += sums.second

    def _count(self, piece: Block, weights: Floats | None) -> None:
        """Remember what rows that are used are like, and their weights."""
        self._kinds.add(piece)
        self._lines += rows_in(piece)
        if weights is not None:
            self._weights += float(weights.sum())
            self._squares += float((weights**2).sum())

    def _multiply(self, piece: Block, weights: Floats | None) -> _Sums:
        """Sums and cross-products about the shift; the cross-products live in a buffer that the next call reuses."""
        count = rows_in(piece)
        centred = self._centred(piece, weights is None)
        if weights is None:
            n, first = float(count), column_sums(centred)
        else:
            n, first = float(weights.sum()), weights @ centred
            centred *= np.sqrt(weights)[:, None]
        np.matmul(centred.T, centred, out=self._product)
        return _Sums(n, first, self._product)

    def _centred(self, piece: Block, as_is: bool) -> Floats:
        """The chunk about the shift, in the buffer; the chunk itself if it may stay as it is."""
        count, p = rows_in(piece), len(self.names)
        if as_is and isinstance(piece, np.ndarray) and multiplies_fast(piece) and not self._shift.any():
            return piece
        if self._buffer.size < count * p:
            self._buffer = np.empty(count * p)
        flat = self._buffer[: count * p]
        if isinstance(piece, np.ndarray) and piece.flags.c_contiguous:
            lines = (count // fold_of(count, p), -1)  # numpy is slow on short rows: centre several as one line
            shift = np.tile(self._shift, fold_of(count, p))
            np.subtract(piece.reshape(lines), shift, out=flat.reshape(lines), dtype=np.float64)
            return flat.reshape(count, p)
        centred = flat.reshape(p, count).T
        if isinstance(piece, np.ndarray):
            np.subtract(piece, self._shift, out=centred, dtype=np.float64)
        else:
            for k, column in enumerate(piece):
                np.subtract(column, self._shift[k], out=centred[:, k], dtype=np.float64)
        return centred

    def _precise(self, sums: _Sums) -> bool:
        """Whether the digits lost to the shift so far, this chunk included, are few; counts the chunk if so."""
        raw = np.diag(sums.second)
        kept = np.maximum(raw - sums.first**2 / sums.n, 0.0)
        good = bool((self._raw + raw <= LOSS * (self._kept + kept)).all())
        if good:
            self._raw += raw
            self._kept += kept
        return good

    def _move_shift(self, piece: Block, sums: _Sums) -> None:
        """To the mean of a chunk; at the start to its first row, in which constant columns have their exact value."""
        self._close_run()
        if self._total.n == 0.0 and not self._shift.any():
            self._origin = self._shift = as_table(rows_of(piece, slice(0, 1)))[0]
        else:
            self._shift = self._shift + sums.first / sums.n

    def _close_run(self) -> None:
        """Merge the chunks of the present shift into the total."""
        run = self._run
        if run.n == 0.0:
            return
        distance = run.first / run.n
        run.second -= np.outer(run.first, distance)
        self._merge(run.n, (self._shift - self._origin) + distance, run.second)
        self._run = _Sums.empty(len(self.names))

    def _merge(self, n: float, mean: Floats, squares: Floats) -> None:
        """Add rows with this mean (less the origin) and these squares about it to the total."""
        total = self._total
        gap, both = mean - total.first, total.n + n
        total.second += squares + np.outer(gap, gap) * (total.n * n / both)
        total.first = total.first + gap * (n / both)
        total.n = both

    # -- holes -----------------------------------------------------------------------------------

    def _without_holes(
        self, piece: Block, weights: Floats | None, first_row: int
    ) -> tuple[Block, Floats | None] | None:
        """The complete rows of a chunk; counts the others. Infinite values are refused at once."""
        table = as_table(piece)
        infinite = np.isinf(table)
        if infinite.any():
            row, column = (int(i) for i in np.argwhere(infinite)[0])
            place = f" (row {first_row + row + 1})" if weights is None else ""
            raise DataError(
                f"column {self.names[column]!r} holds an infinite value{place}; remove or replace it before reading"
            )
        hole = np.isnan(table)
        bad = hole.any(axis=1)
        if not bad.any():  # finite values whose sum is not
            culprit = self.names[int(np.argmax(~np.isfinite((table - self._shift).sum(axis=0))))]
            raise DataError(f"the values of {culprit!r} are too large to be summed; divide the column by its scale")
        if self.missing == "error":
            self.holes += hole.sum(axis=0)
            self.hole_rows += int(bad.sum())
        elif self.missing == "fiml":
            self.hole_rows += int(bad.sum())
            self._patterns.add(table[bad], None if weights is None else weights[bad])
            some = bad & ~hole.all(axis=1)
            self._count(table[some], None if weights is None else weights[some])
        else:
            self.dropped += int(bad.sum())
        if bad.all():
            return None
        return table[~bad], None if weights is None else weights[~bad]


@dataclass
class _Sums:
    """A number of rows, their sums, and their cross-products."""

    n: float
    first: Floats
    second: Floats

    @staticmethod
    def empty(p: int) -> _Sums:
        return _Sums(0.0, np.zeros(p), np.zeros((p, p)))


# -- what cannot be used ---------------------------------------------------------------------------


def about_holes(names: Sequence[str], holes: Codes, hole_rows: int, rows: int) -> str:
    """Where values are missing, and what to do about it; ``holes`` counts them by column."""
    where = [f"{v} ({k})" for v, k in zip(names, holes, strict=True) if k]
    counted = "1 row has" if hole_rows == 1 else f"{hole_rows} of {rows} rows have"
    return (
        f'{counted} missing values, in {listed(where, quote=False)}; leave such rows out with missing="drop", or fill '
        f"the values"
    )


def about_few_rows(names: Sequence[str], n: float, rows: int, dropped: int) -> str:
    """Why there are too few rows for a variance."""
    if dropped:
        return f"fewer than 2 of {rows} rows are complete in {listed(names)}; use fewer columns"
    if rows >= 2:
        return f"the weights leave {n:g} of {rows} rows; at least 2 are needed for a variance"
    counted = "no rows" if rows == 0 else f"only {rows} row"
    return f"the data have {counted}; at least 2 are needed for a variance"


# -- blocks, whatever their form -----------------------------------------------------------------


def rows_in(block: Block) -> int:
    """Number of rows of a block."""
    if isinstance(block, np.ndarray):
        return int(block.shape[0])
    return len(block[0]) if len(block) else 0


def rows_of(block: Block, which: slice | Ints | Flags) -> Block:
    """Some rows of a block (a slice gives views)."""
    return block[which] if isinstance(block, np.ndarray) else [column[which] for column in block]


def as_table(block: Block) -> Floats:
    """A block as one float array."""
    if isinstance(block, np.ndarray):
        return np.asarray(block, dtype=np.float64)
    return np.stack([np.asarray(column, dtype=np.float64) for column in block], axis=1)


def chunks_of(block: Block, p: int) -> Iterator[tuple[int, int, Block]]:
    """Pieces of a block small enough for the cache, yet long enough that a multiplication is worth its call."""
    size = max(CHUNK // p, min(64 * p, WIDEST // p), 64)
    count = rows_in(block)
    if count > size:  # of one length: a short last piece would cost a call like a long one
        size = -(-count // -(-count // size))
    size += -size % max(1, FOLD // p)
    for start in range(0, count, size):
        stop = min(start + size, count)
        yield start, stop, rows_of(block, slice(start, stop))


def fold_of(count: int, p: int) -> int:
    """How many rows of a narrow table to treat as one line: a divisor of their number."""
    wanted = FOLD // p
    while wanted > 1 and count % wanted:
        wanted //= 2
    return max(wanted, 1)


def multiplies_fast(piece: Array) -> bool:
    """Whether the product of a piece with itself needs no copy."""
    return piece.dtype == np.float64 and piece.flags.aligned and piece.itemsize in piece.strides


def column_sums(centred: Floats) -> Floats:
    """Sums of the columns by a matrix product, folded where rows are short."""
    count, p = centred.shape
    if not centred.flags.c_contiguous:
        return np.asarray(np.ones(count) @ centred)
    folds = fold_of(count, p)
    lines = np.ones(count // folds) @ centred.reshape(count // folds, folds * p)
    return np.asarray(lines.reshape(folds, p).sum(axis=0))
