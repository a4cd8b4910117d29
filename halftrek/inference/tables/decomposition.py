"""A total effect taken apart: every directed path with its share, adding up to the total."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.graphs import Graph, quoted
from halftrek.inference.evidence.few_valued import few_valued
from halftrek.inference.how import How
from halftrek.inference.tables.effects import Measured, check_ends, columns_of, ends_of, measure
from halftrek.inference.tables.legs import PathSum, along, total
from halftrek.notes import in_short, note
from halftrek.queries import TotalEffect
from halftrek.upward import Tabled

Path = tuple[str, ...]


@dataclass(frozen=True)
class Share(Portable):
    """One path (or several together) with its part of the total effect; nan where it is not known."""

    path: str
    est: float
    se: float
    ci_low: float
    ci_high: float
    share: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Portable, Tabled):
    """The total effect of ``cause`` on ``effect``, path by path; ``rows`` add up to ``total``.

    ``asked`` has the paths behind each row, and is shorter where the last row has all the others.
    """

    cause: str
    effect: str
    rows: tuple[Share, ...]
    total: Share
    paths: int
    level: float = 0.95
    library: str = ""
    asked: tuple[PathSum, ...] = ()

    def frame(self) -> Any:
        """A tidy frame: path est se ci_low ci_high share note; the last row is the total."""
        return as_frame(columns_of((*self.rows, self.total), Share), self.library)

    to_frame = frame

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


def decompose(fit: Fitted, cause: str, effect: str, how: How, *, most: int = 20) -> Decomposition:
    """The total effect along each directed path; of more than ``most`` paths the largest, and the rest in one row.

    A path with an edge that the graph does not determine has no number of its own; such paths are given together
    where the total is known.
    """
    if most < 1:
        raise InputError(f"most must be at least 1, not {most}")
    graph = fit.graph
    check_ends(graph, cause, effect)
    count = count_paths(graph, cause, effect)
    paths = _listed(fit, cause, effect, how, count, most)
    parts = tuple(along(p) for p in paths)
    found = measure(fit, [total(graph, cause, effect), *parts], how)
    known = ~np.isnan(found.values)
    whole = _share(" ~> ".join(map(quoted, (cause, effect))), found, 0, found.values[0])
    rows = [_share(" -> ".join(map(quoted, p)), found, i, found.values[0]) for i, p in enumerate(paths, 1)]
    hidden = count - len(paths)
    unknown = int((~known[1:]).sum())
    if unknown == 1 and not hidden and known[0]:  # what all others leave is this path
        i = int(np.argmin(known[1:]))
        rows[i] = replace(_rest(found, known, how, 0, 1), path=rows[i].path)
    elif hidden or (unknown and known[0]):
        rows.append(_rest(found, known, how, hidden, unknown))
    said = in_short(few_valued(fit, TotalEffect(cause, effect)))
    whole = replace(whole, note="; ".join(filter(None, (whole.note, said))))
    return Decomposition(cause, effect, tuple(rows), whole, count, how.level, fit.frame, parts)


def count_paths(graph: Graph, cause: str, effect: str) -> int:
    """Number of directed paths."""
    ways = {effect: 1}
    for v in reversed(graph.topological_order):
        if v != effect:
            ways[v] = sum(ways.get(w, 0) for w in graph.children(v))
    return ways.get(cause, 0)


def largest_paths(graph: Graph, cause: str, effect: str, size: dict[tuple[str, str], float], most: int) -> list[Path]:
    """The directed paths with the largest products of edge sizes, largest first; paths of other edges do not count.

    Best first: what a path may still reach is known exactly, so nothing is looked at in vain.
    """
    reach = {effect: 1.0}
    for v in reversed(graph.topological_order):
        if v != effect:
            onward = [size[v, w] * reach[w] for w in graph.children(v) if (v, w) in size and w in reach]
            if onward:
                reach[v] = max(onward)
    found: list[Path] = []
    waiting: list[tuple[float, Path, float]] = [(-reach[cause], (cause,), 1.0)] if cause in reach else []
    while waiting and len(found) < most:
        _, path, product = heapq.heappop(waiting)
        if path[-1] == effect:
            found.append(path)
            continue
        for w in graph.children(path[-1]):
            if (path[-1], w) in size and w in reach:
                further = product * size[path[-1], w]
                heapq.heappush(waiting, (-further * reach[w], (*path, w), further))
    return found


def _listed(fit: Fitted, cause: str, effect: str, how: How, count: int, most: int) -> list[Path]:
    """All paths, shortest first; of too many, the largest of those whose edges are known."""
    graph = fit.graph
    if count <= most:
        every = largest_paths(graph, cause, effect, dict.fromkeys(graph.directed, 1.0), count)
        order = {v: i for i, v in enumerate(graph.topological_order)}
        return sorted(every, key=lambda path: (len(path), [order[v] for v in path]))
    on_paths = [e for e in graph.directed if e[0] in graph.descendants(cause) and e[1] in graph.ancestors(effect)]
    found = measure(fit, [along(e) for e in on_paths], how)
    size = {e: abs(float(x)) for e, x in zip(on_paths, found.values, strict=True) if not np.isnan(x)}
    return largest_paths(graph, cause, effect, size, most)


def _share(name: str, found: Measured, i: int, whole: float) -> Share:
    value, (low, high) = float(found.values[i]), map(float, found.intervals[i])
    share = value / whole if whole else float("nan")
    return Share(name, value, float(found.errors[i]), low, high, float(share), found.reason(i))


def _rest(found: Measured, known: Floats, how: How, hidden: int, unknown: int) -> Share:
    """What the total leaves after the paths that have a number."""
    count = hidden + unknown
    name = "1 other path" if count == 1 else f"{count:,} other paths"
    if unknown:
        name = f"{count:,} paths without a number, together"
    nan = float("nan")
    if not known[0]:
        return Share(f"({name})", nan, nan, nan, nan, nan, found.reason(0))
    weights = np.where(known, -1.0, 0.0)
    weights[0] = 1.0
    value = float(weights @ np.nan_to_num(found.values))
    error = float(found.factor.errors(weights[None])[0])
    reach = float(found.factor.reaches(weights[None])[0])
    low, high = ends_of(value, reach, None if found.draws is None else found.draws @ weights, how)
    why = note("no information").short if np.isnan(error) else ""
    share = value / found.values[0] if found.values[0] else nan
    return Share(f"({name})", value, error, low, high, float(share), why)
