"""Moments by group in one pass over the rows: arrays with one entry for each group, patterns where rows have holes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import Any, cast

import numpy as np

from halftrek.bottom.arrays import Codes, Floats
from halftrek.bottom.choices import Missing
from halftrek.bottom.portable import Portable
from halftrek.data.by_group.group_parts import GroupState, codings_of, joined, of_part, refuse_holes
from halftrek.data.by_group.group_sums import GroupSums
from halftrek.data.check import refuse_rounded
from halftrek.data.columns.kinds import Kind
from halftrek.data.columns.kinds import merged as merged_kinds
from halftrek.data.missing.gather import PatternSums
from halftrek.data.missing.patterns import Patterns, patterns_of
from halftrek.data.moments import Moments
from halftrek.data.read import answered, opened_source
from halftrek.data.rows import RowReader
from halftrek.data.summing.passes import gather
from halftrek.data.summing.summed import kinds_of
from halftrek.data.weights import Counted, RowWeights, Sampled, Weighting
from halftrek.errors import DataError


@dataclass(frozen=True, eq=False)
class GroupMoments(Portable):
    """``keys`` name the groups; ``n``, ``mean``, ``cov`` (divisor n) and ``dropped`` have one entry for each.

    ``weighting`` has one for each group too, and ``kinds`` are those of the columns over all groups; see ``Moments``.
    A group that has rows with holes is in ``patterns``, by its place; its ``n`` counts rows with any value, and it has
    no moments (nan). ``troubles`` says, by place, why what a group has cannot be used. ``by`` are the columns whose
    combinations are the groups, where they were given as a list: then keys are tuples of their labels.
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
    by: tuple[str, ...] = ()

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


def stack_groups(
    groups: Mapping[object, Moments | Patterns], names: Sequence[str], by: Sequence[str] = ()
) -> GroupMoments:
    """Moments (or patterns) by group that are known already; ``by`` names the parts of keys that are tuples."""
    if not groups:
        raise DataError("there is no group to fit")
    for key in groups if by else ():
        if not isinstance(key, tuple) or len(key) != len(by):
            raise DataError(f"the key {key!r} of a group is not one label for each of {', '.join(map(repr, by))}")
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
            by=tuple(by),
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


def read_groups(reader: RowReader, *, missing: Missing = "fiml", by: tuple[str, ...] = ()) -> GroupMoments:
    """Moments of the rows of each group; ``by`` names its parts, if it has several.

    Rows with a hole in one of the columns are kept by pattern ("fiml"), left out and counted ("drop"), or refused.
    Groups are in the order of their labels if these can be sorted, otherwise of their first appearance.
    """
    wanted = reader.names
    found = _summed(reader, missing)
    if found is None:
        labels = tuple(v for v in reader.by if isinstance(v, str))
        gathered = gather(reader, partial(of_part, wanted, missing), joined, together=labels)
        gathered.codings = codings_of(reader, gathered.codings)
        found = gathered, gathered.kinds
    (whole, kinds), state = found, found[0].sums
    codes = whole.codes
    if not codes:
        raise DataError("there are no rows, so there are no groups")
    keys = _keys(codes, several=bool(by))
    order = _sorted(keys)
    total, lines = state.n[order], state.lines[order]
    cov = state.squares[order] / np.maximum(total, 1e-300)[:, None, None]
    _refuse_too_large(wanted, cov)
    weighting = None if reader.weights is None else state.weighting(order, sampling=reader.sampling is not None)
    groups = GroupMoments(
        tuple(keys[i] for i in order),
        wanted,
        total if reader.sampling is None else lines.astype(float),
        (state.origin + state.mean)[order],
        (cov + cov.transpose(0, 2, 1)) / 2.0,
        state.dropped[order],
        kinds=kinds,
        weighting=weighting,
        by=by,
    )
    refuse_rounded(wanted, groups.mean, groups.cov.diagonal(axis1=1, axis2=2))
    return _completed(groups, state, whole.incomplete, order, reader)


def _summed(reader: RowReader, missing: Missing) -> tuple[GroupState, tuple[Kind, ...]] | None:
    """From the sums of an engine that makes them itself; None for one that does not."""
    columns = tuple(v for v in reader.by if isinstance(v, str))
    weights = RowWeights(reader.weights, reader.sampling is not None)
    with opened_source(reader.source, reader.names, reader.categories) as source:
        summed = answered(source, reader.names, weights, columns) if len(columns) == len(reader.by) else None
        if summed is None:
            return None
        request, sums = summed
        kinds = kinds_of(request, sums, source.codings)
    if missing == "error" and not sums.observed.all():
        refuse_holes(reader.names, ~sums.observed)
    found = GroupState(reader.names)
    codes, state, incomplete = found.codes, found.sums, found.incomplete
    state.take(sums, [codes.setdefault(label, len(codes)) for label in sums.labels], len(codes))
    if missing == "fiml":
        for k in np.flatnonzero(~sums.observed.all(axis=1)):
            one = incomplete.setdefault(codes[sums.labels[k]], PatternSums(len(reader.names)))
            mean = np.where(sums.observed[k], sums.origin + sums.mean[k], 0.0)
            squares = sums.squares[k] if sums.rows[k] > 1 else None
            one.merge(sums.observed[k], int(sums.rows[k]), float(sums.n[k]), mean, squares)
            state.squared_incomplete[codes[sums.labels[k]]] += sums.squared[k]
    return found, kinds


def rows_by_group(reader: RowReader, groups: GroupMoments) -> Mapping[Hashable, RowReader]:
    """The rows of each group on their own: where an engine has them, or by one pass that takes them into memory."""
    there = _left_there(reader, groups)
    if there is not None:
        return there
    codes: dict[tuple[Hashable, ...], int] = {}
    blocks = list(reader.blocks(groups=codes))
    values = np.concatenate([b.values for b in blocks])
    code = np.concatenate([b.group for b in blocks if b.group is not None])
    clusters = None if reader.cluster is None else np.concatenate([b.cluster for b in blocks if b.cluster is not None])
    weights = None if reader.weights is None else np.concatenate([b.weights for b in blocks if b.weights is not None])
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(codes)))
    found = {}
    place = {key: i for i, key in enumerate(groups.keys)}
    for key, rows in zip(_keys(codes, several=bool(groups.by)), np.split(order, ends[:-1]), strict=True):
        if key not in place:
            raise DataError(f"the data have a group {key!r} now that they had not when the model was fitted; fit again")
        one = groups.weighting_of(place[key])
        found[key] = replace(
            reader,
            source=values[rows],
            weights=None if weights is None else weights[rows],
            cluster=None if clusters is None else clusters[rows],
            by=(),
            missing="fiml" if place[key] in groups.patterns else "drop",
            columns=(),
            categories=(),
            sampling=one.mean if isinstance(one, Sampled) else None,
        )
    return found


@dataclass(frozen=True)
class _LeftThere(Mapping[Hashable, RowReader]):
    """The rows of each group as a query of the engine that holds them, made when the group is asked for.

    An engine takes milliseconds and memory for each query: too much for those of all of fifty thousand groups.
    """

    reader: RowReader
    groups: GroupMoments
    columns: tuple[str, ...]
    where: Callable[[Mapping[str, object]], object]

    @cached_property
    def place(self) -> dict[Hashable, int]:
        return {key: i for i, key in enumerate(self.groups.keys)}

    def __getitem__(self, key: Hashable) -> RowReader:
        i = self.place[key]
        labels = self.groups.keys[i] if self.groups.by else (self.groups.keys[i],)
        one = self.groups.weighting_of(i)
        return replace(
            self.reader,
            source=self.where(dict(zip(self.columns, labels, strict=True))),
            by=(),
            missing="fiml" if i in self.groups.patterns else "drop",
            sampling=one.mean if isinstance(one, Sampled) else None,
        )

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.groups.keys)

    def __len__(self) -> int:
        return len(self.groups)


def _left_there(reader: RowReader, groups: GroupMoments) -> _LeftThere | None:
    """The rows of each group where an engine has them; None where none does."""
    columns = tuple(v for v in reader.by if isinstance(v, str))
    with opened_source(reader.source, reader.names, reader.categories) as source:
        where = source.where
    if where is None or len(columns) < len(reader.by):
        return None
    return _LeftThere(reader, groups, columns, where)


def _keys(codes: Iterable[tuple[Hashable, ...]], *, several: bool) -> list[Hashable]:
    """Labels as users know them: whole numbers, and a tuple only where several columns were asked for."""
    if not several:
        return [int(x) if isinstance(x, float) and x.is_integer() else x for x, *_ in codes]
    return [tuple(int(x) if isinstance(x, float) and x.is_integer() else x for x in labels) for labels in codes]


# -- rows with holes -------------------------------------------------------------------------------


def _completed(
    groups: GroupMoments,
    state: GroupSums,
    incomplete: Mapping[int, PatternSums],
    order: Sequence[int],
    reader: RowReader,
) -> GroupMoments:
    """The groups with the patterns of those that have holes, complete rows among them."""
    place = {code: i for i, code in enumerate(order)}
    patterns, troubles = {}, {}
    n, dropped = groups.n.copy(), groups.dropped.copy()
    for code, sums in incomplete.items():
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
            weighting = Sampled(1.0, total**2 / float(state.squared_weights[code] + state.squared_incomplete[code]))
        try:
            found = patterns_of(groups.names, sums, kinds=groups.kinds, weighting=weighting)
            assert isinstance(found, Patterns)
            patterns[i] = found
        except DataError as error:
            troubles[i] = str(error)
    return _without_moments(replace(groups, n=n, dropped=dropped), patterns, troubles)


def _refuse_too_large(names: Sequence[str], cov: Floats) -> None:
    bad = ~np.isfinite(cov.diagonal(axis1=1, axis2=2)).all(axis=0)
    if bad.any():
        culprit = names[int(np.argmax(bad))]
        raise DataError(f"the values of {culprit!r} are too large to be squared; divide the column by its scale")


def _sorted(keys: list[Hashable]) -> list[int]:
    """The places of the labels in their order; as they come where labels of several kinds have none."""
    try:
        return sorted(range(len(keys)), key=cast("list[str]", keys).__getitem__)
    except TypeError:
        return list(range(len(keys)))
