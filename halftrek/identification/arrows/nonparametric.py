"""ID and IDC: is a distribution after an intervention determined by the arrows alone?

Tian and Pearl (2002), Shpitser and Pearl (2006), Huang and Valtorta (2006): sound and complete. ``Q[C]`` is the
distribution of the variables C when all others are held. It factors over districts; the algorithm shrinks the
district that holds a needed piece until the piece is all of it, or until neither ancestors nor districts shrink it
further: a hedge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from halftrek.graphs import Graph
from halftrek.identification.arrows.estimand import Formula, Probability, Ratio, free_variables, product, summed

Variables = frozenset[str]


@dataclass(frozen=True)
class Hedge:
    """Why no formula exists: within ``district`` the piece ``inner`` cannot be separated from the rest."""

    district: tuple[str, ...]
    inner: tuple[str, ...]

    def __str__(self) -> str:
        outside = [v for v in self.district if v not in self.inner]
        return (
            f"{{{', '.join(self.district)}}} are all tied together by hidden common causes and all cause "
            f"{{{', '.join(self.inner)}}}, so the part that {_are(outside)} free to vary cannot be told apart"
        )

    @property
    def named(self) -> str:
        """The same in the words of the literature."""
        return f"The hedge: the district {{{', '.join(self.district)}}} and within it {{{', '.join(self.inner)}}}."


def _are(names: list[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def id_formula(graph: Graph, outcomes: Iterable[str], do: Iterable[str]) -> Formula | Hedge:
    """``P(outcomes | do(...))`` as a formula in observed probabilities, or the hedge that forbids one."""
    wanted, held = frozenset(outcomes), frozenset(do)
    rest = frozenset(graph.observed) - held
    needed = _ancestors(graph, wanted, rest)
    above = graph.ancestors(wanted | held)  # descendants of neither say nothing about the answer
    whole = frozenset(graph.observed) & above
    homes = _districts(graph, whole)
    pieces = [(piece, next(d for d in homes if piece <= d)) for piece in _districts(graph, needed)]
    for piece, home in pieces:  # first of all whether there is a formula: most work goes into writing it
        hedge = _hedge(graph, piece, home)
        if hedge is not None:
            return hedge
    found = [_shrink(graph, piece, home, _district_formula(graph, home, whole)) for piece, home in pieces]
    return summed(_ordered(graph, needed - wanted), product(found))


def q_formula(graph: Graph, variables: Iterable[str]) -> Formula | Hedge:
    """``Q[C]``, the distribution of some variables of one district when all others are held."""
    piece = frozenset(variables)
    whole = graph.ancestors(piece)
    home = next(d for d in _districts(graph, whole) if piece <= d)
    return _hedge(graph, piece, home) or _shrink(graph, piece, home, _district_formula(graph, home, whole))


def idc_formula(graph: Graph, outcomes: Iterable[str], do: Iterable[str], given: Iterable[str]) -> Formula | Hedge:
    """``P(outcomes | do(...), given)``: conditions that act like interventions are turned into such first (rule 2)."""
    wanted, held, conditions = tuple(outcomes), set(do), list(given)
    moved = True
    while moved:
        moved = False
        for z in conditions:
            others = [c for c in conditions if c != z]
            if _cut(graph, held, {z}).m_separated(wanted, (z,), [*held, *others]):
                held.add(z)
                conditions.remove(z)
                moved = True
                break
    joint = id_formula(graph, (*wanted, *conditions), held)
    if isinstance(joint, Hedge) or not conditions:
        return joint
    return ratio(joint, summed(_ordered(graph, frozenset(wanted)), joint))


def _cut(graph: Graph, no_causes: set[str], no_effects: set[str]) -> Graph:
    """The graph without what points into some variables and without the arrows out of others."""
    arrows = [(u, v) for u, v in graph.directed if v not in no_causes and u not in no_effects]
    arcs = [(u, v) for u, v in graph.bidirected if u not in no_causes and v not in no_causes]
    hidden = {u: [c for c in kids if c not in no_causes] for u, kids in graph.latents.items()}
    left = {u: kids for u, kids in hidden.items() if kids}
    return graph.with_(directed=arrows, bidirected=arcs, latents=left, coefficients={})


def _ancestors(graph: Graph, of: Iterable[str], within: Variables) -> Variables:
    return _reached(set(of) & within, graph.parents, within)


def _districts(graph: Graph, within: Variables) -> list[Variables]:
    groups: list[Variables] = []
    left = set(within)
    for v in graph.topological_order:
        if v in left:
            groups.append(_tied(graph, v, within))
            left -= groups[-1]
    return groups


def _tied(graph: Graph, variable: str, within: Collection[str]) -> Variables:
    """The district of a variable."""
    return _reached({variable}, graph.spouses, within)


def _reached(start: set[str], near: Callable[[str], Iterable[str]], within: Collection[str]) -> Variables:
    """What can be walked to from ``start`` without leaving ``within``."""
    found, stack = set(start), list(start)
    while stack:
        for v in near(stack.pop()):
            if v in within and v not in found:
                found.add(v)
                stack.append(v)
    return frozenset(found)


def _ordered(graph: Graph, variables: Iterable[str]) -> tuple[str, ...]:
    chosen = set(variables)
    return tuple(v for v in graph.topological_order if v in chosen)


def _district_formula(graph: Graph, district: Variables, whole: Variables) -> Formula:
    """``Q[S] = Π P(v | earlier variables)``, each condition cut down to what v depends on."""
    earlier: set[str] = set()
    factors = []
    for v in _ordered(graph, whole):
        earlier.add(v)
        if v in district:
            mine = _tied(graph, v, earlier)
            blanket = {*mine, *(p for w in mine for p in graph.parents(w))} - {v}
            factors.append(Probability((v,), _ordered(graph, blanket)))
    return product(reversed(factors))


def _hedge(graph: Graph, piece: Variables, home: Variables) -> Hedge | None:
    """What keeps Q[piece] from being found in Q[home]; home is one district that holds the piece."""
    needed = _ancestors(graph, piece, home)
    while needed not in (piece, home):
        home = next(d for d in _districts(graph, needed) if piece <= d)
        needed = _ancestors(graph, piece, home)
    return None if needed == piece else Hedge(_ordered(graph, home), _ordered(graph, piece))


def _shrink(graph: Graph, piece: Variables, home: Variables, formula: Formula) -> Formula:
    """Q[piece] from the formula of Q[home], where no hedge forbids it."""
    needed = _ancestors(graph, piece, home)
    kept = summed(_ordered(graph, home - needed), formula)
    if needed == piece:
        return kept
    smaller = next(d for d in _districts(graph, needed) if piece <= d)
    order = _ordered(graph, needed)
    factors = []
    for i, v in enumerate(order):
        if v in smaller:
            factors.append(ratio(summed(order[i + 1 :], kept), summed(order[i:], kept)))
    return _shrink(graph, piece, smaller, product(reversed(factors)))


def ratio(top: Formula, bottom: Formula) -> Formula:
    """A quotient with common factors cancelled; ``P(a, b | c) / P(b | c) = P(a | b, c)``."""
    above = list(top.factors) if hasattr(top, "factors") else [top]
    below = list(bottom.factors) if hasattr(bottom, "factors") else [bottom]
    for f in list(below):
        if f in above:
            above.remove(f)
            below.remove(f)
    if len(above) == 1 and len(below) == 1:
        a, b = above[0], below[0]
        if isinstance(a, Probability) and isinstance(b, Probability) and a.given == b.given:
            rest = tuple(v for v in a.variables if v not in b.variables)
            if set(b.variables) <= set(a.variables) and rest:
                return Probability(rest, (*b.variables, *b.given))
    if not below:
        return product(above)
    return Ratio(product(above), product(below))


def arbitrary_values(graph: Graph, formula: Formula, named: Iterable[str]) -> tuple[str, ...]:
    """Variables in the formula that may be given any value: the formula does not depend on them."""
    return _ordered(graph, free_variables(formula) - set(named))
