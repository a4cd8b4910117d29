"""What the pieces of a graph must be before they make one."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NoReturn

from halftrek.bottom.words import did_you_mean
from halftrek.errors import GraphError
from halftrek.graphs.arcs import Arcs
from halftrek.graphs.arcs import Pair as Pair
from halftrek.graphs.edges import Edge, check_name, holds_half_letter

Coefficient = float | str


def children_of(latent: str, children: Iterable[str]) -> tuple[str, ...]:
    """The children that were given for a hidden cause, each once."""
    if isinstance(children, str):
        raise GraphError(f"the children of {latent!r} must be a list of names, not the text {children!r}")
    return tuple(dict.fromkeys(check_name(c) for c in children))


def pair_of(edge: Iterable[str], kind: str) -> Pair:
    """The two ends of an edge."""
    ends = () if isinstance(edge, str) else tuple(edge)
    if len(ends) != 2:
        raise GraphError(f"a {kind} edge is a pair of names, not {edge!r}")
    u, v = check_name(ends[0]), check_name(ends[1])
    if u == v:
        raise GraphError(f"{u!r} has an edge to itself; remove it")
    return u, v


def unordered(pairs: Iterable[Pair]) -> dict[Pair, None]:
    """Each pair once, in whichever direction it came first."""
    seen: set[frozenset[str]] = set()
    kept: dict[Pair, None] = {}
    for pair in pairs:
        if frozenset(pair) not in seen:
            seen.add(frozenset(pair))
            kept[pair] = None
    return kept


def ends_of(arcs: Sequence[Pair]) -> list[str]:
    """The variables that bidirected edges join, each once, in the order in which the edges name them."""
    return list(arcs.names() if isinstance(arcs, Arcs) else dict.fromkeys(v for pair in arcs for v in pair))


def observed_names(
    observed: Iterable[str], arrows: Iterable[Pair], correlated: Iterable[str], hidden: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """The stated names, then the others in order of appearance."""
    if isinstance(observed, str):
        raise GraphError(f"observed must be a list of names, not the text {observed!r}")
    stated = [check_name(v) for v in observed]
    for v in stated:
        if v in hidden:
            raise GraphError(f"{v!r} is both latent and observed; keep one of the two")
    met = [*(v for pair in arrows for v in pair), *correlated, *(c for kids in hidden.values() for c in kids)]
    return tuple(v for v in dict.fromkeys((*stated, *met)) if v not in hidden)


def known_coefficients(
    given: Mapping[str, Coefficient],
    arrows: Container[Pair],
    arcs: Container[Pair],
    hidden: Mapping[str, tuple[str, ...]],
) -> dict[str, Coefficient]:
    """What is known, keyed by the text of the edge as the graph has it."""
    known: dict[str, Coefficient] = {}
    for text, value in given.items():
        edge = as_drawn(Edge.read(text), arrows, arcs, hidden)
        if edge is None:
            raise GraphError(f"a coefficient is given for {text!r}, but the graph has no such edge")
        key, number = str(edge), known_value(text, value)
        if known.setdefault(key, number) != number:
            raise GraphError(f"{key!r} has two coefficients, {known[key]!r} and {number!r}; keep one")
    return known


def as_drawn(
    edge: Edge, arrows: Container[Pair], arcs: Container[Pair], hidden: Mapping[str, tuple[str, ...]]
) -> Edge | None:
    """The edge as these have it, which for a bidirected one may be turned round; None if they do not have it."""
    if edge.kind == "->":
        return edge if edge[::2] in arrows or edge.second in hidden.get(edge.first, ()) else None
    return next((e for e in (edge, edge.turned) if e[::2] in arcs), None)


def known_value(key: str, value: Coefficient) -> Coefficient:
    try:
        number = float(value)
    except (TypeError, ValueError):
        if isinstance(value, str) and holds_half_letter(value):
            raise GraphError(f"the label {value!r} of {key!r} holds half a letter, which no file can hold") from None
        if isinstance(value, str) and value.strip():
            return value
        number = float("nan")
    if isinstance(value, str) and value.strip():
        raise GraphError(f"the label of {key!r} reads as the number {value!r}; give the number itself, or a word")
    if number != number or number in (float("inf"), float("-inf")):
        raise GraphError(f"the coefficient of {key!r} must be a finite number or a label, not {value!r}")
    return number


def refuse_unknown(variable: object, observed: tuple[str, ...], latents: Container[str]) -> NoReturn:
    """Raise GraphError for what is no observed variable of a graph."""
    if not isinstance(variable, str):
        raise GraphError(f"a variable's name is needed here, not {variable!r}")
    if variable in latents:
        raise GraphError(f"{variable!r} is hidden; only observed variables can be asked for here")
    raise GraphError(f"the graph has no observed variable {variable!r}.{did_you_mean(variable, observed)}")
