"""ID* and IDC*: is a counterfactual distribution determined by the arrows alone?

Shpitser and Pearl (2008); in the form of Correa, Lee and Bareinboim (2021): sound and complete. The ancestors of all
variables in question, each in its own world, are the counterfactual graph; copies whose parents have the same values
are one variable. Given its parents' values, every variable depends on its error alone, so the joint distribution is a
product over districts. A district in which every variable has one value is ``Q[C]`` of the observed world, which ID
decides; a district in which some variable would need two values at once is seen in no world, and there is no formula.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from halftrek.errors import QueryError
from halftrek.graphs import Graph, quoted
from halftrek.identification.arrows.estimand import Formula, Probability, free_variables, product, rename, summed
from halftrek.identification.arrows.nonparametric import Hedge, q_formula, ratio
from halftrek.identification.local.worlds import simplified
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.types import Distribution, Value

Held = frozenset[tuple[str, str]]  # variables with the symbols of the values they are held at


@dataclass(frozen=True)
class Conflict:
    """Why no formula exists: in one district a variable would need two values at once."""

    district: tuple[str, ...]
    variable: str
    values: tuple[str, str]

    def __str__(self) -> str:
        one, other = self.values
        tied = f"{{{', '.join(self.district)}}} share hidden causes"
        if len(self.district) == 1:
            tied = f"the copies of {self.district[0]} in different worlds share their error"
        return (
            f"{tied}, and the question needs two values of {self.variable} ({one} and {other}) for the same units; "
            f"no data show both"
        )


@dataclass(frozen=True)
class CounterfactualFormula:
    """A formula; ``symbols`` says which variable each of its letters is a value of.

    ``outcomes`` are the letters of the outcomes; it gives the same for every value of the ``arbitrary`` letters.
    """

    formula: Formula
    symbols: dict[str, str]
    outcomes: tuple[str, ...]
    arbitrary: tuple[str, ...] = ()


@dataclass
class _Copy:
    """One variable of the counterfactual graph: its value's symbol and the symbols of its parents' values."""

    variable: str
    above: tuple[tuple[str, str], ...]
    parents: tuple[_Copy, ...]
    symbol: str = ""
    role: str = "summed"


class _Symbols:
    """Letters for values: ``x=1`` for a number, else x, x', x'', ..."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self.variable: dict[str, str] = {}
        self._slots: dict[object, str] = {}

    def of(self, variable: str, value: Value, slot: object = None) -> str:
        """The symbol of a value; a value that was left out has one symbol for each slot."""
        if value is not None:
            value += 0.0  # minus zero is zero
            short = f"{value:g}"
            symbol = f"{variable}={short if float(short) == value else repr(float(value))}"
        elif slot is not None and (variable, slot) in self._slots:
            return self._slots[variable, slot]
        else:
            symbol = variable
            while symbol in self.variable or (symbol != variable and symbol in self._names):
                symbol += "'"
            if slot is not None:
                self._slots[variable, slot] = symbol
        self.variable[symbol] = variable
        return symbol


def id_star(graph: Graph, query: Distribution) -> CounterfactualFormula | Conflict | Hedge:
    """A formula in observed probabilities for the counterfactual query, or the reason why there is none."""
    short = simplified(graph, query)
    symbols = _Symbols(graph.observed)
    named = {v: symbols.of(v.variable, None, ("outcome", v)) for v in short.outcomes}
    potentials = (*short.outcomes, *short.given)
    worlds = {v: frozenset((w, symbols.of(w, x, "held")) for w, x in v.held.items()) for v in potentials}
    seen = {v: symbols.of(v.variable, x, ("seen", v)) for v, x in short.given.items()}
    copies = _counterfactual_graph(graph, query, worlds, named, seen, symbols)
    order = {v: i for i, v in enumerate(graph.topological_order)}
    distinct = sorted({id(c): c for c in copies.values()}.values(), key=lambda c: order[c.variable])
    asked = [copies[v.variable, worlds[v]] for v in short.outcomes]
    kept = _around_outcomes(graph, distinct, [c for c in asked if c.role == "outcome"])  # what is seen is known
    if _is_factual(distinct):
        seen_letters = tuple(c.symbol for c in distinct if c.role == "seen")
        unseen = tuple(dict.fromkeys(c.symbol for c in asked if c.role == "outcome"))
        plain = Probability(unseen, seen_letters) if unseen else product(())
        return CounterfactualFormula(plain, symbols.variable, tuple(c.symbol for c in asked))
    factors: list[Formula] = []
    for district in _districts(graph, kept):
        found = _factor(graph, district, symbols)
        if isinstance(found, Conflict | Hedge):
            return found
        factors.append(found)
    body = summed([c.symbol for c in kept if c.role == "summed"], product(reversed(factors)))
    outcomes = tuple(c.symbol for c in asked)
    free = dict.fromkeys(c.symbol for c in kept if c.role == "outcome")
    if any(c.role == "seen" for c in kept):
        body = ratio(body, summed(free, body))
    known = {*outcomes, *(symbol for held in worlds.values() for _, symbol in held), *seen.values()}
    arbitrary = tuple(s for s in symbols.variable if s in free_variables(body) - known)
    return CounterfactualFormula(body, symbols.variable, outcomes, arbitrary)


def _counterfactual_graph(
    graph: Graph,
    query: Distribution,
    worlds: dict[Variant, Held],
    named: dict[Variant, str],
    seen: dict[Variant, str],
    symbols: _Symbols,
) -> dict[tuple[str, Held], _Copy]:
    """All ancestors in their worlds, causes first; copies with equal parents' values are the same object."""
    wanted = _ancestors_in_worlds(graph, [(v.variable, held) for v, held in worlds.items()])
    labels = {(v.variable, held): v for v, held in worlds.items()}
    same: dict[tuple[str, tuple[tuple[str, str], ...]], _Copy] = {}
    copies: dict[tuple[str, Held], _Copy] = {}
    for variable in graph.topological_order:
        here = [key for key in wanted if key[0] == variable]
        for key in here:
            held = dict(key[1])
            parents = [copies[p, _reaching(graph, p, key[1])] for p in graph.parents(variable) if p not in held]
            above = {c.variable: c.symbol for c in parents} | {p: held[p] for p in graph.parents(variable) if p in held}
            values = tuple((p, above[p]) for p in graph.parents(variable))
            copies[key] = same.setdefault((variable, values), _Copy(variable, values, tuple(parents)))
        for key in here:  # evidence names the value, else an outcome does
            potential, copy = labels.get(key), copies[key]
            if potential is not None and potential in seen:
                if copy.role == "seen" and copy.symbol != seen[potential] and "=" in copy.symbol + seen[potential]:
                    _refuse_contradiction(query, copy.symbol, seen[potential])
                copy.symbol, copy.role = seen[potential], "seen"
        for key in here:
            potential, copy = labels.get(key), copies[key]
            if potential is not None and potential in named and copy.role == "summed":
                copy.symbol, copy.role = named[potential], "outcome"
        for key in here:
            if not copies[key].symbol:
                copies[key].symbol = symbols.of(variable, None)
    return copies


def _refuse_contradiction(query: Distribution, one: str, other: str) -> None:
    raise QueryError(f"in {query} the condition contradicts itself: it needs {one} and {other}; change one of them")


def _ancestors_in_worlds(graph: Graph, start: Iterable[tuple[str, Held]]) -> list[tuple[str, Held]]:
    found = dict.fromkeys(start)
    stack = list(found)
    while stack:
        variable, held = stack.pop()
        fixed = {w for w, _ in held}
        for p in graph.parents(variable):
            key = (p, _reaching(graph, p, held))
            if p not in fixed and key not in found:
                found[key] = None
                stack.append(key)
    return list(found)


def _reaching(graph: Graph, variable: str, held: Held) -> Held:
    """What of a world's held variables matters for one of its variables."""
    fixed = {w for w, _ in held}
    met: set[str] = set()
    found, stack = {variable}, [variable]
    while stack:
        for p in graph.parents(stack.pop()):
            if p in fixed:
                met.add(p)
            elif p not in found:
                found.add(p)
                stack.append(p)
    return frozenset(pair for pair in held if pair[0] in met)


def _is_factual(copies: list[_Copy]) -> bool:
    """True if the evidence shows every held variable at its held value: then all of it happens in the actual world."""
    values = {c.variable: c.symbol for c in copies}
    once = len(values) == len(copies)
    return once and all(values.get(v) == symbol for c in copies for v, symbol in c.above)


def _around_outcomes(graph: Graph, copies: list[_Copy], outcomes: list[_Copy]) -> list[_Copy]:
    """The copies tied to the outcomes once the arrows out of the evidence are cut; all others cancel."""
    tied = {id(c): [p for p in c.parents if p.role != "seen"] for c in copies}
    for i, c in enumerate(copies):
        for p in list(tied[id(c)]):
            tied[id(p)].append(c)
        for d in copies[:i]:
            if d.variable == c.variable or d.variable in graph.spouses(c.variable):
                tied[id(c)].append(d)
                tied[id(d)].append(c)
    return _reached(copies, tied, outcomes)


def _districts(graph: Graph, copies: list[_Copy]) -> list[list[_Copy]]:
    tied: dict[int, list[_Copy]] = {id(c): [] for c in copies}
    for c in copies:
        near = {c.variable, *graph.spouses(c.variable)}
        tied[id(c)] = [d for d in copies if d is not c and d.variable in near]
    groups: list[list[_Copy]] = []
    left = list(copies)
    while left:
        group = _reached(copies, tied, left[:1])
        groups.append(group)
        left = [c for c in left if not any(c is d for d in group)]
    return groups


def _reached(copies: list[_Copy], tied: dict[int, list[_Copy]], start: list[_Copy]) -> list[_Copy]:
    found = {id(c) for c in start}
    stack = list(start)
    while stack:
        for d in tied[id(stack.pop())]:
            if id(d) not in found:
                found.add(id(d))
                stack.append(d)
    return [c for c in copies if id(c) in found]


def _factor(graph: Graph, district: list[_Copy], symbols: _Symbols) -> Formula | Conflict | Hedge:
    """``Q[C]`` at the district's values, if each variable has one and ID finds it."""
    values: dict[str, str] = {}
    for c in district:
        for v, symbol in (*c.above, (c.variable, c.symbol)):
            if values.setdefault(v, symbol) != symbol:
                members = tuple(dict.fromkeys(d.variable for d in district))
                return Conflict(members, quoted(v), (values[v], symbol))
    found = q_formula(graph, [c.variable for c in district])
    if isinstance(found, Hedge):
        return found
    for v in graph.topological_order:  # any value will do
        if v in free_variables(found) and v not in values:
            values[v] = symbols.of(v, None)
    return rename(found, values)
