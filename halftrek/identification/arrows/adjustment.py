"""The formulas that people know by name: back-door adjustment, its generalisation, and the front door."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import reduce
from itertools import combinations
from operator import and_

from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.graphs.independences.separation import Walks
from halftrek.graphs.independences.separators import minimal_separators


def adjustment_set(graph: Graph, causes: str | Iterable[str], outcomes: str | Iterable[str]) -> tuple[str, ...] | None:
    """A minimal set Z with ``P(y | do(x)) = Σ_z P(y | x, z) P(z)``, or None if there is none.

    Generalised adjustment (Shpitser et al. 2010, Perković et al. 2018), complete: Z holds no descendant of a variable
    on a directed path from x to y, and blocks all other paths. Sets without descendants of x (back-door) come first.
    """
    xs, ys = _sides(causes, outcomes)
    open_paths = Walks(graph, _causal_starts(graph, xs, ys))
    above = graph.ancestors((*xs, *ys))
    pool = above - forbidden(graph, xs, ys)
    for candidates in dict.fromkeys((pool - graph.descendants(xs), pool)):
        if open_paths.separated(xs, ys, candidates, within=above):
            chosen = [v for v in graph.topological_order if v in candidates]
            for v in list(chosen):
                fewer = [w for w in chosen if w != v]
                if open_paths.separated(xs, ys, fewer, within=above):
                    chosen = fewer
            return tuple(chosen)
    return None


def adjustment_sets(
    graph: Graph, causes: str | Iterable[str], outcomes: str | Iterable[str]
) -> Iterator[tuple[str, ...]]:
    """All minimal adjustment sets, each once and with polynomial delay, those next to the causes first.

    There may be exponentially many: take what you need with ``itertools.islice``.
    """
    xs, ys = _sides(causes, outcomes)
    found = minimal_separators(graph, xs, ys, without=_causal_starts(graph, xs, ys), never=forbidden(graph, xs, ys))
    return (_in_order(graph, chosen) for chosen in found)


def single_door_sets(graph: Graph, cause: str, outcome: str) -> Iterator[tuple[str, ...]]:
    """All minimal sets Z for which the slope of the cause in the regression of the outcome on it and Z is the arrow's.

    Z separates the two where the arrow is missing (Pearl's single-door criterion); with polynomial delay.
    """
    found = minimal_separators(graph, *_sides(cause, outcome), without=[(cause, outcome)])
    return (_in_order(graph, chosen) for chosen in found)


def _sides(causes: str | Iterable[str], outcomes: str | Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    xs, ys = ((given,) if isinstance(given, str) else tuple(given) for given in (causes, outcomes))
    if not xs or not ys:
        raise QueryError("an adjustment needs at least one cause and one outcome")
    both = [v for v in xs if v in ys]
    if both:
        raise QueryError(f"{both[0]!r} is a cause and an outcome; name it once")
    return xs, ys


def _in_order(graph: Graph, chosen: Collection[str]) -> tuple[str, ...]:
    return tuple(v for v in graph.topological_order if v in chosen)


def forbidden(graph: Graph, causes: tuple[str, ...], outcomes: tuple[str, ...]) -> frozenset[str]:
    """Variables that must not be adjusted for: causes, outcomes, descendants of what lies between them."""
    between = _on_causal_paths(graph, causes, outcomes)
    return graph.descendants(between) | set(causes) | set(outcomes) if between else frozenset({*causes, *outcomes})


def _on_causal_paths(graph: Graph, causes: tuple[str, ...], outcomes: tuple[str, ...]) -> frozenset[str]:
    """Variables other than the causes on directed paths that leave the causes for good."""
    down: set[str] = set()
    stack = [c for x in causes for c in graph.children(x) if c not in causes]
    while stack:
        v = stack.pop()
        if v not in down:
            down.add(v)
            stack += [c for c in graph.children(v) if c not in causes]
    up, stack = set(), [y for y in outcomes if y not in causes]
    while stack:
        v = stack.pop()
        if v not in up:
            up.add(v)
            stack += [p for p in graph.parents(v) if p not in causes]
    return frozenset(down & up)


def _causal_starts(graph: Graph, causes: tuple[str, ...], outcomes: tuple[str, ...]) -> list[tuple[str, str]]:
    """The first arrow of every directed path from the causes to the outcomes."""
    between = _on_causal_paths(graph, causes, outcomes)
    return [(x, v) for x in causes for v in graph.children(x) if v in between]


def front_door_set(graph: Graph, cause: str, outcome: str, *, largest: int = 3) -> tuple[str, ...] | None:
    """Mediators M with ``P(y | do(x)) = Σ_m P(m | x) Σ_x' P(y | x', m) P(x')`` (Pearl 1995), smallest first.

    M meets every directed path from x to y; nothing confounds x and M; x blocks all back doors from M to y. Sets of
    more than ``largest`` mediators are not looked for.
    """
    between = _on_causal_paths(graph, (cause,), (outcome,)) - {outcome}
    if not between:
        return None
    no_out = _without_arrows_out(graph, {cause})
    clean = [m for m in graph.topological_order if m in between and no_out.separated((cause,), (m,), ())]
    order = [v for v in graph.topological_order if v in between or v == outcome]
    for size in range(1, min(largest, len(clean)) + 1):
        for chosen in _cuts(graph, cause, order, clean, size):
            shielded = _without_arrows_out(graph, set(chosen))
            if shielded.separated(chosen, (outcome,), (cause,)):
                return chosen
    return None


def _cuts(graph: Graph, cause: str, order: list[str], clean: list[str], size: int) -> Iterator[tuple[str, ...]]:
    """The sets of so many clean mediators that meet every directed path, in the order of ``combinations``.

    ``order`` are the variables on these paths, the outcome last. The last mediator is not searched for: it is one that
    all paths share which the others leave open.
    """
    place = {v: k for k, v in enumerate(clean)}
    for others in combinations(clean, size - 1):
        later = clean[place[others[-1]] + 1 :] if others else clean
        shared = _on_all_paths(graph, cause, order, set(others)) if later else set()
        for last in later:
            if shared is None or last in shared:
                yield (*others, last)


def _without_arrows_out(graph: Graph, variables: set[str]) -> Walks:
    return Walks(graph, [(u, v) for u in variables for v in graph.children(u)])


def _on_all_paths(graph: Graph, cause: str, order: list[str], without: set[str]) -> set[str] | None:
    """Variables on every directed path from the cause to the last in ``order``; None if nothing leads there."""
    met = {cause: 0}  # who lies on all paths to a variable, as bits
    for k, v in enumerate(order):
        before = [met[u] for u in graph.parents(v) if u in met]
        if before and v not in without:
            met[v] = reduce(and_, before) | 1 << k
    bits = met.get(order[-1])
    return None if bits is None else {v for k, v in enumerate(order) if bits >> k & 1}
