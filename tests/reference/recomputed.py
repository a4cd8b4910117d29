"""Computes again, by plain formulas and without halftrek's own estimation, the stored numbers that need no R.

    python -m tests.reference.recomputed

prints each file with the largest difference between what is stored and what the formulas give.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "halftrek" / "examples" / "data"
Pair = tuple[Any, Any]  # of numbers, or of tables of them: stored, computed


def stored(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / name).read_text())
    return found


def rows_of(path: Path, names: list[str]) -> np.ndarray:
    with path.open() as file:
        return np.array([[float(row[v]) for v in names] for row in csv.DictReader(file)])


def moments(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return rows.mean(axis=0), np.cov(rows.T, bias=True)


# -- instruments: with as many instruments as causes LIML is the ratio estimator ------------------------------


def instruments(case: str, source: str, instrument: str) -> Iterator[Pair]:
    """Estimates ``(Z'X)^-1 Z'y`` with classical errors (divisor n), and the moments of the rows."""
    given = stored(f"cases/{case}.json")
    names = given["graph"]["observed"]
    rows = rows_of(DATA / source, names)
    mean, cov = moments(rows)
    yield given["moments"]["mean"], mean
    yield given["moments"]["covariance"], cov
    treatment = names.index(given["treatment"])
    others = [names.index(v) for v in names if v not in (given["treatment"], given["outcome"], instrument)]
    one = np.ones((len(rows), 1))
    X = np.hstack([rows[:, [treatment, *others]], one])
    Z = np.hstack([rows[:, [names.index(instrument), *others]], one])
    y = rows[:, names.index(given["outcome"])]
    coefficients = np.linalg.solve(Z.T @ X, Z.T @ y)
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    errors = np.sqrt(np.diag(np.linalg.inv(fitted.T @ fitted)) * np.mean((y - X @ coefficients) ** 2))
    order = [names[treatment], *(names[k] for k in others)]
    yield [given["liml"][v] for v in order], coefficients[:-1]
    yield [given["liml_se"][v] for v in order], errors[:-1]


# -- a published network: every equation is a regression ------------------------------------------------------


def ecoli70() -> Iterator[Pair]:
    """The likelihood and total effects by least squares, true effects by sums over paths of the published weights."""
    given = stored("cases/ecoli70.json")
    names, n = given["graph"]["observed"], given["n"]
    lower = np.array(given["covariance"])  # above the diagonal are zeros
    cov = lower + np.tril(lower, -1).T
    place = {v: i for i, v in enumerate(names)}
    parents: dict[str, list[int]] = {v: [] for v in names}
    for u, v in given["graph"]["directed"]:
        parents[v].append(place[u])
    T, noise = np.zeros_like(cov), np.zeros(len(names))
    for v, above in parents.items():
        i = place[v]
        slopes = np.linalg.solve(cov[np.ix_(above, above)], cov[above, i])
        T[above, i], noise[i] = slopes, cov[i, i] - cov[i, above] @ slopes
    yield given["logl"], -0.5 * n * (len(names) * (np.log(2 * np.pi) + 1.0) + np.log(noise).sum())
    total = np.linalg.inv(np.eye(len(names)) - T)
    for e in given["effects"]:
        yield e["sample_dag_ml_total_effect"], total[place[e["treatment"]], place[e["outcome"]]]
    true = np.zeros_like(T)
    for u, v, weight in json.loads((DATA / "ecoli70.json").read_text())["edges"]:
        true[place[u], place[v]] = weight
    true = np.linalg.inv(np.eye(len(names)) - true)
    hidden = {u["name"] for u in given["hidden_graph"]["latents"]}
    for e in given["hidden_effects"]:
        i, j = place[e["treatment"]], place[e["outcome"]]
        yield e["true_total_effect"], true[i, j]
        if e.get("sample_parent_adjusted_ols") is not None:
            on = [i, *(k for k in parents[e["treatment"]] if names[k] not in hidden)]
            yield e["sample_parent_adjusted_ols"], np.linalg.solve(cov[np.ix_(on, on)], cov[on, j])[0]


# -- synthetic models: everything follows from the weights and the population moments -------------------------


def synthetic() -> Iterator[Pair]:
    for model in stored("identification_synthetic.json")["cases"]:
        given = stored(f"cases/{model['id']}.json")
        names, cov = model["observed"], np.array(model["covariance"])
        yield given["population"]["covariance"], cov
        x, y = (names.index(v) for v in model["query"])
        for key, edges in (("total_effect", "edges"), ("second_total_effect", "witness_edges")):
            if edges not in model:
                continue
            T = np.zeros_like(cov)
            for e in model[edges]:
                T[names.index(e["from"]), names.index(e["to"])] = e["weight"]
            total = np.linalg.inv(np.eye(len(names)) - T)
            yield given[key], total[x, y]
            omega = (np.eye(len(names)) - T).T @ cov @ (np.eye(len(names)) - T)
            yield 1.0, float(np.linalg.eigvalsh(omega)[0] > 0)
            arcs = {frozenset(pair) for pair in model["bidirected"]}
            arcs |= {frozenset(p) for kids in model["latents"].values() for p in combinations(kids, 2)}
            unjoined = [(i, j) for i, j in combinations(range(len(names)), 2) if {names[i], names[j]} not in arcs]
            yield np.zeros(len(unjoined)), np.array([omega[i, j] for i, j in unjoined])
            if edges == "edges":
                mean = np.array(given["population"]["mean"])
                held = T.copy()
                held[:, x] = 0.0
                after = np.linalg.inv(np.eye(len(names)) - held)
                start = mean @ (np.eye(len(names)) - T)
                start[x], omega[x], omega[:, x] = 1.0, 0.0, 0.0
                yield given["do_treatment_1"]["outcome_mean"], (start @ after)[y]
                yield given["do_treatment_1"]["outcome_variance"], (after.T @ omega @ after)[y, y]


# -- all graphs on three variables: ranks of derivatives at a random point ------------------------------------


def three_nodes() -> Iterator[Pair]:
    """Parameters, dimension of the model, and what a step that keeps all covariances leaves where it is."""
    lines = [json.loads(line) for line in (HERE / "linear_all_n3.jsonl").read_text().splitlines()]
    arrows = [(0, 1), (0, 2), (1, 2)]
    seen = {(tuple(map(tuple, c["D"])), tuple(map(tuple, c["B"]))) for c in lines}
    yield len(lines), len(seen)
    yield len(lines), len({min(_relabelled(c)) for c in _acyclic(arrows)})
    for case in lines:
        D, B = [tuple(e) for e in case["D"]], [tuple(e) for e in case["B"]]
        rng = np.random.default_rng(5)
        theta = np.concatenate([rng.uniform(0.4, 1.0, len(D)), rng.uniform(0.1, 0.3, len(B)), rng.uniform(1, 2, 3)])
        base = _derivatives(partial(_covariances, D=D, B=B), theta)
        yield case["npar"], len(theta)
        yield case["rank"], np.linalg.matrix_rank(base, tol=1e-5)
        effects = [(edge, degree, False) for edge, degree in zip(D, case["deg"], strict=True)]
        effects += [((a, b), degree, True) for a, b, degree in case["te"]]
        for (a, b), degree, whole in effects:
            slope = _derivatives(partial(_effect, D=D, a=a, b=b, whole=whole), theta)
            both = np.linalg.matrix_rank(np.vstack([base, slope]), tol=1e-5)
            yield (
                int(degree),
                int(both == case["rank"]),
            )  # on three variables an answer has one value or infinitely many


def _covariances(theta: np.ndarray, D: list[Any], B: list[Any]) -> np.ndarray:
    T, W = np.zeros((3, 3)), np.diag(theta[len(D) + len(B) :])
    for k, (i, j) in enumerate(D):
        T[i, j] = theta[k]
    for k, (i, j) in enumerate(B):
        W[i, j] = W[j, i] = theta[len(D) + k]
    total = np.linalg.inv(np.eye(3) - T)
    return (total.T @ W @ total)[np.triu_indices(3)]


def _effect(theta: np.ndarray, D: list[Any], a: int, b: int, whole: bool) -> np.ndarray:
    T = np.zeros((3, 3))
    for k, (i, j) in enumerate(D):
        T[i, j] = theta[k]
    return np.array([np.linalg.inv(np.eye(3) - T)[a, b] if whole else T[a, b]])


def _derivatives(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
    steps = 1e-6 * np.eye(len(at))
    return np.array([(function(at + s) - function(at - s)) / 2e-6 for s in steps]).T


def _acyclic(arrows: list[tuple[int, int]]) -> Iterator[tuple[frozenset[Any], frozenset[Any]]]:
    for code in range(64):
        directed = frozenset(e for k, e in enumerate(arrows) if code >> k & 1)
        yield directed, frozenset(frozenset(e) for k, e in enumerate(arrows) if code >> (3 + k) & 1)


def _relabelled(graph: tuple[frozenset[Any], frozenset[Any]]) -> list[str]:
    directed, arcs = graph
    found = []
    for order in permutations(range(3)):
        there = sorted((order[a], order[b]) for a, b in directed), sorted(sorted(order[i] for i in e) for e in arcs)
        found.append(str(there))
    return found


FILES: dict[str, Callable[[], Iterator[Pair]]] = {
    "cases/iv01_card_justid.json": lambda: instruments("iv01_card_justid", "card.csv", "nearc4"),
    "cases/iv04_mroz_justid.json": lambda: instruments("iv04_mroz_justid", "mroz.csv", "fatheduc"),
    "cases/ecoli70.json": ecoli70,
    "identification_synthetic.json": synthetic,
    "linear_all_n3.jsonl": three_nodes,
}


def largest_difference(name: str) -> tuple[int, float]:
    """How many numbers were compared, and the largest difference relative to one plus their size."""
    count, worst = 0, 0.0
    for one, other in FILES[name]():
        a, b = np.atleast_1d(np.asarray(one, float)), np.atleast_1d(np.asarray(other, float))
        count += a.size
        worst = max(worst, float(np.max(np.abs(a - b) / (1.0 + np.abs(a)), initial=0.0)))
    return count, worst


if __name__ == "__main__":
    for file in FILES:
        print(file, *largest_difference(file))
