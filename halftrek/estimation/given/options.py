"""What a fit may hold fixed, resolved against the graph; options that a method has no use for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from halftrek.bottom.choices import Intercepts, Noise
from halftrek.errors import GraphError, InputError
from halftrek.graphs import Edge, Graph, did_you_mean, written


@dataclass(frozen=True)
class Options:
    """Fixed noise variances and fixed intercepts, by variable; what is not named is free."""

    noise: tuple[tuple[str, float], ...] = ()
    intercepts: tuple[tuple[str, float], ...] = ()


def resolve_options(graph: Graph, noise: Noise, intercepts: Intercepts) -> Options:
    """Turn the user's words into numbers by variable."""
    variances = _fixed(graph, noise, "noise", {"free": None, "unit": 1.0})
    for name, value in variances:
        if value <= 0.0:
            raise InputError(f"noise: the variance of {name!r} must be positive, not {value:g}")
    held = _fixed(graph, intercepts, "intercepts", {"free": None, "zero": 0.0})
    return Options(_with_stated(variances, graph.variances), _with_stated(held, graph.intercepts))


def _with_stated(
    given: tuple[tuple[str, float], ...], stated: Mapping[str, float | str]
) -> tuple[tuple[str, float], ...]:
    """What is fixed by an option, and what the graph fixes beside that."""
    own = dict(given)
    return (*given, *((v, x) for v, x in stated.items() if isinstance(x, float) and v not in own))


def with_coefficients(graph: Graph, given: Mapping[str, float | str]) -> Graph:
    """The graph; what is given for an edge replaces what it said of that edge, however the edge is written."""
    merged = dict(graph.known)
    for text, value in given.items():
        edge = Edge.read(text)
        if edge.kind == "<->":
            merged.pop(edge.turned, None)
        merged[edge] = value
    return graph.with_(coefficients=written(merged))


def refuse_idle(method: str, **given: object) -> None:
    """Raise for an option that the method has no use for."""
    other = "em" if method == "cgl-go" else "cgl-go"
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} has no meaning with method={method!r}: leave it out, or use method={other!r}")


def needs_whole(graph: Graph) -> bool:
    """True if the likelihood of a graph's model does not fall apart into districts."""
    said = [x for part in (graph.variances, graph.intercepts) for x in part.values() if isinstance(x, str)]
    edges = {x for x in graph.coefficients.values() if isinstance(x, str)}
    return bool(graph.hidden) or len(set(said)) < len(said) or not edges.isdisjoint(said)


def refuse_unused(**given: object) -> None:
    """Raise for an option that is about districts, where a model is fitted as a whole."""
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} has no meaning for this graph, whose parameters are fitted all at once (hidden variables with "
                f"causes, or equal variances or intercepts): leave it out"
            )


def _fixed(graph: Graph, given: object, what: str, words: dict[str, float | None]) -> tuple[tuple[str, float], ...]:
    if isinstance(given, str) and given in words:
        value = words[given]
        return () if value is None else tuple((v, value) for v in graph.observed)
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be {' or '.join(map(repr, words))} or values by variable name, not {given!r}")
    for name, number in given.items():
        if name not in graph:
            raise GraphError(f"{what} names {name!r}, which the graph does not have.{did_you_mean(name, graph.nodes)}")
        if isinstance(number, bool) or not isinstance(number, Real) or not abs(float(number)) < 1e150:
            raise InputError(f"{what}: the value of {name!r} must be a finite number, not {number!r}")
    return tuple((name, float(number)) for name, number in given.items())
