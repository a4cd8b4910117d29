"""Partial-effect linear closure: known effects clean variables into instruments for further effects, to a fixed point.

The partial effect of c on z around C sums the directed paths from c to z whose later variables are not in C. What is
left, ``z - Σ_c delta_c c``, holds only the errors of variables with a path to z around C. Every known combination
that is uncorrelated with the rest is an instrument: ``Cov(w, X_C) delta = Cov(w, z)``. C = pa(z) gives the edges, C =
{x} the total effect of x. Zeros and ranks are read at a random point; each gain is a linear step of a recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from halftrek.identification.numbers.growing import GrowingRows
from halftrek.identification.recipes.recipe import Combination, LinearStep, Step, SumStep, ValueStep, direct

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.criteria.bench import Bench
    from halftrek.identification.numbers.modular import Ints

Edges = frozenset[tuple[str, str]]
Sum = tuple[str, list[tuple[str, ...]], int]


@dataclass(frozen=True)
class Cut:
    """A variable z, a set C of its ancestors, and the partial effects of C on z (all non-zero at the point)."""

    effect: str
    causes: tuple[str, ...]
    keys: tuple[str, ...]
    deltas: tuple[int, ...]
    residual: Ints = field(compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Map:
    """What does not depend on what is known, for all closures: who causes whom, names of total effects, cuts."""

    bench: Bench

    @cached_property
    def _graph(self) -> Graph:
        return self.bench.point.parameters.graph

    @cached_property
    def down(self) -> dict[str, frozenset[str]]:
        """What each variable causes, itself among it."""
        found: dict[str, frozenset[str]] = {}
        for v in reversed(self._graph.topological_order):
            found[v] = frozenset((v,)).union(*(found[c] for c in self._graph.children(v)))
        return {v: found[v] for v in self.bench.names}

    @cached_property
    def above(self) -> dict[str, list[str]]:
        """What causes each variable, and it, causes before effects."""
        found: dict[str, list[str]] = {v: [] for v in self.bench.names}
        for u, below in self.down.items():
            for v in below:
                found[v].append(u)
        return found

    @cached_property
    def _wholes(self) -> dict[tuple[str, str], str]:
        return {}

    def whole(self, cause: str, effect: str) -> str:
        """How a total effect is called."""
        found = self._wholes.get((cause, effect))
        if found is None:
            first = [w for w in self._graph.children(cause) if effect in self.down[w]]
            found = direct(cause, effect) if first == [effect] else f"{cause} ~> {effect}"
            self._wholes[cause, effect] = found
        return found

    @cached_property
    def _sums(self) -> dict[tuple[str, tuple[str, ...], tuple[str, ...], str], Sum | None]:
        return {}

    def sum_over(self, closure: Closure, cut: Cut, x: str) -> Sum | None:
        """How ``x ~> z`` is called, the products over C that it is the sum of if C cuts all paths, and its value."""
        key = (cut.effect, cut.causes, cut.keys, x)
        if key not in self._sums:
            self._sums[key] = self._sum_over(closure, cut, x)
        return self._sums[key]

    def _sum_over(self, closure: Closure, cut: Cut, x: str) -> Sum | None:
        if x == cut.effect or cut.effect not in self.down[x] or not cut.causes:
            return None
        whole = closure.name(x, cut.effect)
        terms: list[tuple[str, ...]] = []
        for c, key in zip(cut.causes, cut.keys, strict=True):
            if c == x:
                terms.append((key,))
            elif c in self.down[x]:
                terms.append((closure.name(x, c), key))
        if not terms or terms == [(whole,)]:
            return None
        return whole, terms, int(self.bench.B[self.bench.place[x], self.bench.place[cut.effect]])

    def meets_all(self, cut: Cut, x: str, total: int) -> bool:
        """True if C cuts all paths from x."""
        place, reach = self.bench.place, self.bench.B[self.bench.place[x]]
        met = ((int(reach[place[c]]), delta) for c, delta in zip(cut.causes, cut.deltas, strict=True))
        return sum(effect * delta for effect, delta in met) % self.bench.field.p == total

    @cached_property
    def _rounds(self) -> dict[int, tuple[list[Cut], dict[tuple[str, str, Edges], str]]]:
        return {}

    def round_of(self, closure: Closure, size: int, make: Callable[[Closure], Iterable[Cut]]) -> list[Cut]:
        """The cuts of a round, made once, and the names that they have given to sets of paths."""
        if size not in self._rounds:
            self._rounds[size] = (list(make(closure)), dict(closure._names))
        cuts, names = self._rounds[size]
        closure._names.update(names)
        return cuts


@dataclass
class Closure:
    """The growing set of known effects; ``steps`` says how each was found."""

    bench: Bench
    steps: list[Step] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    shared: Map | None = None

    @cached_property
    def _map(self) -> Map:
        return Map(self.bench) if self.shared is None else self.shared

    def __post_init__(self) -> None:
        self._graph = self.bench.point.parameters.graph
        self._down, self._above = self._map.down, self._map.above
        size = len(self.bench.names)
        self._rows = [Combination(v) for v in self.bench.names]
        self._vectors = GrowingRows(np.eye(size, dtype=np.int64))
        self._products = GrowingRows(self.bench.sigma)  # vectors @ sigma
        self._seen = {row.tobytes() for row in self._vectors.rows}
        self._names: dict[tuple[str, str, Edges], str] = {}
        for e in self.bench.point.parameters.direct.values():
            if e.parameter is None:
                self.learn(ValueStep(direct(e.source, e.target), e.value), self.weight(e.source, e.target))

    def branch(self) -> Closure:
        """The same closure, to grow in another way."""
        other = Closure(self.bench, shared=self._map)
        other.steps, other.known = list(self.steps), dict(self.known)
        other._rows, other._seen, other._names = list(self._rows), set(self._seen), dict(self._names)
        other._vectors, other._products = self._vectors.branch(), self._products.branch()
        return other

    # -- partial effects ---------------------------------------------------------------------------

    def ancestors(self, effect: str) -> list[str]:
        """Proper ancestors of a variable, causes before effects."""
        return self._above[effect][:-1]

    def and_ancestors(self, effect: str) -> list[str]:
        """The same and the variable itself."""
        return self._above[effect]

    def weight(self, u: str, v: str) -> int:
        """Weight of an edge at the point."""
        return int(self.bench.T[self.bench.place[u], self.bench.place[v]])

    def cut(self, effect: str, causes: Iterable[str]) -> Cut:
        """Partial effects of some ancestors of ``effect``, those without a path of their own left out."""
        p, chosen = self.bench.field.p, set(causes)
        through = {effect: 1}
        reaches = {effect}
        for u in reversed(self._above[effect]):
            if u != effect:
                kids = [w for w in self._graph.children(u) if w in reaches and (w not in chosen or w == effect)]
                if kids:
                    through[u] = sum(self.weight(u, w) * through[w] for w in kids) % p
                    reaches.add(u)
        kept = [c for c in self._above[effect] if c in chosen and through.get(c)]
        residual = np.zeros(len(self.bench.names), dtype=np.int64)
        residual[self.bench.place[effect]] = 1
        for c in kept:
            residual[self.bench.place[c]] = p - through[c]
        keys = tuple(self.name(c, effect, chosen - {c}) for c in kept)
        return Cut(effect, tuple(kept), keys, tuple(through[c] for c in kept), residual)

    def name(self, cause: str, effect: str, around: Iterable[str] = ()) -> str:
        """How the effect around some variables is called; equal sets of paths have equal names."""
        avoided = set(around)
        if not avoided:
            return self._map.whole(cause, effect)
        forward, stack = {cause}, [cause]
        while stack:
            for w in self._graph.children(stack.pop()):
                if w not in forward and w not in avoided and effect in self._down[w]:
                    forward.add(w)
                    stack.append(w)
        useful = {effect}
        for u in reversed(self._above[effect]):
            if u in forward and any(w in useful for w in self._graph.children(u)):
                useful.add(u)
        edges = frozenset((u, w) for u in useful & forward for w in self._graph.children(u) if w in useful & forward)
        key = (cause, effect, edges)
        if key not in self._names:
            # also those that are met where no path goes on: without them two sets of paths could have one name
            near = sorted(
                {w for u in forward for w in self._graph.children(u) if w in avoided and effect in self._down[w]}
            )
            text = direct(cause, effect) if edges == {(cause, effect)} else f"{cause} ~> {effect}"
            if near and edges != {(cause, effect)}:
                text += f" around {', '.join(near)}"
            self._names[key] = text
        return self._names[key]

    # -- what becomes known ------------------------------------------------------------------------

    def learn(self, step: Step, value: int) -> None:
        """Take in a step and the value of its output at the point."""
        output = step.outputs[0] if isinstance(step, LinearStep) else step.output
        if output is None or output in self.known:
            return
        self.steps.append(step)
        self.known[output] = value

    def adopt(self, step: LinearStep) -> bool:
        """Take in what is new in a step that gives edges; False if nothing is."""
        outputs = tuple(None if q in self.known else q for q in step.outputs)
        if not any(outputs):
            return False
        self.steps.append(replace(step, outputs=outputs))
        for q, column in zip(outputs, step.columns, strict=True):
            if q is not None:
                self.known[q] = self.weight(column.variable, step.target.variable)
        return True

    def instrument_step(self, cut: Cut) -> bool:
        """Solve for partial effects of a cut with all known combinations that its residual is uncorrelated with."""
        missing = [i for i, key in enumerate(cut.keys) if key not in self.known]
        if not missing:
            return False
        f = self.bench.field
        some = np.flatnonzero(cut.residual)
        products = self._products.rows
        fit = np.flatnonzero(f.matmul(products[:, some], cut.residual[some, None])[:, 0] == 0)
        columns = [self.bench.place[cut.causes[i]] for i in missing]
        late = np.ones(len(self._rows), dtype=bool)
        late[columns] = False
        fit = fit[np.argsort(late[fit], kind="stable")]  # a regression, where it will do
        system = products[fit][:, columns]
        chosen = f.independent(system)
        reduced, pivots = f.rref(system[chosen])
        alone = [i for i, row in enumerate(reduced) if np.count_nonzero(row) == 1]
        if not alone:
            return False
        got = {pivots[i] for i in alone}
        outputs = tuple(cut.keys[missing[j]] if j in got else None for j in pivots)
        minus = tuple((c, k) for i, (c, k) in enumerate(zip(cut.causes, cut.keys, strict=True)) if i not in missing)
        step = LinearStep(
            tuple(self._rows[fit[i]] for i in chosen),
            tuple(Combination(cut.causes[missing[j]]) for j in pivots),
            Combination(cut.effect, minus),
            outputs,
        )
        self.steps.append(step)
        for j in got:
            self.known[cut.keys[missing[j]]] = cut.deltas[missing[j]]
        return True

    def sum_step(self, cut: Cut, x: str) -> bool:
        """``x ~> z`` is the sum over C of ``x ~> c`` times the partial effect of c, if C cuts all paths from x to z."""
        made = self._map.sum_over(self, cut, x)
        if made is None:
            return False
        whole, terms, total = made
        unknown = {q for term in (*terms, (whole,)) for q in term if q not in self.known}
        if len(unknown) != 1 or not self._map.meets_all(cut, x, total):
            return False
        target = unknown.pop()
        if target == whole:
            self.learn(SumStep(whole, tuple((1, t) for t in terms)), total)
            return True
        return self._solve_sum(target, whole, total, terms)

    def _solve_sum(self, target: str, whole: str, total: int, terms: list[tuple[str, ...]]) -> bool:
        p = self.bench.field.p
        holding = [t for t in terms if target in t]
        if len(holding) != 1 or holding[0].count(target) != 1:
            return False
        others = tuple(q for q in holding[0] if q != target)
        rest = [t for t in terms if t is not holding[0]]
        value = total - sum(self._product(t) for t in rest)
        if others and not self._product(others):  # an effect that the graph fixes to zero
            return False
        if others:
            value *= pow(self._product(others), -1, p)
        step = SumStep(target, ((1, (whole,)), *((-1, t) for t in rest)), others[0] if others else None)
        self.learn(step, value % p)
        return True

    def _product(self, factors: Sequence[str]) -> int:
        product = 1
        for q in factors:
            product = product * self.known[q] % self.bench.field.p
        return product

    def share_labels(self) -> bool:
        """Edges of one label are equal."""
        grown = False
        first: dict[int, str] = {}
        entries = [e for e in self.bench.point.parameters.direct.values() if e.parameter is not None]
        for e in entries:
            key = direct(e.source, e.target)
            if key in self.known and e.parameter is not None:
                first.setdefault(e.parameter, key)
        for e in entries:
            key = direct(e.source, e.target)
            if key not in self.known and e.parameter in first:
                self.learn(SumStep(key, ((1, (first[e.parameter],)),)), self.weight(e.source, e.target))
                grown = True
        return grown

    def add_combinations(self, cut: Cut) -> bool:
        """Clean z by every subset of its known partial effects: new possible instruments."""
        known = [i for i, key in enumerate(cut.keys) if key in self.known]
        sizes = range(1, len(known) + 1) if len(known) <= 3 else (1, len(known))
        new: list[Ints] = []
        for size in sizes:
            for subset in combinations(known, size):
                vector = np.zeros(len(self.bench.names), dtype=np.int64)
                vector[self.bench.place[cut.effect]] = 1
                for i in subset:
                    vector[self.bench.place[cut.causes[i]]] = self.bench.field.p - cut.deltas[i]
                if vector.tobytes() in self._seen:
                    continue
                self._seen.add(vector.tobytes())
                self._rows.append(Combination(cut.effect, tuple((cut.causes[i], cut.keys[i]) for i in subset)))
                new.append(vector)
        if new:
            some = [self.bench.place[v] for v in (cut.effect, *cut.causes)]
            vectors = np.array(new)
            self._vectors.add(vectors)
            self._products.add(self.bench.field.matmul(vectors[:, some], self.bench.sigma[some]))
        return bool(new)

    def instruments(self, most: int) -> tuple[list[Combination], Ints, Ints]:
        """Known combinations, simplest first: their texts, their vectors and their products with Sigma."""
        order = sorted(range(len(self._rows)), key=lambda i: len(self._rows[i].minus))[:most]
        return [self._rows[i] for i in order], self._vectors.rows[order], self._products.rows[order]

    # -- the loop ----------------------------------------------------------------------------------

    def grow(self, cuts: Sequence[Cut], wanted: Iterable[str] = ()) -> None:
        """Apply every rule to every cut until nothing changes or all that is wanted is known."""
        targets = set(wanted)
        changed = True

        def done() -> bool:
            return bool(targets) and targets <= self.known.keys()

        while changed and not done():
            changed = self.share_labels()
            for cut in cuts:
                if self.instrument_step(cut):
                    changed = True
                    if done():
                        return
                changed |= self.add_combinations(cut)
            for cut in cuts:
                for x in self.and_ancestors(cut.effect):
                    if self.sum_step(cut, x):
                        changed = True
                        if done():
                            return


def parent_cuts(closure: Closure) -> list[Cut]:
    """Each variable with its parents."""
    graph = closure.bench.point.parameters.graph
    return [closure.cut(z, graph.parents(z)) for z in closure.bench.names if graph.parents(z)]


def small_cuts(closure: Closure, size: int) -> Iterator[Cut]:
    """Each variable with every set of ``size`` ancestors that all have a path of their own."""
    graph = closure.bench.point.parameters.graph
    for z in closure.bench.names:
        above = closure.ancestors(z)
        for chosen in combinations(above, size):
            cut = closure.cut(z, chosen)
            if len(cut.causes) == size and set(chosen) != set(graph.parents(z)):
                yield cut
