"""Pairs of variables of which many may be kept as one thing: a block, whose members are all joined to each other.

``y ~ x1 + ... + x2000`` lets its 2,000 causes covary: two million pairs that say no more than the list of the causes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice
from typing import overload

from halftrek.errors import GraphError
from halftrek.graphs.edges import check_name
from halftrek.graphs.order import neighbours

Pair = tuple[str, str]
_WRITTEN_OUT = 1_000  # pairs up to which the text of a block is that of its pairs


@dataclass(frozen=True, eq=False, repr=False)
class Arcs(Sequence[Pair]):
    """A sequence of pairs: those in ``loose``, then those of each block, a member with all that come after it.

    It equals the tuple of these pairs. Blocks have three members or more and share none; a pair within a block is not
    loose.
    """

    loose: tuple[Pair, ...] = ()
    blocks: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocks", tuple(map(tuple, self.blocks)))
        object.__setattr__(self, "loose", tuple(self.loose))
        for block in self.blocks:
            for name in block:
                check_name(name)
            if len(set(block)) < len(block) or len(block) < 3:
                raise GraphError("a block of bidirected edges has three names or more, each once")
        if len(self.home) < sum(map(len, self.blocks)):
            raise GraphError("blocks of bidirected edges must not share a variable")

    @cached_property
    def home(self) -> dict[str, tuple[int, int]]:
        """Of each variable in a block: which block, and its place there."""
        return {v: (k, i) for k, block in enumerate(self.blocks) for i, v in enumerate(block)}

    @cached_property
    def _loose_set(self) -> frozenset[Pair]:
        return frozenset(self.loose)

    def joins(self, u: str, v: str) -> bool:
        """True if the two are in one block."""
        one, other = self.home.get(u), self.home.get(v)
        return one is not None and other is not None and one[0] == other[0] and one != other

    def within(self, keep: Container[str]) -> Sequence[Pair]:
        """The pairs of which both ends are kept."""
        loose = tuple(pair for pair in self.loose if pair[0] in keep and pair[1] in keep)
        blocks = [tuple(v for v in block if v in keep) for block in self.blocks]
        return arcs_of((*loose, *(block for block in blocks if len(block) == 2)), [b for b in blocks if len(b) > 2])

    def names(self) -> Iterator[str]:
        """Every end, in the order in which the pairs name them first."""
        yield from dict.fromkeys((*(v for pair in self.loose for v in pair), *self.home))

    def __len__(self) -> int:
        return len(self.loose) + sum(len(block) * (len(block) - 1) // 2 for block in self.blocks)

    def __iter__(self) -> Iterator[Pair]:
        yield from self.loose
        for block in self.blocks:
            yield from combinations(block, 2)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError("there is no such pair")
        return next(islice(self, at, None))

    def __contains__(self, pair: object) -> bool:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            return False
        return pair in self._loose_set or (self.joins(*pair) and self.home[pair[0]] < self.home[pair[1]])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Arcs) and self.blocks == other.blocks:
            return self.loose == other.loose
        if not isinstance(other, Arcs | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __add__(self, other: Iterable[Pair]) -> tuple[Pair, ...]:
        return (*self, *other)

    def __radd__(self, other: Iterable[Pair]) -> tuple[Pair, ...]:
        return (*other, *self)

    def __repr__(self) -> str:
        if len(self) <= _WRITTEN_OUT:
            return repr(tuple(self))
        return f"Arcs(loose={self.loose!r}, blocks={self.blocks!r})"


def arcs_of(loose: Iterable[Pair], blocks: Iterable[Iterable[str]]) -> Sequence[Pair]:
    """The pairs, with those of the blocks kept as blocks; a plain tuple where there is no block."""
    kept = tuple(tuple(block) for block in blocks)
    if not kept:
        return tuple(loose)
    found = Arcs((), kept)
    object.__setattr__(found, "loose", tuple(pair for pair in loose if not found.joins(*pair)))
    return found


def _parts(arcs: Sequence[Pair]) -> tuple[Sequence[Pair], tuple[tuple[str, ...], ...]]:
    return (arcs.loose, arcs.blocks) if isinstance(arcs, Arcs) else (arcs, ())


def siblings_in(names: Iterable[str], arcs: Sequence[Pair]) -> dict[str, tuple[str, ...]]:
    """Whom the pairs join each name to: those it comes first with, then those it comes second with."""
    loose, blocks = _parts(arcs)
    first, second = neighbours(names, loose), neighbours(names, ((b, a) for a, b in loose))
    for block in blocks:
        for i, v in enumerate(block):
            first[v] += block[i + 1 :]
            second[v] += block[:i]
    return {v: near + second[v] for v, near in first.items()}


def degrees(arcs: Sequence[Pair]) -> Counter[str]:
    """How many pairs each variable is in."""
    loose, blocks = _parts(arcs)
    found = Counter(v for pair in loose for v in pair)
    for block in blocks:
        found.update(dict.fromkeys(block, len(block) - 1))
    return found


Unordered = tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]


def unordered_parts(arcs: Sequence[Pair]) -> Unordered:
    """Loose pairs and blocks, as sets of sets."""
    loose, blocks = _parts(arcs)
    return frozenset(map(frozenset, loose)), frozenset(map(frozenset, blocks))


def bows(arrows: Iterable[Pair], arcs: Sequence[Pair], above: Mapping[str, set[str]]) -> bool:
    """True if an arrow joins two that an arc joins as well, or a hidden cause that is ``above`` both."""
    loose, blocks = (arcs.loose, arcs) if isinstance(arcs, Arcs) else (arcs, Arcs())
    correlated = {frozenset(pair) for pair in loose}
    return any(
        frozenset((u, v)) in correlated or blocks.joins(u, v) or (u in above and v in above and above[u] & above[v])
        for u, v in arrows
    )
