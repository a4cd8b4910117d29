"""Designs in which information is scarce, each with what halftrek shows of one sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import halftrek as ht
from halftrek.data import Moments


@dataclass(frozen=True)
class Shown:
    """What a user sees of one sample: does the interval hold the truth, and does something speak against it?"""

    covers: bool
    doubted: bool
    misfit: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Cell:
    """One design and one front; ``draw`` gives what one sample shows."""

    family: str
    design: str
    front: str
    draw: Callable[[np.random.Generator], Shown]
    misfit: bool = False  # the graph is wrong, and has to be said to be


def shown(answer: Any, truth: float) -> Shown:
    """Of an answer to a question."""
    low, high = answer.interval
    doubts = [n for n in answer.notes if n.level == "doubt"]
    wrong = any(n.code.startswith(("misfit", "contradict", "formula")) for n in doubts)
    none = bool(np.isnan(low))  # no interval is printed, and the answer says so
    return Shown(bool(low <= truth <= high), bool(doubts) or none, wrong, answer.estimate.kind)


def of_params(fit: Any, lhs: str, rhs: str, truth: float) -> Shown:
    """Of a line of the table of parameters."""
    row = next(r for r in fit.params(as_frame=False) if (r.lhs, r.op, r.rhs) == (lhs, "~", rhs))
    return Shown(
        bool(row.ci_low <= truth <= row.ci_high), "see fit" in row.note or "contradict" in row.note, kind="params"
    )


def of_effects(fit: Any, cause: str, effect: str, truth: float) -> Shown:
    """Of a line of the table of effects."""
    frame = fit.effects("total")
    columns = frame if isinstance(frame, dict) else {c: list(frame[c]) for c in frame.columns}
    at = next(
        i for i, pair in enumerate(zip(columns["cause"], columns["effect"], strict=True)) if pair == (cause, effect)
    )
    note = columns["note"][at]
    covers = columns["ci_low"][at] <= truth <= columns["ci_high"][at]
    return Shown(bool(covers), "see fit" in note or "contradict" in note, kind="effects")


def of_line(row: Any, truth: float, kind: str) -> Shown:
    """Of a line of a total effect taken apart."""
    doubted = "see fit" in row.note or "contradict" in row.note
    return Shown(bool(row.ci_low <= truth <= row.ci_high), doubted, kind=kind)


def wishart(
    cov: np.ndarray, n: int, rng: np.random.Generator, mean: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance (divisor n) of n normal rows, without the rows."""
    p = len(cov)
    root = np.linalg.cholesky(cov)
    A = np.tril(rng.normal(size=(p, p)), -1)
    A[np.diag_indices(p)] = np.sqrt(rng.chisquare(n - 1 - np.arange(p)))
    middle = np.zeros(p) if mean is None else mean
    return middle + root @ rng.normal(size=p) / np.sqrt(n), root @ A @ A.T @ root.T / n


# -- few rows for many causes ----------------------------------------------------------------------


def many_causes(causes: int, rows: int, front: str) -> Callable[[np.random.Generator], Shown]:
    names = [f"x{i}" for i in range(causes)] + ["y"]
    graph = ht.graph("; ".join(f"{v} -> y" for v in names[:-1]))
    weights = np.linspace(-0.5, 0.5, causes)

    def draw(rng: np.random.Generator) -> Shown:
        X = rng.normal(size=(rows, causes))
        y = X @ weights + rng.normal(size=rows)
        table = np.column_stack([X, y])
        fit = ht.fit(graph, Moments(tuple(names), rows, table.mean(axis=0), np.cov(table.T, ddof=0)))
        if front == "params":
            return of_params(fit, "y", "x0", -0.5)
        if front == "effects":
            return of_effects(fit, "x0", "y", -0.5)
        return shown(fit.query("x0 ~> y"), -0.5)

    return draw


# -- few clusters ------------------------------------------------------------------------------------


def clusters(count: int, front: str, size: int = 20, between: float = 0.5) -> Callable[[np.random.Generator], Shown]:
    def draw(rng: np.random.Generator) -> Shown:
        g = np.repeat(np.arange(count), size)
        x = np.sqrt(between) * rng.normal(size=count)[g] + np.sqrt(1 - between) * rng.normal(size=len(g))
        y = 0.5 * x + np.sqrt(between) * rng.normal(size=count)[g] + np.sqrt(1 - between) * rng.normal(size=len(g))
        fit = ht.fit("x -> y", {"x": x, "y": y, "g": g}, cluster="g")
        return of_params(fit, "y", "x", 0.5) if front == "params" else shown(fit.query("x ~> y"), 0.5)

    return draw


# -- values missing ------------------------------------------------------------------------------------


def front_door(seen: int, front: str, rows: int = 100) -> Callable[[np.random.Generator], Shown]:
    def draw(rng: np.random.Generator) -> Shown:
        u = rng.normal(size=rows)
        x = u + rng.normal(size=rows)
        m = 0.8 * x + rng.normal(size=rows)
        y = 0.7 * m + u + rng.normal(size=rows)
        y[seen:] = np.nan
        fit = ht.fit("x -> m -> y; x <-> y", {"x": x, "m": m, "y": y})
        return of_params(fit, "y", "m", 0.7) if front == "params" else shown(fit.query("x ~> y"), 0.56)

    return draw


# -- instruments ---------------------------------------------------------------------------------------


def instrument(
    strength: float, rows: int, covariates: int, front: str, confounding: float = 0.8
) -> Callable[[np.random.Generator], Shown]:
    """First-stage F of about ``strength``; covariates act on treatment and outcome."""
    w = [f"w{i}" for i in range(covariates)]
    graph = ht.graph("; ".join(["z -> x", "x -> y", "x <-> y", *(f"{v} -> x; {v} -> y; {v} -> z" for v in w)]))
    names = ("z", "x", "y", *w)
    pull = np.sqrt(max(strength, 0.0) / rows)

    def draw(rng: np.random.Generator) -> Shown:
        W = rng.normal(size=(rows, covariates))
        load = np.full(covariates, 0.3)
        z = W @ load + rng.normal(size=rows)
        u = rng.normal(size=rows)
        a, b = np.sqrt(confounding), np.sqrt(1 - confounding)
        x = pull * z + W @ load + a * u + b * rng.normal(size=rows)
        y = 0.5 * x - W @ load + a * u + b * rng.normal(size=rows)
        table = np.column_stack([z, x, y, W])
        fit = ht.fit(graph, Moments(names, rows, table.mean(axis=0), np.cov(table.T, ddof=0)))
        if front == "params":
            return of_params(fit, "y", "x", 0.5)
        if front == "effects":
            return of_effects(fit, "x", "y", 0.5)
        return shown(fit.query("x ~> y"), 0.5)

    return draw


def mediated(strength: float, rows: int, front: str) -> Callable[[np.random.Generator], Shown]:
    """A treatment with an instrument and a mediator; of the total effect of 0.5, 0.3 go through the mediator."""

    def draw(rng: np.random.Generator) -> Shown:
        z, u, e, f, g = rng.normal(size=(5, rows))
        x = np.sqrt(strength / rows) * z + 0.9 * u + 0.44 * e
        m = 0.6 * x + f
        y = 0.5 * m + 0.2 * x + 0.9 * u + 0.44 * g
        fit = ht.fit("z -> x -> m -> y; x -> y; x <-> y", {"z": z, "x": x, "m": m, "y": y})
        if front == "decompose":
            return of_line(fit.decompose("x", "y").total, 0.5, front)
        if front == "mediation":
            return of_line(next(r for r in fit.mediation("x", "y").rows if r.kind == "direct"), 0.2, front)
        table = fit.counterfactual({"x": [0.0], "y": [0.0]}, {"x": 1}, "y")
        note = table.get("note", [""])[0]
        return Shown(bool(table["ci_low"][0] <= 0.5 <= table["ci_high"][0]), bool(note), kind="units")

    return draw


def few_mediated(rows: int, front: str) -> Callable[[np.random.Generator], Shown]:
    """A mediator and few rows; the direct effect is 0.2."""

    def draw(rng: np.random.Generator) -> Shown:
        x, f, g = rng.normal(size=(3, rows))
        m = 0.6 * x + f
        y = 0.5 * m + 0.2 * x + g
        fit = ht.fit("x -> m -> y; x -> y", {"x": x, "m": m, "y": y})
        if front == "decompose":
            return of_line(next(r for r in fit.decompose("x", "y").rows if r.path == "x -> y"), 0.2, front)
        if front == "mediation":
            return of_line(next(r for r in fit.mediation("x", "y").rows if r.kind == "direct"), 0.2, front)
        table = fit.counterfactual({"x": [0.0], "m": [0.0], "y": [0.0]}, {"x": 1, "m": 0}, "y")
        return Shown(bool(table["ci_low"][0] <= 0.2 <= table["ci_high"][0]), "note" in table, kind="units")

    return draw


def rarely_seen(seen: int, rows: int, strength: float) -> Callable[[np.random.Generator], Shown]:
    """An instrument that only some rows have."""

    def draw(rng: np.random.Generator) -> Shown:
        z, u = rng.normal(size=rows), rng.normal(size=rows)
        x = np.sqrt(strength / seen) * z + 0.9 * u + 0.44 * rng.normal(size=rows)
        y = 0.5 * x + 0.9 * u + 0.44 * rng.normal(size=rows)
        z[seen:] = np.nan
        return shown(ht.fit("z -> x -> y; x <-> y", {"z": z, "x": x, "y": y}).query("x ~> y"), 0.5)

    return draw


def by_cluster(count: int, size: int, strength: float) -> Callable[[np.random.Generator], Shown]:
    """An instrument that is constant within clusters, as are parts of both errors."""

    def draw(rng: np.random.Generator) -> Shown:
        g = np.repeat(np.arange(count), size)
        z = rng.normal(size=count)[g]
        u = np.sqrt(0.3) * rng.normal(size=count)[g] + np.sqrt(0.7) * rng.normal(size=len(g))
        pull = np.sqrt(strength / count) * np.sqrt(0.3 + 0.7 / size)
        x = pull * z + 0.9 * u + 0.44 * rng.normal(size=len(g))
        y = 0.5 * x + 0.9 * u + 0.44 * rng.normal(size=len(g))
        fit = ht.fit("z -> x -> y; x <-> y", {"z": z, "x": x, "y": y, "g": g}, cluster="g")
        return shown(fit.query("x ~> y"), 0.5)

    return draw


# -- groups ----------------------------------------------------------------------------------------------


def groups(rows: int, count: int = 300) -> Callable[[np.random.Generator], Shown]:
    """One line of a table by group; all lines of a table are one draw, taken in turn."""
    waiting: list[Shown] = []

    def draw(rng: np.random.Generator) -> Shown:
        if not waiting:
            g = np.repeat(np.arange(count), rows)
            x = rng.normal(size=len(g))
            y = 0.5 * x + rng.normal(size=len(g))
            table = ht.fit("x -> y", {"x": x, "y": y, "g": g}, by="g").query("x ~> y")
            columns = table if isinstance(table, dict) else {c: list(table[c]) for c in table.columns}
            notes = columns.get("note", [""] * count)
            for low, high, text in zip(columns["low"], columns["high"], notes, strict=True):
                waiting.append(Shown(bool(low <= 0.5 <= high), "see fit" in text, kind="by"))
        return waiting.pop()

    return draw


# -- a wrong graph ---------------------------------------------------------------------------------------


def correlated_roots(correlation: float, rows: int, front: str) -> Callable[[np.random.Generator], Shown]:
    """The graph takes z and w for independent; they are not."""
    names = ("z", "x", "w", "y")
    graph = ht.graph("z -> x; w -> x; w -> y; x -> y; x <-> y")

    def draw(rng: np.random.Generator) -> Shown:
        z = rng.normal(size=rows)
        w = correlation * z + np.sqrt(1 - correlation**2) * rng.normal(size=rows)
        u = rng.normal(size=rows)
        x = 0.5 * z + 0.5 * w + u + rng.normal(size=rows)
        y = 0.5 * x + 0.5 * w + u + rng.normal(size=rows)
        table = np.column_stack([z, x, w, y])
        fit = ht.fit(graph, Moments(names, rows, table.mean(axis=0), np.cov(table.T, ddof=0)))
        if front == "params":
            return of_params(fit, "y", "x", 0.5)
        return shown(fit.query("x ~> y"), 0.5)

    return draw


# -- at the border ---------------------------------------------------------------------------------------


def border(effect: float, rows: int) -> Callable[[np.random.Generator], Shown]:
    question = "P(y_{x=0} < 0.5 | x=1, y > 0.5)"
    model = ht.CGLSCM.from_parameters(names=["x", "y"], T=np.array([[0.0, effect], [0.0, 0.0]]))
    truth = float(model.query(question).value)
    graph = ht.graph("x -> y")

    def draw(rng: np.random.Generator) -> Shown:
        mean, cov = wishart(model.cov, rows, rng)
        return shown(ht.fit(graph, Moments(("x", "y"), rows, mean, cov)).query(question), truth)

    return draw


# -- the grid ----------------------------------------------------------------------------------------------


def cells() -> Iterator[Cell]:
    for causes, rows in ((30, 33), (30, 40), (30, 60), (30, 120), (5, 10), (5, 30), (1, 5), (1, 8), (1, 30)):
        for front in ("query", "params", "effects") if (causes, rows) == (30, 40) else ("query",):
            yield Cell("few rows", f"{causes} causes, {rows} rows", front, many_causes(causes, rows, front))
    for count in (3, 5, 10, 20, 40, 60):
        for front in ("query", "params") if count == 10 else ("query",):
            yield Cell("clusters", f"{count} clusters of 20", front, clusters(count, front))
    for seen in (5, 8, 12, 30, 100):
        for front in ("query", "params") if seen == 8 else ("query",):
            yield Cell("missing", f"front door, y seen in {seen} of 100 rows", front, front_door(seen, front))
    for strength in (1, 3, 10, 30, 100):
        for covariates in (0, 6, 12):
            fronts = ("query", "params", "effects") if strength in (3, 10, 30) and covariates == 6 else ("query",)
            for front in fronts:
                words = f"instrument with F near {strength}, {covariates} covariates, 500 rows"
                yield Cell("instruments", words, front, instrument(strength, 500, covariates, front))
    for front in ("decompose", "mediation", "units"):
        yield Cell("few rows", "a mediator, 8 rows", front, few_mediated(8, front))
        for strength in (3, 30):
            words = f"instrument with F near {strength} and a mediator, 500 rows"
            yield Cell("instruments", words, front, mediated(strength, 500, front))
    for rows in (40, 100):
        words = f"instrument with F near 30, {rows} rows"
        yield Cell("instruments", words, "query", instrument(30, rows, 0, "query"))
    for strength in (3, 10, 100):
        words = f"instrument with F near {strength}, seen in 60 of 1,000 rows"
        yield Cell("instruments", words, "query", rarely_seen(60, 1000, strength))
        words = f"instrument with F near {strength}, constant within 50 clusters"
        yield Cell("instruments", words, "query", by_cluster(50, 10, strength))
    for rows in (4, 6, 10, 30):
        yield Cell("groups", f"300 groups of {rows} rows", "by=", groups(rows))
    for correlation in (0.0, 0.6, 0.9):
        for front in ("query", "params") if correlation else ("query",):
            words = f"roots taken for independent, correlation {correlation:g}, 2,000 rows"
            yield Cell(
                "wrong graph", words, front, correlated_roots(correlation, 2000, front), misfit=correlation > 0.0
            )
    for effect in (0.0, 0.05, 0.1, 0.5):
        words = f"counterfactual probability, effect {effect:g}, 500 rows"
        yield Cell("border", words, "query", border(effect, 500))
