"""One of everything that a user of halftrek can hold in the hand, by name; made once, and shared by several tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import halftrek as ht
from halftrek.identification.beside.testable import implications
from halftrek.inference import restrictions_behind
from halftrek.models import Rows
from halftrek.reporting import sensitivity
from halftrek.simulation import random_model

GRAPH = ht.graph("z -> x -> m -> y; x -> y [a]; x <-> y; a -> y [0.25]; latent U; U -> {a, z, w}; c -> d; c <-> d")

QUESTIONS = (
    "x -> y",
    "z ~> y",
    "z -> x -> m",
    "z ~> x ~> y",
    "x <-> y",
    "P(y | do(x=1))",
    "P(y, w | do(x=1, a=0.3), z=2)",
    "P(y | z=2)",
    "P(y_{x=1}, m_{x=0} | x=0, y=2)",
    "P(y | do(x += 1))",
    "P(y | do(x *= 2))",
    "P(y | do(x ~ N(0, 1)))",
    "P(y_{x=1, m_{x=0}})",
    "P(y_{x -> m = 1} - y)",
    "E[y | do(x=1)]",
    "Var[y | do(x=1), z=1]",
    "SD[y | do(x=1)]",
    "Cov[y, w | do(x=1)]",
    "Corr[m, x]",
    "P(y > 1 | do(x=1))",
    "P(0 < y < 1, w > 0 | do(x=1), z > 0)",
    "Q(0.9, y | do(x=1))",
    "std(z ~> y)",
    "E[y | do(x=1)] - E[y | do(x=0)]",
    "2 * (z ~> m) / (std(x -> m) + 1)",
)


def rows(n: int = 400) -> Rows:
    return random_model(GRAPH, random_state=3).sample(n, random_state=4)


def _columns(n: int = 400) -> dict[str, Any]:
    sample = rows(n)
    return {v: np.asarray(sample[:, j]) for j, v in enumerate(sample.names or ())}


def _incomplete() -> dict[str, Any]:
    incomplete = _columns()
    rng = np.random.default_rng(1)
    for v in ("y", "w", "m"):
        incomplete[v] = np.where(rng.random(len(incomplete[v])) < 0.15, np.nan, incomplete[v])
    return incomplete


def instrumental(graph: str = "{z1, z2} -> x; x -> y; x <-> y") -> ht.Fit:
    """A fit of a few variables, of which ``x ~> y`` may be asked."""
    return ht.fit(graph, random_model(ht.graph(graph), random_state=5).sample(300, random_state=6))


@cache
def graphs() -> dict[str, ht.Graph]:
    entries = {f"graph of {name}": ht.catalog(name).graph for name in ht.catalog()}
    return {"graph": GRAPH, "graph of nothing": ht.Graph(observed=["x"]), **entries}


@cache
def questions() -> dict[str, Any]:
    asked = {text: ht.parse_question(text) for text in QUESTIONS}
    for name in ht.catalog():
        asked |= {text: ht.parse_question(text) for text in ht.catalog(name).verdicts}
    return asked


@cache
def verdicts() -> dict[str, ht.Verdict]:
    """Of every question of the catalog, and of every kind of question."""
    found = {f"{GRAPH} {text}": ht.identify(GRAPH, text) for text in (*QUESTIONS, "c -> d")}
    for name in ht.catalog():
        entry = ht.catalog(name)
        if len(entry.graph) <= 12:
            found |= {f"{name} {text}": ht.identify(entry.graph, text) for text in entry.verdicts}
    return found


@cache
def fits() -> dict[str, ht.Fit]:
    columns = _columns()
    clusters = np.repeat(np.arange(40), 10)
    return {
        "complete": ht.fit(GRAPH, columns),
        "array": ht.fit(GRAPH, rows(), noise={"w": 1.0}, intercepts={"z": 0.0}),
        "moments alone": ht.fit(GRAPH, ht.moments(rows())),
        "covariance": ht.fit("x -> y", cov=[[1.0, 0.5], [0.5, 2.0]], n=50),
        "missing": ht.fit(GRAPH, _incomplete()),
        "clustered": ht.fit(GRAPH, columns, cluster=clusters),
        "clustered and missing": ht.fit("z -> x -> m", {v: _incomplete()[v] for v in "zxm"}, cluster=clusters),
        "weighted": ht.fit(GRAPH, columns, sampling_weights=1.0 + np.arange(400) % 3),
        "counted": ht.fit(GRAPH, columns, weights=1.0 + np.arange(400) % 3),
        "file": ht.fit(ht.dataset("mroz").graph, ht.dataset("mroz").path),
        "categories": ht.fit(
            "g -> y", {"g": ["a", "b", "c"] * 40, "y": np.random.default_rng(0).normal(size=120)}, categories={"g": "a"}
        ),
        "cgl-go": ht.fit("x -> y", rows()[:, [1, 2]], names=["x", "y"], method="cgl-go"),
    }


@cache
def grouped() -> dict[str, ht.GroupFits]:
    by = np.repeat(np.arange(4), 100)
    incomplete = _incomplete()
    incomplete["y"] = np.where(by < 2, _columns()["y"], incomplete["y"])
    return {
        "groups": ht.fit_groups(GRAPH, _columns(), by=by),
        "groups with holes": ht.fit_groups("z -> x -> m -> y", incomplete, by=by.astype(str)),
    }


@cache
def answers() -> dict[str, ht.Answer]:
    fit, model = fits()["complete"], random_model(GRAPH, random_state=3)
    found = {f"answer {q}": fit.query(q, interval="delta") for q in QUESTIONS if ht.identify(GRAPH, q).identified}
    found |= {f"answer of a model {q}": model.query(q) for q in QUESTIONS}
    for kind in ("delta", "t", "robust", "bootstrap", "parametric", "profile"):
        drawn: Any = {"replicates": 40} if kind in ("bootstrap", "parametric") else {}
        found[f"{kind} answer"] = fit.effect("z", "y", interval=kind, **drawn)
    found["jackknife answer"] = fits()["clustered"].effect("z", "y", interval="jackknife")
    found["clustered answer"] = fits()["clustered"].effect("z", "y")
    found["incomplete answer"] = fits()["missing"].effect("z", "y")
    found["crude answer"] = fit.effect("z", "y", crude=True)
    found["bounded answer"] = instrumental().query("x ~> y", assume=["abs(z1 -> y) <= 0.1"])
    return found


@cache
def measurement() -> Any:
    """Levels of invariance of a factor in two groups."""
    rng = np.random.default_rng(3)
    factor = rng.normal(size=400)
    columns = {v: factor * load + rng.normal(size=400) for v, load in (("a", 1.0), ("b", 0.8), ("c", 0.7))}
    graph = "latent F; F -> {a, b, c}; F -> a [1]; variance F"
    return ht.measurement_invariance(graph, columns, by=np.repeat(["one", "other"], 200))


@cache
def together() -> Any:
    """A factor in two groups that are fitted together."""
    rng = np.random.default_rng(3)
    factor = rng.normal(size=400)
    columns = {v: factor * load + rng.normal(size=400) for v, load in (("a", 1.0), ("b", 0.8), ("c", 0.7))}
    return ht.fit_together("F =~ a + c(k, l)*b + c(m, m)*c; gap := k - l", columns, by=np.repeat(["one", "other"], 200))


@cache
def findings() -> dict[str, Any]:
    """What a fit lists, compares and decomposes."""
    fit = fits()["complete"]
    rival = ht.fit("z -> x -> m -> y; x <-> y; a -> y; w; c -> d", _columns())
    return {
        "measures": fit.measures(),
        "parameters": fit.params(as_frame=False),
        "decomposition": fit.decompose("z", "y"),
        "mediation": fit.mediation("z", "y"),
        "instruments": instrumental().instruments("x ~> y"),
        "adjustments": instrumental("z -> x; x -> y; c -> {x, y}").adjustments("x ~> y"),
        "adjustment": instrumental("z -> x; x -> y; c -> {x, y}").adjustments("x ~> y").crude,
        "profile": fit.profile("z ~> y", points=5),
        "measurement invariance": measurement(),
        "fits together": together(),
        "comparison": ht.compare({"full": fit, "less": rival}),
        "bounds": instrumental().bounds("x ~> y", assume=["abs(z1 -> y) <= 0.1", "abs(z2 -> y) <= 0.1"]),
        "sensitivity": sensitivity("z -> x -> y", _columns(), "x ~> y", arc=("x", "y"), values=[-0.1, 0.0, 0.1]),
        "contours": fit.sensitivity("z ~> y", ["z <-> x", "z -> y"], values=([-0.1, 0.1], [-0.1, 0.0, 0.1])),
        "robustness": instrumental("z -> x; x -> y; c -> {x, y}").robustness("x ~> y", "x <-> y"),
        "ranking": fit.assumptions("z ~> y"),
        "absent edges": fit.assumptions("z ~> y").rows,
        "benchmark": instrumental("z -> x; x -> y; c -> {x, y}").benchmark("x", "y", "c", times=[0.5, 50.0]),
        "status": fit.status,
        "reports": fit.districts,
        "notes": tuple(n for answer in answers().values() for n in answer.notes),
        "adjustment sets": ht.identify("z -> x -> y; z -> y", "x ~> y").adjustment_sets,
        "implications": implications(GRAPH),
        "contradictions": tuple(restrictions_behind(fit, ht.parse_question("z ~> y"))),
        "table": ht.table([fit.effect("z", "y"), fit.effect("x", "y"), ht.identify(GRAPH, "c -> d")]),
        "unit": fit.counterfactual({"x": 0.2, "y": 1.0, "z": 0.1}, {"z": 1.0}, "x"),
    }


@cache
def values() -> dict[str, Any]:
    """All of them."""
    general = ht.GLSCM(("x", "y"), np.array([[0.0, 2.0], [0.0, 0.0]]), np.ones((1, 2)), np.zeros(2), np.ones(2), ("U",))
    model = random_model(GRAPH, random_state=3)
    parts: dict[str, Any] = {
        "model": model,
        "general model": general,
        "gaussian": model.joint,
        "rows": rows(5),
        "moments": ht.moments(rows()),
        "patterns": fits()["missing"].patterns,
        "batch": ht.fit_batch("x -> y", [ht.moments(rows(), names=["x", "y"])] * 3),
        "entries": [ht.catalog(name) for name in ht.catalog()],
        "data sets": [ht.dataset(name) for name in ht.dataset()],
    }
    everything = (graphs(), questions(), verdicts(), fits(), grouped(), answers(), findings(), parts)
    return {name: value for some in everything for name, value in some.items()}


def differences(first: Any, second: Any, where: str = "") -> list[str]:
    """Where two values differ in kind, number, order in memory or in whether they can be written to."""
    if type(first) is not type(second):
        return [f"{where}: {type(first).__name__} and {type(second).__name__}"]
    if isinstance(first, np.ndarray):
        if (first.dtype, first.shape, first.tobytes("A")) != (second.dtype, second.shape, second.tobytes("A")):
            return [f"{where}: other numbers"]
        if first.flags.writeable != second.flags.writeable:
            return [f"{where}: writeable {first.flags.writeable} and {second.flags.writeable}"]
        return [] if getattr(first, "names", None) == getattr(second, "names", None) else [f"{where}: other names"]
    if is_dataclass(first):
        return [
            d
            for f in fields(first)
            for d in differences(getattr(first, f.name), getattr(second, f.name), f"{where}.{f.name}")
        ]
    if isinstance(first, Mapping):
        if list(first) != list(second):
            return [f"{where}: other keys"]
        return [d for k in first for d in differences(first[k], second[k], f"{where}[{k!r}]")]
    if isinstance(first, (tuple, list)):
        if len(first) != len(second):
            return [f"{where}: other length"]
        return [
            d for i, (a, b) in enumerate(zip(first, second, strict=True)) for d in differences(a, b, f"{where}[{i}]")
        ]
    if isinstance(first, (str, int, float, bool, Path, frozenset)) or first is None:
        return [] if first == second or (first != first and second != second) else [f"{where}: {first} and {second}"]
    return [] if repr(first) == repr(second) else [f"{where}: {first!r} and {second!r}"]


def printed(value: Any) -> list[str]:
    """Every text that it has for people."""
    texts = [str(value), repr(value)]
    for name in ("explain", "summary", "_repr_html_", "to_dict"):
        if hasattr(value, name):
            texts.append(str(getattr(value, name)()))
    return texts
