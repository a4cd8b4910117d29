"""What is timed of this revision, in its own names; ``benchmarks.against`` pairs the cases of two revisions by name.

Whoever renames something public changes this file in the same commit. It imports nothing else of this folder but
``models.py``, so that a copy of both can be kept for revisions that have none (``before/``).

A case is set up once (``given``). Before each call ``fresh`` makes, outside the clock, what the call is handed: models
under names that the process has not seen, so that whatever a revision remembers of a graph or of a fit is worked out
again. ``ask`` is what is timed, and ``numbers`` are a few numbers of what it gave.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

import halftrek as ht
from halftrek.identification import identify_all
from halftrek.queries import DirectEffect, TotalEffect

from .models import (
    Given,
    Table,
    acting,
    bow,
    factors,
    front_door,
    grouped,
    in_schools,
    instrumented,
    ordered,
    panel,
    random_graph,
    written,
)

Numbers = Callable[[Any], Iterable[float]]
Pace = Literal["quick", "usual", "slow"]  # slow: only where --only names it


@dataclass(frozen=True)
class Case:
    name: str
    given: Callable[[], Any]
    fresh: Callable[[Any, int], Any]
    ask: Callable[[Any], Any]
    numbers: Numbers
    pace: Pace


# --- what came out, as a few numbers
def answered(answer: ht.Answer) -> list[float]:
    return [float(answer.value), float(answer.se), *map(float, answer.interval)]  # type: ignore[arg-type]


def fitted(fit: ht.Fit) -> list[float]:
    return [fit.loglik, float(np.trace(fit.model.cov)), float(fit.converged)]


def summed(frame: Any) -> list[float]:
    """The sum of sizes in each column of numbers, in any library of frames."""
    columns = frame if isinstance(frame, dict) else {name: frame[name] for name in frame.columns}
    arrays = [np.asarray(column) for column in columns.values()]
    return [float(np.nansum(np.abs(a.astype(float)))) for a in arrays if a.dtype.kind in "fib"]


def measured(measures: dict[str, Any]) -> list[float]:
    return [float(value) for value in measures.values() if isinstance(value, int | float)]


def bounded(bounds: ht.Bounds) -> list[float]:
    return [*map(float, (bounds.low, bounds.high)), *map(float, bounds.interval or ())]


def decided(verdicts: Iterable[ht.Verdict]) -> list[float]:
    found = [verdict.status for verdict in verdicts]
    return [float(found.count(status)) for status in ("identified", "locally identified", "not identified")]


def table(found: Any) -> list[float]:
    return summed(found.to_frame())


def curve(found: Any) -> list[float]:
    return [float(np.sum(found.estimates)), float(np.nansum(found.intervals))]


def moments(found: Any) -> list[float]:
    return [found.n, float(np.trace(found.cov))]


def printed(text: str) -> list[float]:
    return [float(len(text))]


# --- what a call is handed, and questions that take more than a line
Handed = tuple[ht.Graph, Table, dict[str, Any]]


def graph(given: Given, call: int) -> ht.Graph:
    words = given.words(call)
    return ht.from_lavaan(words) if given.lavaan else ht.graph(words)


def handed(given: Given, call: int) -> Handed:
    return graph(given, call), given.rows(call), given.options(call)


def fit(handed: Handed) -> Any:
    graph, rows, options = handed
    return ht.fit(graph, rows, **options)


def fit_of(given: Given, call: int) -> Any:
    return fit(handed(given, call))


def same(given: Any, _: int) -> Any:
    return given


def number(fit: Any) -> str:
    """What stands for "@" in the names of a fit."""
    first: str = fit.graph.observed[0]
    return "_" + first.rpartition("_")[2]


def with_names(ask: Callable[..., Any], *parts: str) -> Callable[[Any], Any]:
    """Questions about the variables of a fit, whatever the number of the call is."""
    return lambda fit: ask(fit, *(part.replace("@", number(fit)) for part in parts))


def asked(question: str, **options: Any) -> Callable[[Any], Any]:
    return with_names(partial(ht.Fit.query, **options), question)


def far_effect(graph: ht.Graph) -> str:
    """The effect of the first variable on the last one that it causes."""
    place = lambda name: int(name[1:].partition("_")[0])  # noqa: E731
    first = min(graph.observed, key=place)
    return f"{first} ~> {max(graph.descendants(first), key=place)}"


def far(fit: ht.Fit, **options: Any) -> ht.Answer:
    return fit.query(far_effect(fit.graph), **options)


def bounds(fit: ht.Fit, question: str, *limits: str) -> ht.Bounds:
    return fit.bounds(question, assume=limits)


def every_edge(graph: ht.Graph) -> list[ht.Verdict]:
    return identify_all(graph, [DirectEffect(*arrow) for arrow in graph.directed])


def effects_of_one(graph: ht.Graph) -> list[ht.Verdict]:
    """Total effects of the first variable."""
    first = far_effect(graph).split()[0]
    return identify_all(graph, [TotalEffect(first, v) for v in sorted(graph.descendants(first) - {first})])


def invariance(handed: Handed) -> Any:
    graph, rows, options = handed
    return ht.measurement_invariance(graph, rows, **options)


def together(handed: tuple[str, Table, Any]) -> Any:
    text, rows, by = handed
    return ht.fit_together(text, rows, by=by, equal=["loadings"])


def in_forms(answer: ht.Answer) -> str:
    """Printed twenty times over, for once is too quick to be timed."""
    return "".join(f"{answer}{answer.explain()}{answer.to_latex()}{answer.to_dict()}" for _ in range(20))


def of_units(kind: str, fit: ht.Fit) -> Any:
    """Outcomes of 5,000 units whose x is set."""
    n = number(fit)
    units = {name.replace("@", n): column for name, column in UNITS.items()}
    if kind == "predict":
        return fit.predict(units, f"y{n}", do={f"x{n}": 1.0})
    return fit.counterfactual(units, {f"x{n}": 1.0}, f"y{n}")


UNITS = front_door(5000).table


def reported(fit: ht.Fit) -> float:
    """One, if the report was written whole: its length goes by the day and the version that it names."""
    with tempfile.TemporaryDirectory() as folder:
        return float("</html>" in fit.report(Path(folder) / "report.html").read_text(encoding="utf-8"))


def saved(fit: ht.Fit) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return ht.load(fit.save(Path(folder) / "fit.json"))


# --- processes of their own, with the interpreter of this one
_FIRST = """
import json, sys, numpy as np, halftrek as ht
fit = ht.fit(ht.from_lavaan(sys.argv[1]), dict(np.load("items.npz")))
print(json.dumps([fit.loglik]))
"""


def items_in_a_file() -> list[str]:
    given = factors()
    np.savez("items.npz", **given.rows(0))  # type: ignore[arg-type]
    return ["-c", _FIRST, given.words(0)]


def rows_in_a_file() -> list[str]:
    table = front_door(2000).rows(0)
    np.savetxt("rows.csv", np.array(list(table.values())).T, delimiter=",", header=",".join(table), comments="")
    return ["-m", "halftrek", "effect", front_door().words(0), "rows.csv", "x_0", "y_0"]


def process(arguments: list[str]) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


# --- the cases
def _fit(name: str, given: Callable[[], Given], ask: Callable[[Any], Any], numbers: Numbers, pace: Pace) -> Case:
    """What is asked of a fit, which is made anew for each call."""
    return Case(name, given, fit_of, ask, numbers, pace)


def _by_name(name: str, question: str, given: Callable[[], Given], pace: Pace, **options: Any) -> Case:
    return _fit(name, given, asked(question, **options), answered, pace)


SMALL, MIDDLE, LARGE = (partial(random_graph, p) for p in (30, 100, 300))
HOLES, HOLED = partial(random_graph, 20, holes=0.2), partial(factors, holes=0.1)
X_Y = "x@ ~> y@"
bootstrapped = partial(far, interval="bootstrap", replicates=200)

FITS = (
    *(Case(f"fit, {p} variables", partial(random_graph, p), handed, fit, fitted, "quick")
      for p in (3, 10, 30, 100, 300)),
    Case("fit, missing values, 20 variables", HOLES, handed, fit, fitted, "quick"),
    Case("fit, missing values, factors", HOLED, handed, fit, fitted, "quick"),
    _fit("parameters, missing values, 20 variables", HOLES, ht.Fit.params, summed, "usual"),
    _fit("parameters, missing values, factors", HOLED, ht.Fit.params, summed, "quick"),
    _fit("bootstrap, missing values", partial(random_graph, 5, holes=0.2), bootstrapped, answered, "usual"),
    Case("fit, ordered outcome", ordered, handed, fit, fitted, "quick"),
    Case("fit, cause that acts", acting, handed, fit, fitted, "quick"),
    Case("fit, 2,000 groups", partial(grouped, 2000, 20), handed, fit,
         lambda fits: [float(np.sum(fits.batch.loglik))], "quick"),
)  # fmt: skip

FACTORS = (
    Case("factors, first call in a fresh process", items_in_a_file, same, process, json.loads, "quick"),
    Case("factors, fit", factors, handed, fit, fitted, "quick"),
    _fit("factors, parameters", factors, ht.Fit.params, summed, "quick"),
    _fit("factors, measures", factors, ht.Fit.measures, measured, "quick"),
    _fit("factors, modification indices", factors, ht.Fit.modifications, summed, "quick"),
    _by_name("factors, an effect", "f0@ ~> y2@", factors, "quick"),
    Case("factors, two groups, invariance of measurement", in_schools, handed, invariance, table, "usual"),
    Case("factors, two groups, equal loadings", in_schools,
         lambda given, call: (given.words(call), given.rows(call), given.by), together, lambda fits: [fits.loglik],
         "usual"),
)  # fmt: skip

PANEL = (
    Case("RI-CLPM, fit", panel, handed, fit, fitted, "quick"),
    _fit("RI-CLPM, parameters", panel, ht.Fit.params, summed, "quick"),
    _fit("RI-CLPM, modification indices", panel, ht.Fit.modifications, summed, "quick"),
    _by_name("RI-CLPM, a lagged effect, three waves", "a1@ -> b2@", partial(panel, 3), "usual"),
    _by_name("RI-CLPM, a lagged effect", "a1@ -> b2@", panel, "usual"),
    _by_name("RI-CLPM, a total effect", "a1@ ~> b4@", panel, "usual"),
    _by_name("RI-CLPM, a standardised effect", "std(b1@ ~> a4@)", panel, "usual"),
    _by_name("RI-CLPM, an expectation", "E[b4@ | do(a1@=1)]", panel, "usual"),
    _by_name("RI-CLPM, intercepts that covary", "rx@ <-> ry@", panel, "usual"),
    _fit("RI-CLPM, factor scores", panel, ht.Fit.scores, summed, "slow"),
)  # fmt: skip

ANSWERS = (
    _by_name("effect, front door", X_Y, front_door, "quick"),
    _by_name("risk, front door", "P(y@ > 1 | do(x@=1))", front_door, "quick"),
    _by_name("counterfactual, front door", "E[y@_{x@=1} | x@=0, y@=1]", front_door, "quick"),
    _by_name("effect, instrument", X_Y, instrumented, "quick"),
    _by_name("effect, bootstrap of 1,000", X_Y, front_door, "quick", interval="bootstrap", replicates=1000),
    _by_name("effect, parametric bootstrap", X_Y, front_door, "quick", interval="parametric", replicates=1000),
    _fit("effect, bootstrap, 30 variables", SMALL, bootstrapped, answered, "usual"),
    _fit("effect, 30 variables", SMALL, far, answered, "quick"),
    _fit("effect, 100 variables", MIDDLE, far, answered, "quick"),
    _fit("effect, robust, 100 variables", MIDDLE, partial(far, interval="robust"), answered, "usual"),
    _fit("effect, profile, 30 variables", SMALL, partial(far, interval="profile"), answered, "quick"),
    _fit("effect, profile, 200 variables", partial(random_graph, 200), partial(far, interval="profile"), answered,
         "usual"),
    _fit("profile, 30 variables", SMALL, lambda fit: fit.profile(far_effect(fit.graph)),
         lambda found: [*map(float, found.interval), float(np.sum(found.deviance))], "usual"),
    _fit("mediation, 30 variables", SMALL, lambda fit: fit.mediation(*far_effect(fit.graph).split(" ~> ")), table,
         "quick"),
    _fit("effect, 100 groups", partial(grouped, 100, 50),
         lambda fits: fits.effect(f"x{number(fits)}", f"y{number(fits)}"), summed, "usual"),
    _fit("prediction of 5,000 rows", front_door, partial(of_units, "predict"), summed, "usual"),
    _fit("counterfactual of 5,000 rows", front_door, partial(of_units, "counterfactual"), summed, "usual"),
)  # fmt: skip

SETS = (
    _fit("bounds, no assumption", bow, with_names(bounds, X_Y), bounded, "quick"),
    _fit("bounds, hidden cause", bow, with_names(bounds, X_Y, "abs(corr(x@ <-> y@)) <= 0.3"), bounded, "quick"),
    _fit("bounds, leaky instrument", instrumented, with_names(bounds, X_Y, "abs(z@ -> y@) <= 0.1"), bounded, "quick"),
    _fit("sensitivity", front_door, with_names(ht.Fit.sensitivity, X_Y, "m@ <-> y@"), curve, "usual"),
    _fit("sensitivity, 100 variables", MIDDLE,
         lambda fit: fit.sensitivity(far_effect(fit.graph), "{} <-> {}".format(*fit.graph.directed[-1])), curve,
         "usual"),
    _fit("sensitivity, two edges", front_door,
         with_names(lambda fit, question, *arcs: fit.sensitivity(question, arcs), X_Y, "m@ <-> y@", "x@ <-> m@"),
         lambda found: [float(np.nansum(found.estimates))], "slow"),
    _fit("robustness", front_door, with_names(ht.Fit.robustness, X_Y), table, "usual"),
    _fit("assumptions, 30 variables", SMALL, lambda fit: fit.assumptions(far_effect(fit.graph)), table, "usual"),
)  # fmt: skip

TABLES = (
    Case("verdicts of all edges, 300 variables", LARGE, graph, every_edge, decided, "usual"),
    Case("verdicts of a variable's effects, 300 variables", LARGE, graph, effects_of_one, decided, "quick"),
    Case("verdicts of all edges and effects, 100 variables", MIDDLE, graph, identify_all, decided, "usual"),
    Case("independences, 200 variables", partial(random_graph, 200), graph, ht.Graph.implied_independences,
         lambda found: [float(len(found))], "usual"),
    _fit("parameters, 100 variables", MIDDLE, ht.Fit.params, summed, "quick"),
    _fit("parameters, 300 variables", LARGE, ht.Fit.params, summed, "quick"),
    _fit("effects, 100 variables", MIDDLE, ht.Fit.effects, summed, "usual"),
    _fit("effects, 300 variables", LARGE, ht.Fit.effects, summed, "slow"),
    _fit("tests, 100 variables", MIDDLE, ht.Fit.tests, summed, "usual"),
    _fit("modification indices, 100 variables", MIDDLE, ht.Fit.modifications, summed, "usual"),
    _fit("parameters, two groups", partial(grouped, 2, 500), ht.GroupFits.params, summed, "quick"),
    _fit("invariance, 50 groups", partial(grouped, 50, 100), ht.GroupFits.invariance, summed, "usual"),
)  # fmt: skip

OUTSIDE = (
    Case("CSV, 100,000 rows", partial(written, "csv"), same, ht.moments, moments, "quick"),
    Case("Parquet, 100,000 rows", partial(written, "parquet"), same, ht.moments, moments, "quick"),
    Case("answer in its forms", front_door, lambda given, call: asked(X_Y)(fit_of(given, call)), in_forms, printed,
         "quick"),
    _fit("summary, 30 variables", SMALL, lambda fit: str(fit.summary()), printed, "quick"),
    _fit("report", front_door, reported, lambda whole: [whole], "usual"),
    _fit("save and load, 100 variables", MIDDLE, saved, fitted, "quick"),
    Case("halftrek --help", lambda: ["-m", "halftrek", "--help"], same, process, printed, "quick"),
    Case("halftrek effect", rows_in_a_file, same, process, printed, "quick"),
    Case("import halftrek", lambda: ["-c", "import halftrek"], same, process, printed, "quick"),
)  # fmt: skip

CASES = {case.name: case for case in (*FITS, *FACTORS, *PANEL, *ANSWERS, *SETS, *TABLES, *OUTSIDE)}
