"""Every verdict of the catalog: linear ones by finding models with one covariance, the others by the ID algorithm."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import least_squares

from halftrek.examples import catalog, names
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.simulation import random_model

LINEAR = [(n, q) for n in names() for q, known in catalog(n).verdicts.items() if "linear" in known]
NONPARAMETRIC = [(n, q) for n in names() for q, known in catalog(n).verdicts.items() if "nonparametric" in known]


def value_of(question: str, graph: Graph) -> Callable[[np.ndarray, np.ndarray], float]:
    """The number that the question asks for, from T and Omega: effects and error covariances."""
    at = {v: i for i, v in enumerate(graph.observed)}
    interventional = re.fullmatch(r"P\((\w+) \| do\((\w+)\)\)", question)
    if interventional:
        outcome, cause = at[interventional[1]], at[interventional[2]]
        return lambda T, _: float(np.linalg.inv(np.eye(len(T)) - T)[cause, outcome])
    if "<->" in question:
        a, b = (at[v] for v in question.split(" <-> "))
        return lambda _, omega: float(omega[a, b])
    if "~>" in question:
        a, b = (at[v] for v in question.split(" ~> "))
        return lambda T, _: float(np.linalg.inv(np.eye(len(T)) - T)[a, b])
    path = [at[v] for v in question.split(" -> ")]
    return lambda T, _: float(np.prod([T[i, j] for i, j in pairwise(path)]))


def models_with_the_same_covariance(model: CGLSCM, enough: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(T, Omega) of models of the graph with the covariance of this one, found from random starts.

    Unknowns are T and C: whatever Omega - C'C must be is (I-T)'Σ(I-T) - C'C, which has to vanish where no bidirected
    edge is and to be positive on the diagonal.
    """
    g, p, sigma = model.graph, len(model.names), model.cov
    at = {v: i for i, v in enumerate(model.names)}
    arrows = [(at[u], at[v]) for u, v in g.directed]
    loads = [(k, at[c]) for k, kids in enumerate(g.latents.values()) for c in kids]
    joined = {frozenset((at[u], at[v])) for u, v in g.bidirected}
    zeros = [(i, j) for i in range(p) for j in range(i) if frozenset((i, j)) not in joined]

    def unpack(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        T, C = np.zeros((p, p)), np.zeros((len(g.latents), p))
        for (i, j), t in zip(arrows, theta, strict=False):
            T[i, j] = t
        for (k, j), c in zip(loads, theta[len(arrows) :], strict=True):
            C[k, j] = c
        A = np.eye(p) - T
        return T, C, A.T @ sigma @ A

    def residual(theta: np.ndarray) -> np.ndarray:
        _, C, omega = unpack(theta)
        off = omega - C.T @ C
        return np.array([off[z] for z in zeros] + [0.0] * len(theta))  # padded: never fewer equations than unknowns

    rng = np.random.default_rng(seed)
    truth = np.concatenate([[model.T[e] for e in arrows], [model.C[e] for e in loads]])
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for k in range(60):
        if len(found) == enough:
            break
        far = np.concatenate([np.full(len(arrows), 0.7 if k % 2 else 2.0), np.full(len(loads), 0.3)])
        start = truth + far * rng.standard_normal(len(truth))
        best = least_squares(residual, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=300)
        T, C, omega = unpack(best.x)
        if np.abs(best.fun).max() < 1e-10 and np.diag(omega - C.T @ C).min() > 0 and np.abs(best.x).max() < 1e3:
            found.append((T, omega))
    return found


_SOLUTIONS: dict[str, list[list[tuple[np.ndarray, np.ndarray]]]] = {}


def solutions(name: str) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """For the catalog's own parameters and for random ones."""
    if name not in _SOLUTIONS:
        entry = catalog(name)
        enough = 12 if any("finite" in known.values() for known in entry.verdicts.values()) else 6
        points = [entry.model, random_model(entry.graph, random_state=11)]
        _SOLUTIONS[name] = [models_with_the_same_covariance(m, enough, 5) for m in points]
    return _SOLUTIONS[name]


def distinct(values: list[float]) -> int:
    ordered = np.sort(values)
    return 1 + int(np.sum(np.diff(ordered) > 1e-5 * (1 + np.abs(ordered[1:]))))


@pytest.mark.parametrize(("name", "question"), LINEAR, ids=[f"{n}: {q}" for n, q in LINEAR])
def test_linear_verdict(name: str, question: str) -> None:
    entry = catalog(name)
    ask = value_of(question, entry.graph)
    counts, found = [], []
    for models in solutions(name):
        found.append(len(models))
        counts.append(distinct([ask(T, omega) for T, omega in models]))
    assert min(found) >= 6
    status = entry.verdicts[question]["linear"]
    if status == "identified":
        assert counts == [1, 1]
    elif status == "finite":
        assert all(1 <= c <= 4 for c in counts)
        assert max(counts) >= 2
    else:
        assert min(counts) >= 4


@pytest.mark.parametrize(("name", "question"), NONPARAMETRIC, ids=[f"{n}: {q}" for n, q in NONPARAMETRIC])
def test_nonparametric_verdict(name: str, question: str) -> None:
    entry = catalog(name)
    asked = re.fullmatch(r"P\((\w+) \| do\((\w+)\)\)", question)
    assert asked
    identified = effect_is_identified(entry.graph, asked[2], asked[1])
    assert entry.verdicts[question]["nonparametric"] == ("identified" if identified else "not identified")


def effect_is_identified(g: Graph, cause: str, outcome: str) -> bool:
    """Tian's form of the ID algorithm (Tian 2002, figures 5 and 6; complete by Huang and Valtorta 2006)."""
    everything = frozenset(g.observed)
    wanted = ancestors_within(g, {outcome}, everything - {cause})
    return all(
        factor_is_identified(g, piece, next(d for d in districts_within(g, everything) if piece <= d))
        for piece in districts_within(g, wanted)
    )


def factor_is_identified(g: Graph, piece: frozenset[str], known: frozenset[str]) -> bool:
    closure = ancestors_within(g, piece, known)
    if closure == piece:
        return True
    if closure == known:
        return False
    return factor_is_identified(g, piece, next(d for d in districts_within(g, closure) if piece <= d))


def ancestors_within(g: Graph, targets: set[str] | frozenset[str], allowed: frozenset[str]) -> frozenset[str]:
    found = set(targets) & allowed
    while True:
        more = {u for v in found for u in g.parents(v) if u in allowed} - found
        if not more:
            return frozenset(found)
        found |= more


def districts_within(g: Graph, allowed: frozenset[str]) -> list[frozenset[str]]:
    left, groups = set(allowed), []
    while left:
        group, stack = set(), [min(left)]
        while stack:
            v = stack.pop()
            if v not in group:
                group.add(v)
                stack += [w for w in g.spouses(v) if w in allowed]
        groups.append(frozenset(group))
        left -= group
    return groups


def test_the_finite_graph_has_the_published_pair_of_models() -> None:
    """Two explicit models of the graph with one covariance and different effects."""
    directed = ["v1 -> v2", "v1 -> v3", "v1 -> v4", "v2 -> v3", "v3 -> v4", "v4 -> v5"]
    pair = [
        (
            [
                -0.584606234421888,
                1.0189655978688568,
                0.5087659178287072,
                -0.7089458584982138,
                -0.9798023811673678,
                -0.8622897644735834,
            ],
            [0.6475954841807723, 0.5873191958344155, 0.6444584042334819, 0.4961589674487398],
            [3.7612253575964125, 1.5925233176572577, 2.1969810684935385, 1.8798322452141276, 1.9769337854263602],
        ),
        (
            [
                -0.6435118956177389,
                1.2323631097987808,
                0.5690638988906348,
                -0.8433519514859177,
                -1.095926719205185,
                -0.7807127721007252,
            ],
            [0.8691529507765898, -0.42381308649349425, 1.058626772747521, 0.7286614636653441],
            [3.7612253575964125, 1.681868387086194, 2.15259728468971, 2.1026264323823125, 2.0949964927309637],
        ),
    ]
    graph = catalog("finite").graph
    at = {v: i for i, v in enumerate(graph.observed)}
    models = []
    for weights, arcs, psi in pair:
        T = np.zeros((5, 5))
        for key, w in zip(directed, weights, strict=True):
            u, v = key.split(" -> ")
            T[at[u], at[v]] = w
        omega = {("v1", v): w for v, w in zip(("v2", "v3", "v4", "v5"), arcs, strict=True)}
        models.append(CGLSCM.from_parameters(names=graph.observed, T=T, omega=omega, psi=psi))
    assert models[0].graph == models[1].graph == graph
    np.testing.assert_allclose(models[0].cov, models[1].cov, atol=1e-12)
    assert models[0].total_effect("v1", "v4") == pytest.approx(-0.895702182712543, abs=1e-12)
    assert models[1].total_effect("v1", "v4") == pytest.approx(-1.3762828771184694, abs=1e-12)
