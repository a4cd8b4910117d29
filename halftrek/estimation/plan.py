"""From a graph to the small problems that its likelihood splits into; no data yet.

Districts of one variable are regressions. All others become a ``Task``: a ``Shape`` and the places in the moment matrix
that feed it. Coefficients that share a label tie their districts into one task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.district.shape import Shape
from halftrek.estimation.given.options import Options
from halftrek.graphs import Coefficient, Edge, Graph
from halftrek.graphs.as_written import Written
from halftrek.graphs.order import reachable
from halftrek.graphs.reach import reach_of

if TYPE_CHECKING:
    from halftrek.estimation.fast.together import Bunch

PAD = -1


@dataclass(frozen=True)
class Task:
    """One district (or several that share labels): whose moments it needs, and what its parameters mean.

    ``slots``: source column of each slot (PAD: none); ``members``: source column of each member. ``ties``: for each
    parameter None (free), a number (fixed) or a label. ``pair_latents``: hidden causes of two children that are fitted
    as one error covariance. ``about_origin``: some intercept is fixed, so moments are taken about zero. ``order``:
    members in causal order, if that is not the order in which they stand. ``before``: sources that no member causes.
    """

    shape: Shape
    variables: tuple[int, ...]
    slots: tuple[int, ...]
    members: tuple[int, ...]
    latents: tuple[int, ...]
    fixed_noise: tuple[tuple[int, float], ...] = ()
    fixed_pairs: tuple[tuple[int, int, float], ...] = ()
    ties: tuple[float | str | None, ...] | None = None
    pair_latents: tuple[tuple[int, tuple[int, int]], ...] = ()
    several_starts: bool = False
    about_origin: bool = False
    order: tuple[int, ...] = ()
    before: frozenset[int] = frozenset()

    @property
    def plain(self) -> bool:
        """True if nothing in it is fixed or tied."""
        return self.ties is None and not self.fixed_noise and not self.fixed_pairs

    @cached_property
    def free(self) -> int:
        """Number of its free parameters: what is tied counts once, a slot without a regressor not at all."""
        unused = self.slots.count(PAD)
        if self.ties is None:
            return self.shape.parameters - unused
        return self.ties.count(None) - unused + len({tie for tie in self.ties if isinstance(tie, str)})

    @cached_property
    def where(self) -> Ints:
        """Source columns of slots and members."""
        return np.array((*self.slots, *self.members), dtype=np.intp)

    @cached_property
    def places(self) -> tuple[Ints, Ints, Ints]:
        """Of the slots that have a regressor: which they are, and the row and column of their coefficients in T."""
        own = [a for a, slot in enumerate(self.slots) if slot != PAD]
        return (
            np.array(own, dtype=np.intp),
            np.array([self.slots[a] for a in own], dtype=np.intp),
            np.array([self.variables[self.shape.column[a]] for a in own], dtype=np.intp),
        )

    @cached_property
    def causal(self) -> tuple[Ints, Ints]:
        """Places of (slots, members) in causal order, each source once, and where in this list the members stand.

        Before a member stand its slots, and all members and their slots that come before it.
        """
        found: dict[int, int] = {PAD: PAD}
        own = []
        for j in self.order or range(self.shape.size):
            for a, slot in enumerate(self.slots):
                if self.shape.column[a] == j:
                    found.setdefault(slot, a)
            own.append(len(found) - 1)
            found[self.members[j]] = self.shape.slots + j
        return np.array(list(found.values())[1:], dtype=np.intp), np.array(own, dtype=np.intp)

    @cached_property
    def spare(self) -> int:
        """How many numbers of the district's moments its parameters leave unexplained, if each explains one."""
        _, own = self.causal
        return int(own.sum()) + len(own) - self.free

    def explicit(self) -> Task:
        """The same task with every hidden cause of two children given loadings of its own."""
        extra = [(len(self.latents) + i, j) for i, (_, ends) in enumerate(self.pair_latents) for j in ends]
        owned = {ends for _, ends in self.pair_latents}
        pairs = tuple(p for p in self.shape.pairs if p not in owned)
        shape = Shape(self.shape.size, self.shape.column, pairs, self.shape.noisy, (*self.shape.loadings, *extra))
        ties = None
        if self.ties is not None:
            at = self.shape.at
            keep = [t for p, t in zip(self.shape.pairs, self.ties[at.w], strict=True) if p not in owned]
            ties = (*self.ties[at.t], *keep, *self.ties[at.v], *self.ties[at.c], *[None] * len(extra))
        latents = (*self.latents, *(k for k, _ in self.pair_latents))
        return Task(
            shape, self.variables, self.slots, self.members, latents, self.fixed_noise, self.fixed_pairs, ties,
            (), True, self.about_origin, self.order, self.before,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Regressions:
    """Districts of one variable with the same number of slots, as index arrays: row i of ``slots`` feeds target i."""

    about_origin: bool
    target: Ints
    source: Ints
    slots: Ints
    held: Floats | None  # noise variances that are fixed, nan elsewhere

    @staticmethod
    def of(
        about_origin: bool, rows: list[tuple[int, int, tuple[int, ...]]], fixed_noise: dict[int, float]
    ) -> Regressions:
        held = np.array([fixed_noise.get(v, np.nan) for v, _, _ in rows])
        return Regressions(
            about_origin,
            np.array([v for v, _, _ in rows], dtype=np.intp),
            np.array([s for _, s, _ in rows], dtype=np.intp),
            np.array([slots for _, _, slots in rows], dtype=np.intp).reshape(len(rows), -1),
            None if np.isnan(held).all() else held,
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything about a graph that a fit needs and that does not depend on data.

    Sources 0..p-1 are the observed variables; a variable with fixed coefficients or a fixed intercept has a further
    source, the variable less what is fixed; the last is the constant one. ``mixing`` makes the moments of the sources.
    """

    names: tuple[str, ...]
    latents: tuple[str, ...]
    fixed_T: Floats
    fixed_mu: dict[int, float]
    fixed_noise: dict[int, float]
    mixing: Floats | None
    constant: int
    turnable: tuple[tuple[int, int], ...] = ()  # hidden causes whose sign is free, with their first child
    singles: dict[tuple[int, bool], list[tuple[int, int, tuple[int, ...]]]] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ()

    @cached_property
    def regressions(self) -> tuple[Regressions, ...]:
        """Districts of one variable, those with the same number of slots together."""
        return tuple(Regressions.of(origin, rows, self.fixed_noise) for (_, origin), rows in self.singles.items())

    @cached_property
    def groups(self) -> tuple[tuple[Task, ...], ...]:
        """The tasks by shape."""
        from halftrek.estimation.district.grouping import group_tasks

        return group_tasks(self.tasks)

    @cached_property
    def bunches(self) -> tuple[tuple[Bunch, ...], tuple[tuple[Task, ...], ...]]:
        """For a single data set: plain tasks of any shape together, and the others by shape."""
        from halftrek.estimation.district.grouping import group_tasks
        from halftrek.estimation.fast.together import bunches_of

        bunches, alone, others = bunches_of(self.tasks)
        return bunches, (*((task,) for task in alone), *group_tasks(others, len(self.tasks) - len(others)))

    @cached_property
    def every_task(self) -> tuple[Task, ...]:
        """All districts as tasks, those of one variable too."""
        return (*self._single_tasks(), *self.tasks)

    def _single_tasks(self) -> Iterator[Task]:
        for (_, about_origin), rows in self.singles.items():
            for v, source, slots in rows:
                held = ((0, self.fixed_noise[v]),) if v in self.fixed_noise else ()
                shape = Shape(1, (0,) * len(slots), (), () if held else (0,))
                yield Task(shape, (v,), slots, (source,), (), held, about_origin=about_origin)


def make_plan(graph: Graph, names: tuple[str, ...], options: Options, *, raw: bool = False) -> Plan:
    """The plan of a graph; ``names`` gives the order of variables.

    ``raw``: take all moments about zero, with every free intercept as a coefficient of the constant.
    """
    return remembered_plan(Written(graph), names, options, raw)


@lru_cache(maxsize=128)
def remembered_plan(written: Written, names: tuple[str, ...], options: Options, raw: bool) -> Plan:
    """The plan of a graph as it is written, made once."""
    graph = written.graph.opened
    place = {v: i for i, v in enumerate(names)}
    p = len(names)
    known = {Edge.read(text): value for text, value in graph.restrictions.items()}
    fixed_T = np.zeros((p, p)) if known else np.zeros((0, 0))
    fixed = {(u, v) for u, v in graph.directed if known and isinstance(known.get(Edge(u, "->", v)), float)}
    for u, v in fixed:
        fixed_T[place[u], place[v]] = known[Edge(u, "->", v)]
    fixed_mu = {place[v]: value for v, value in options.intercepts}
    fixed_noise = {place[v]: value for v, value in options.noise}
    derived = [place[v] for v in names if place[v] in fixed_mu or (fixed and fixed_T[:, place[v]].any())]
    source = {v: v for v in range(p)} | {v: p + i for i, v in enumerate(derived)}
    constant = p + len(derived)
    districts = _tied_districts(graph, known)
    home = {v: members[0] for members in districts for v in members}
    arcs: dict[str, list[tuple[str, str]]] = {}
    for u, v in graph.bidirected:
        arcs.setdefault(home[u], []).append((u, v))
    rank = {u: k for k, u in enumerate(graph.latents)}
    builder = _Builder(graph, known, place, source, fixed, fixed_mu, fixed_noise, constant, raw, arcs, rank)
    singles: dict[tuple[int, bool], list[tuple[int, int, tuple[int, ...]]]] = {}
    tasks: list[Task] = []
    for members in districts:
        if builder.is_single(members):
            at = place[members[0]]
            slots, about_origin = builder.single_slots(members[0])
            singles.setdefault((len(slots), about_origin), []).append((at, source[at], slots))
        else:
            tasks.append(builder.task(members))
    mixing = _mixing(p, derived, fixed_T, fixed_mu) if derived or raw else None
    latents = tuple(graph.latents)
    first = {u: min((place[c] for c in kids), default=-1) for u, kids in graph.latents.items()}
    turnable = tuple((k, first[u]) for k, u in enumerate(latents) if first[u] >= 0 and _turnable(graph, known, u))
    return Plan(names, latents, fixed_T, fixed_mu, fixed_noise, mixing, constant, turnable, singles, tuple(tasks))


def _turnable(graph: Graph, known: Mapping[Edge, Coefficient], latent: str) -> bool:
    """True if nothing tells the sign of a hidden cause: no loading is known, or equal to another's."""
    mine = [known[edge] for c in graph.latents[latent] if (edge := Edge(latent, "->", c)) in known]
    labels = {value for value in mine if isinstance(value, str)}
    elsewhere = sum(value in labels for value in known.values()) > sum(value in labels for value in mine)
    return not elsewhere and all(value in labels or value == 0.0 for value in mine)


def _mixing(p: int, derived: list[int], fixed_T: Floats, fixed_mu: dict[int, float]) -> Floats:
    mixing = np.zeros((p + 1, p + len(derived) + 1))
    mixing[:p, :p] = np.eye(p)
    mixing[p, -1] = 1.0
    for i, v in enumerate(derived):
        mixing[v, p + i] = 1.0
        if fixed_T.size:
            mixing[:p, p + i] -= fixed_T[:, v]
        mixing[p, p + i] = -fixed_mu.get(v, 0.0)
    return mixing


def _tied_districts(graph: Graph, known: Mapping[Edge, Coefficient]) -> Sequence[tuple[str, ...]]:
    """Districts, those that share a label joined."""
    labelled: dict[str, list[str]] = {}
    for edge, value in known.items():
        if isinstance(value, str):
            labelled.setdefault(value, []).append(edge.second)
    if not labelled:
        return graph.districts
    home = {v: str(i) for i, d in enumerate(graph.districts) for v in d}
    joined: dict[str, list[str]] = {str(i): [] for i in range(len(graph.districts))}
    for ends in labelled.values():
        for a, b in pairwise(ends):
            joined[home[a]].append(home[b])
            joined[home[b]].append(home[a])
    done: set[str] = set()
    groups = []
    for start in joined:
        if start not in done:
            found = reachable((start,), joined)
            done |= found
            groups.append(tuple(v for v in graph.topological_order if home[v] in found))
    return groups


def _has_bow(graph: Graph, members: tuple[str, ...]) -> bool:
    return any(set(graph.parents(v)) & set(graph.spouses(v)) for v in members)


@dataclass(frozen=True)
class _Builder:
    graph: Graph
    known: Mapping[Edge, Coefficient]  # what restricts
    place: dict[str, int]
    source: dict[int, int]
    fixed: set[tuple[str, str]]
    fixed_mu: dict[int, float]
    fixed_noise: dict[int, float]
    constant: int
    raw: bool
    arcs: dict[str, list[tuple[str, str]]]  # by the first member of a district
    rank: dict[str, int]  # of hidden causes

    def is_single(self, members: tuple[str, ...]) -> bool:
        v = members[0]
        if len(members) > 1 or any(self._is_explicit(u) for u in self.graph.latent_parents(v)):
            return False
        return not (self.known and self._repeats(v))

    def _repeats(self, v: str) -> bool:
        labels = [self.known.get(Edge(u, "->", v)) for u in self.graph.parents(v)]
        named = [x for x in labels if isinstance(x, str)]
        return len(set(named)) < len(named)

    def single_slots(self, v: str) -> tuple[tuple[int, ...], bool]:
        slots = tuple(self.place[u] for u in self.graph.parents(v) if (u, v) not in self.fixed)
        if self.place[v] in self.fixed_mu:
            return slots, True
        return ((*slots, self.constant), True) if self.raw else (slots, False)

    def _is_explicit(self, latent: str) -> bool:
        """Hidden causes that need loadings: three or more children, loadings that have a name, noise that is fixed."""
        kids = self.graph.latents[latent]
        known = self.graph.known
        spoken = any(Edge(latent, "->", c) in known for c in kids)
        spoken |= len(kids) == 2 and any(Edge(a, "<->", b) in known for a, b in permutations(kids))
        return len(kids) > 2 or spoken or any(self.place[c] in self.fixed_noise for c in kids)

    def task(self, members: tuple[str, ...]) -> Task:
        graph, known, at = self.graph, self.known, {v: i for i, v in enumerate(members)}
        about_origin = self.raw or any(self.place[v] in self.fixed_mu for v in members)
        tie: list[float | str | None] = []
        column: list[int] = []
        slots: list[int] = []
        for v in members:
            free = [u for u in graph.parents(v) if (u, v) not in self.fixed]
            sources = [self.place[u] for u in free]
            labels = [known.get(Edge(u, "->", v)) for u in free]
            if about_origin and self.place[v] not in self.fixed_mu:
                sources.append(self.constant)
                labels.append(None)
            column += [at[v]] * len(sources)
            slots += sources
            tie += labels
        pairs: dict[tuple[int, int], float | str | None] = {}
        for a, b in self.arcs.get(members[0], ()):
            ends = (at[a], at[b]) if at[a] < at[b] else (at[b], at[a])
            pairs[ends] = known.get(Edge(a, "<->", b)) if known else None
        hidden = sorted({u for v in members for u in graph.latent_parents(v)}, key=self.rank.__getitem__)
        needs_loadings = any(
            self._is_explicit(u) for u in hidden
        )  # then all get them: a boundary is found in one space
        explicit = [u for u in hidden if self._is_explicit(u) or (needs_loadings and len(graph.latents[u]) == 2)]
        loadings = [(k, at[c]) for k, u in enumerate(explicit) for c in graph.latents[u]]
        pair_latents = []
        for u in hidden:
            if u not in explicit and len(graph.latents[u]) == 2:
                ends = tuple(sorted(at[c] for c in graph.latents[u]))  # type: ignore[assignment]
                if ends not in pairs:  # a bidirected edge, or an earlier hidden cause, has this covariance already
                    pairs[ends] = None
                    pair_latents.append((self.rank[u], ends))
        fixed_pairs = tuple((i, j, x) for (i, j), x in pairs.items() if isinstance(x, float))
        free_pairs = {pair: x for pair, x in pairs.items() if not isinstance(x, float)}
        noisy = tuple(i for v, i in at.items() if self.place[v] not in self.fixed_noise)
        loading_ties = [known.get(Edge(explicit[k], "->", members[j])) for k, j in loadings]
        tie += [*free_pairs.values(), *[None] * len(noisy), *loading_ties]
        return Task(
            shape=Shape(len(members), tuple(column), tuple(free_pairs), noisy, tuple(loadings)),
            variables=tuple(self.place[v] for v in members),
            slots=tuple(slots),
            members=tuple(self.source[self.place[v]] for v in members),
            latents=tuple(self.rank[u] for u in explicit),
            fixed_noise=tuple(
                (at[v], self.fixed_noise[self.place[v]]) for v in members if self.place[v] in self.fixed_noise
            ),
            fixed_pairs=fixed_pairs,
            ties=tuple(tie) if any(x is not None for x in tie) else None,
            pair_latents=tuple(pair_latents),
            several_starts=bool(loadings) or _has_bow(graph, members) or (bool(pairs) and any(tie)),
            about_origin=about_origin,
            before=self._before(members, slots),
        )

    def _before(self, members: tuple[str, ...], slots: list[int]) -> frozenset[int]:
        """Of the sources in the slots, those that no member causes: their covariances with the errors are zero."""
        reach = reach_of(self.graph)
        own = reach.bits(members)
        later = {self.place[u] for v in members for u in self.graph.parents(v) if reach.above(u) & own}
        return frozenset(slots) - later
