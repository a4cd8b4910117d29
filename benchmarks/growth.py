"""How does the cost of each public operation grow, and where does it pass five seconds?

``python -m benchmarks.growth --write`` walks all operations in one run and writes ``docs/benchmarks/growth.md``. Each
is walked over sizes in a process of its own, on one thread, until it takes longer than the limit; seconds are of the
processor. ``--only "fit.effects()"`` keeps to operations with that word in their names, ``--sizes 2`` to the two
smallest sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.graphs import Graph
from halftrek.identification import identify_all
from halftrek.simulation import random_model

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "growth.md"
LIMIT = 5.0  # seconds
PATIENCE = 300.0  # seconds of the clock for all sizes of an operation
SHORT = 0.02  # seconds below which growth is not told from overhead
VARIABLES = (25, 50, 100, 200, 300)
ROWS = (10_000, 100_000, 1_000_000)
GROUPS = (1_000, 10_000, 100_000)
CHILDREN = (50, 100, 200, 300, 600)

PAGE = """# How cost grows

Every operation of the public interface over sizes, in seconds of the processor, on one thread. `python -m
benchmarks.growth --write` has made this page in one run, each operation in a process of its own, and makes it again.

How to read it: *exponent* is the slope of the logarithm of the time over that of the size, between the last two sizes
(1: linear, 2: with the square); a dash where all is too short to tell. *above 5 s* is the first size that takes
longer; "no" if none does. An operation is not walked beyond that size, nor for longer than five minutes: a size with
"stopped" had not ended by then. Graphs have one or two parents a variable (1.5 on average) among the twenty before it,
so that most variables cause most that come later, and 0.3 arcs a variable; tables of them have 1,000 rows. Tables by
rows have five variables.

What lies above the limit shows a bar after a second and can be stopped: all effects of 300 variables (43,000 of them),
a report, a hundred thousand groups. Residuals of some hundred variables have no z, which is why 300 take less time
than 200.
"""


@dataclass(frozen=True)
class Operation:
    """Something that a user calls: what it is given at a size, and the call."""

    name: str
    sizes: tuple[int, ...]
    prepare: Callable[[int], object]
    run: Callable[[object], object]


@dataclass(frozen=True)
class Walk:
    """The seconds of an operation at each size that it was walked over."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    stopped: int | None = None  # the size at which patience ended

    @property
    def exponent(self) -> float | None:
        """How the time grows between the last two sizes; None if it is too short to tell."""
        if len(self.seconds) < 2 or self.seconds[-2] < SHORT:
            return None
        return math.log(self.seconds[-1] / self.seconds[-2]) / math.log(self.sizes[-1] / self.sizes[-2])

    @property
    def first_above(self) -> int | None:
        """The first size that takes longer than the limit."""
        return next((size for size, t in zip(self.sizes, self.seconds, strict=True) if t > LIMIT), self.stopped)


def graph_of(size: int, *, children: int = 20) -> Graph:
    """One or two parents among those shortly before, and arcs between any two."""
    rng = np.random.default_rng(size)
    names = [f"v{i}" for i in range(size)]
    arrows = []
    for i in range(1, size):
        first = max(0, i - children)
        count = min(i - first, 1 + int(rng.random() < 0.5))
        arrows += [(names[j], names[i]) for j in first + rng.choice(i - first, size=count, replace=False)]
    arcs = {tuple(sorted(rng.choice(size, 2, replace=False).tolist())) for _ in range(int(0.3 * size))}
    return Graph(arrows, [(names[i], names[j]) for i, j in sorted(arcs)], observed=names)


def table_of(graph: Graph, rows: int = 1000) -> dict[str, np.ndarray]:
    """Rows of a random model of the graph."""
    model = random_model(graph, random_state=1)
    rng = np.random.default_rng(2)
    errors = rng.standard_normal((rows, len(model.names))) @ np.linalg.cholesky(model.omega).T
    return dict(zip(model.names, (errors @ model.B).T, strict=True))


def _fitted(size: int) -> ht.Fit:
    graph = graph_of(size)
    return ht.fit(graph, table_of(graph))


def _of_fit(name: str, run: Callable[[ht.Fit], object], sizes: tuple[int, ...] = VARIABLES) -> Operation:
    def call(given: object) -> object:
        assert isinstance(given, ht.Fit)
        return run(given)

    return Operation(name, sizes, _fitted, call)


def _of_graph(name: str, run: Callable[[Graph], object], sizes: tuple[int, ...] = VARIABLES) -> Operation:
    def call(given: object) -> object:
        assert isinstance(given, Graph)
        return run(given)

    return Operation(name, sizes, graph_of, call)


def _far(graph: Graph) -> tuple[str, str]:
    """The first variable and the last one that it causes."""
    below = graph.descendants("v0")
    return "v0", [v for v in graph.topological_order if v in below][-1]


def _small_table(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    z, w, u = rng.standard_normal((3, rows))
    x = 0.8 * z + u + rng.standard_normal(rows)
    m = 0.6 * x + rng.standard_normal(rows)
    return {"z": z, "w": w, "x": x, "m": m, "y": 0.5 * m + 0.3 * w + u + rng.standard_normal(rows)}


SMALL = "z -> x -> m -> y; w -> y; x <-> y"


def _of_rows(name: str, run: Callable[[ht.Fit], object]) -> Operation:
    def call(given: object) -> object:
        assert isinstance(given, ht.Fit)
        return run(given)

    return Operation(name, ROWS, lambda rows: ht.fit(SMALL, _small_table(rows)), call)


def _grouped(count: int) -> dict[str, np.ndarray]:
    return {**_small_table(10 * count), "group": np.repeat(np.arange(count), 10)}


def _children(size: int) -> tuple[Graph, dict[str, np.ndarray]]:
    rng = np.random.default_rng(size)
    names = [f"x{i}" for i in range(size)]
    rows = rng.standard_normal((1000, 1)) * rng.uniform(0.3, 0.9, size) + rng.standard_normal((1000, size))
    return Graph(latents={"u": names}), dict(zip(names, rows.T, strict=True))


def _graph_and_table(size: int) -> tuple[Graph, dict[str, np.ndarray]]:
    graph = graph_of(size)
    return graph, table_of(graph)


def _call_fit(given: object) -> object:
    assert isinstance(given, tuple)
    return ht.fit(*given)


def _save(fit: ht.Fit) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ht.load(fit.save(Path(folder) / "fit.json"))


def _report(fit: ht.Fit) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fit.report(Path(folder) / "report.html")


def _compare(fit: ht.Fit) -> object:
    graph = fit.graph
    fewer = [ht.fit(graph.with_(directed=graph.directed[:-k]), fit.moments) for k in (1, 2, 3)]
    return ht.compare({"all": fit, **{f"without {k}": one for k, one in enumerate(fewer, 1)}})


def _query(fit: ht.Fit) -> object:
    cause, effect = _far(fit.graph)
    return fit.effect(cause, effect)


def _asked(ask: Callable[[ht.Fit, str, str], object]) -> Callable[[ht.Fit], object]:
    """Something that is asked about the first variable and the last one that it causes."""
    return lambda fit: ask(fit, *_far(fit.graph))


def _far_pair(fit: ht.Fit) -> object:
    """The effect if the errors of the last arrow's ends were tied, which the graph excludes."""
    cause, effect = _far(fit.graph)
    return fit.sensitivity(f"{cause} ~> {effect}", "{} <-> {}".format(*fit.graph.directed[-1]))


def _with_holes(rows: int) -> tuple[Graph, dict[str, np.ndarray]]:
    graph = graph_of(20)
    rng = np.random.default_rng(4)
    table = table_of(graph, rows)
    return graph, {v: np.where(rng.random(rows) < 0.2, np.nan, column) for v, column in table.items()}


def _unknown(size: int) -> tuple[Graph, str]:
    """A graph with a confounded effect in front of all else, and a question without an answer."""
    graph = graph_of(size)
    bow = graph.with_(directed=[*graph.directed, ("v0", "v1")], bidirected=[*graph.bidirected, ("v0", "v1")])
    return bow, "v0 -> v1"


def _call_identify(given: object) -> object:
    assert isinstance(given, tuple)
    return ht.identify(*given)


OPERATIONS = (
    Operation("ht.fit(graph, table)", VARIABLES, _graph_and_table, _call_fit),
    Operation("ht.fit, one hidden cause", CHILDREN, _children, _call_fit),
    _of_graph("ht.identify, far effect", lambda g: ht.identify(g, "{} ~> {}".format(*_far(g)))),
    _of_graph("halftrek identify --all", identify_all, (25, 50, 100)),
    Operation("ht.identify, not identified", VARIABLES, _unknown, _call_identify),
    _of_graph("graph.implied_independences()", lambda g: g.implied_independences()),
    _of_graph("graph.project(half)", lambda g: g.project(g.observed[::2])),
    _of_fit("fit.params()", lambda f: f.params()),
    _of_fit('fit.params(interval="robust")', lambda f: f.params(interval="robust")),
    _of_fit("fit.effect, far", _query),
    _of_fit("fit.effect, far, profile", _asked(lambda f, x, y: f.effect(x, y, interval="profile"))),
    _of_fit("fit.effect, far, bootstrap", _asked(lambda f, x, y: f.effect(x, y, interval="bootstrap", replicates=100))),
    _of_fit("fit.decompose, far", _asked(lambda f, x, y: f.decompose(x, y))),
    _of_fit("fit.mediation, far", _asked(lambda f, x, y: f.mediation(x, y))),
    _of_fit("fit.adjustments, far", _asked(lambda f, x, y: f.adjustments(f"{x} ~> {y}"))),
    _of_fit("fit.sensitivity, far", _far_pair),
    _of_fit("fit.assumptions, far", _asked(lambda f, x, y: f.assumptions(f"{x} ~> {y}"))),
    _of_fit("fit.robustness, far", _asked(lambda f, x, y: f.robustness(f"{x} ~> {y}")), (5, 10, 25)),
    _of_fit("fit.effects()", lambda f: f.effects()),
    _of_fit('fit.effects(interval="robust")', lambda f: f.effects(interval="robust")),
    _of_fit("fit.tests()", lambda f: f.tests()),
    _of_fit("fit.modifications()", lambda f: f.modifications()),
    _of_fit("fit.residuals()", lambda f: f.residuals()),
    _of_fit("fit.measures()", lambda f: f.measures()),
    _of_fit("fit.r2()", lambda f: f.r2()),
    _of_fit("fit.summary()", lambda f: f.summary()),
    _of_fit("fit.report(path)", _report),
    _of_fit("ht.compare, four graphs", _compare),
    _of_fit("fit.save and ht.load", _save),
    Operation("ht.fit(graph, table), rows", ROWS, _small_table, lambda table: ht.fit(SMALL, table)),
    Operation("ht.fit, 20 variables, 20 % missing, rows", (1_000, 10_000, 100_000), _with_holes, _call_fit),
    _of_rows("fit.predict(table), rows", lambda f: f.predict(_small_table(round(f.n)), "y")),
    _of_rows("fit.counterfactual(table), rows", lambda f: f.counterfactual(_small_table(round(f.n)), {"x": 1.0}, "y")),
    _of_rows("fit.effect, robust, rows", lambda f: f.effect("x", "y", interval="robust")),
    _of_rows("fit.effect, bootstrap of 200, rows", lambda f: f.effect("x", "y", interval="bootstrap", replicates=200)),
    Operation("ht.fit(by=...), groups", GROUPS, _grouped, lambda table: ht.fit(SMALL, table, by="group")),
)


def walk(operation: Operation, count: int) -> None:
    """The operation at each of its first sizes, until it takes too long; prints a line of JSON for each."""
    for size in operation.sizes[:count]:
        given = operation.prepare(size)
        print(json.dumps([size, None]), flush=True)
        begun = time.process_time()
        operation.run(given)
        seconds = time.process_time() - begun
        print(json.dumps([size, seconds]), flush=True)
        if seconds > LIMIT:
            return


def walked(operation: Operation, count: int) -> Walk:
    """The same in a process of its own with one thread, which is stopped if it takes very long."""
    words = [sys.executable, "-m", "benchmarks.growth", "--walk", operation.name, "--sizes", str(count)]
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as out:
        with suppress(subprocess.TimeoutExpired):  # what it has printed by then is what is known
            subprocess.run(words, env={**os.environ, **limits}, stdout=out, check=True, timeout=PATIENCE)
        out.seek(0)
        lines = [json.loads(one) for one in out.read().splitlines() if one.startswith("[")]
    found = {size: seconds for size, seconds in lines if seconds is not None}
    stopped = lines[-1][0] if lines and lines[-1][1] is None else None
    return Walk(operation.name, tuple(found), tuple(found.values()), stopped)


def line(one: Walk) -> str:
    """A line of the table."""
    shown = ", ".join(f"{size:,}: {t:.2f}" for size, t in zip(one.sizes, one.seconds, strict=True))
    if one.stopped is not None:
        shown += f"{', ' if shown else ''}{one.stopped:,}: stopped"
    exponent = "–" if one.exponent is None else f"{one.exponent:.1f}"
    above = "no" if one.first_above is None else f"{one.first_above:,}"
    return f"| `{one.name}` | {shown} | {exponent} | {above} |"


def page_of(walks: Sequence[Walk]) -> str:
    """The page."""
    head = "| operation | seconds by size | exponent | above 5 s |\n|---|---|---:|---:|"
    return f"{PAGE}\n{head}\n" + "\n".join(map(line, walks)) + "\n"


def main() -> None:
    """Walk all operations, or one."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", default="", help="a word in the names of operations")
    asked.add_argument("--sizes", type=int, default=99, help="how many sizes of each, the smallest first")
    asked.add_argument("--write", action="store_true", help="write the page")
    asked.add_argument("--walk", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.walk:
        ht.fit(SMALL, _small_table(100)).effects()  # imports are not what is measured
        walk(next(one for one in OPERATIONS if one.name == given.walk), given.sizes)
        return
    walks = []
    for operation in OPERATIONS:
        if given.only in operation.name:
            walks.append(walked(operation, given.sizes))
            print(line(walks[-1]), flush=True)
    if given.write:
        OUT.write_text(page_of(walks), encoding="utf-8")


if __name__ == "__main__":
    main()
