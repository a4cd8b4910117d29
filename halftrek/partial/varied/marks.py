"""Observed variables as a measure for hidden ones: what leaving one out would do to the errors of two others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.estimation import Fitted
from halftrek.graphs import Edge

MOST = 6  # marks of a picture


@dataclass(frozen=True)
class Mark:
    """A variable that acts on both ends of an edge, and the covariance and correlation of their errors without it."""

    variable: str
    value: float
    correlation: float


def marks_of(fitted: Fitted, edge: Edge) -> tuple[Mark, ...]:
    """The strongest first; none for an arrow.

    Left out, z adds its own error to those of what it acts on: the errors of u and v get the covariance
    ``T_zu T_zv omega_zz`` and grow by ``T_zu² omega_zz`` and ``T_zv² omega_zz``.
    """
    if edge.kind == "->":
        return ()
    graph, model = fitted.graph, fitted.model
    u, v = (model.names.index(w) for w in (edge.first, edge.second))
    both = [z for z in graph.parents(edge.first) if z in graph.parents(edge.second)]
    found = []
    for z in both:
        k = model.names.index(z)
        noise = model.omega[k, k]
        value = model.T[k, u] * model.T[k, v] * noise
        first, second = (model.omega[w, w] + model.T[k, w] ** 2 * noise for w in (u, v))
        found.append(Mark(z, float(value), float(value / np.sqrt(first * second))))
    return tuple(sorted(found, key=lambda mark: -abs(mark.correlation))[:MOST])
