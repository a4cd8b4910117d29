"""What the catalog says of one graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np

from halftrek.bottom.choices import Scope
from halftrek.bottom.portable import Portable
from halftrek.graphs import Edge, Graph
from halftrek.models import CGLSCM
from halftrek.upward import Faces

Status = Literal["identified", "finite", "not identified"]


@dataclass(frozen=True, eq=False)
class Entry(Portable, Faces):
    """A named graph, with a model of it whose parameters are known.

    ``verdicts`` maps a question to what is known of it for linear models and without linearity; a scope in which the
    question has no meaning, or no answer that the literature settles, is left out.
    """

    name: str
    title: str
    description: str
    reference: str
    graph: Graph
    model: CGLSCM
    verdicts: Mapping[str, Mapping[Scope, Status]] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Entry({self.name!r}: {self.title})"


def entry(
    name: str,
    title: str,
    *,
    weights: Mapping[str, float],
    description: str,
    reference: str,
    verdicts: Mapping[str, tuple[Status, Status] | Status],
    observed: tuple[str, ...],
    latents: tuple[str, ...] = (),
    mu: tuple[float, ...] | None = None,
    psi: tuple[float, ...] | None = None,
    aliases: tuple[str, ...] = (),
) -> Entry:
    """An entry from the weights of its edges, as ``{"x -> y": 0.5, "U -> x": 0.3, "x <-> y": 0.2}``.

    A verdict is a pair (linear, nonparametric), or the linear one alone.
    """
    model = _model(weights, observed, latents, mu, psi)
    both = {question: _scopes(known) for question, known in verdicts.items()}
    return Entry(name, title, description, reference, model.graph, model, MappingProxyType(both), aliases)


def _scopes(known: tuple[Status, Status] | Status) -> Mapping[Scope, Status]:
    if isinstance(known, str):
        return MappingProxyType({"linear": known})
    return MappingProxyType({"linear": known[0], "nonparametric": known[1]})


def _model(
    weights: Mapping[str, float],
    observed: tuple[str, ...],
    latents: tuple[str, ...],
    mu: tuple[float, ...] | None,
    psi: tuple[float, ...] | None,
) -> CGLSCM:
    place = {v: i for i, v in enumerate(observed)}
    rank = {u: k for k, u in enumerate(latents)}
    T = np.zeros((len(observed), len(observed)))
    C = np.zeros((len(latents), len(observed)))
    omega: dict[tuple[str, str], float] = {}
    for key, weight in weights.items():
        u, kind, v = Edge.read(key)
        if kind == "<->":
            omega[u, v] = weight
        elif u in rank:
            C[rank[u], place[v]] = weight
        else:
            T[place[u], place[v]] = weight
    return CGLSCM.from_parameters(names=observed, T=T, C=C, mu=mu, psi=psi, latents=latents, omega=omega)
