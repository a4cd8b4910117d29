"""Models and their rows for ``cases.py``, by numpy alone: equal in every revision, whatever it calls its functions.

A text has "@" in each name, for the number of the call: every call is handed names that the process has not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Table = dict[str, np.ndarray]


@dataclass(frozen=True)
class Given:
    """A model's text, its rows, and options of its fit."""

    text: str
    table: Table
    lavaan: bool = False
    kinds: dict[str, str] = field(default_factory=dict)
    by: Any = None

    def words(self, call: int) -> str:
        return self.text.replace("@", f"_{call}")

    def rows(self, call: int) -> Table:
        return {name.replace("@", f"_{call}"): column for name, column in self.table.items()}

    def options(self, call: int) -> dict[str, Any]:
        by = {} if self.by is None else {"by": self.by}
        kinds = {name.replace("@", f"_{call}"): kind for name, kind in self.kinds.items()}
        return {**by, **({"kinds": kinds} if kinds else {})}


def drawn(arrows: Sequence[tuple[int, int]], arcs: Sequence[tuple[int, int]], size: int, rows: int) -> list[np.ndarray]:
    """Columns of a linear model whose variables are numbered from causes to effects."""
    rng = np.random.default_rng(size)
    columns = list(rng.standard_normal((size, rows)))
    for i, j in arcs:
        shared = 0.7 * rng.standard_normal(rows)
        columns[i], columns[j] = columns[i] + shared, columns[j] + shared
    for i, j in sorted(arrows, key=lambda arrow: arrow[1]):
        columns[j] = columns[j] + rng.uniform(0.2, 0.5) * columns[i]
    return columns


def random_graph(size: int, rows: int = 1000, holes: float = 0.0) -> Given:
    """One or two parents among the twenty before, and arcs for a third of the variables, none beside an arrow."""
    rng = np.random.default_rng(size)
    arrows = []
    for j in range(1, size):
        first = max(0, j - 20)
        count = min(j - first, 1 + int(rng.random() < 0.5))
        arrows += [(int(i), j) for i in first + rng.choice(j - first, size=count, replace=False)]
    pairs = {tuple(sorted(map(int, rng.choice(size, 2, replace=False)))) for _ in range(size // 3)}
    arcs = sorted(pairs - set(arrows))
    columns = drawn(arrows, arcs, size, rows)  # type: ignore[arg-type]
    text = "; ".join([*(f"v{i}@ -> v{j}@" for i, j in arrows), *(f"v{i}@ <-> v{j}@" for i, j in arcs)])
    if holes:
        columns = [np.where(rng.random(rows) < holes, np.nan, column) for column in columns]
    return Given(text, {f"v{i}@": column for i, column in enumerate(columns)})


def front_door(rows: int = 1000) -> Given:
    rng = np.random.default_rng(3)
    z, w, u = rng.standard_normal((3, rows))
    x = 0.8 * z + u + rng.standard_normal(rows)
    m = 0.6 * x + rng.standard_normal(rows)
    y = 0.5 * m + 0.3 * w + u + rng.standard_normal(rows)
    return Given("z@ -> x@ -> m@ -> y@; w@ -> y@; x@ <-> y@", {"z@": z, "w@": w, "x@": x, "m@": m, "y@": y})


def bow(rows: int = 1000) -> Given:
    """An effect that a hidden cause confounds, with two controls."""
    rng = np.random.default_rng(4)
    w, v, u = rng.standard_normal((3, rows))
    x = 0.5 * w + u + rng.standard_normal(rows)
    y = 0.4 * x + 0.3 * w + 0.4 * v + u + rng.standard_normal(rows)
    return Given("w@ -> {x@, y@}; v@ -> y@; x@ -> y@; x@ <-> y@", {"w@": w, "v@": v, "x@": x, "y@": y})


def instrumented(rows: int = 1000) -> Given:
    rng = np.random.default_rng(5)
    z, w, u = rng.standard_normal((3, rows))
    x = 0.7 * z + 0.4 * w + u + rng.standard_normal(rows)
    y = 0.5 * x + 0.4 * w + u + rng.standard_normal(rows)
    return Given("z@ -> x@ -> y@; w@ -> {x@, y@}; x@ <-> y@", {"z@": z, "w@": w, "x@": x, "y@": y})


def factors(rows: int = 500, holes: float = 0.0) -> Given:
    """Nine items of three factors that covary, as in Holzinger and Swineford's model."""
    rng = np.random.default_rng(6)
    values = np.repeat(rng.standard_normal((rows, 3)) + 0.7 * rng.standard_normal((rows, 1)), 3, axis=1)
    items = values * rng.uniform(0.6, 1.0, 9) + 0.8 * rng.standard_normal((rows, 9))
    if holes:
        items = np.where(rng.random(items.shape) < holes, np.nan, items)
    lines = [f"f{k}@ =~ " + " + ".join(f"y{3 * k + j}@" for j in range(3)) for k in range(3)]
    lines += ["f0@ ~~ f1@", "f0@ ~~ f2@", "f1@ ~~ f2@"]
    return Given("\n".join(lines), {f"y{i}@": items[:, i] for i in range(9)}, lavaan=True)


def panel(waves: int = 4, rows: int = 500) -> Given:
    """A cross-lagged panel of two variables with random intercepts."""
    rng = np.random.default_rng(7)
    level = rng.standard_normal((rows, 2)) @ np.array([[1.0, 0.4], [0.0, 0.9]])
    a, b = rng.standard_normal((2, rows))
    table: Table = {}
    times = range(1, waves + 1)
    for t in times:
        table |= {f"x{t}@": a + level[:, 0], f"y{t}@": b + level[:, 1]}
        e, d = rng.standard_normal((2, rows))
        a, b = 0.4 * a + 0.2 * b + e, 0.1 * a + 0.5 * b + d
    lines = [f"r{v}@ =~ " + " + ".join(f"1*{v}{t}@" for t in times) for v in "xy"]
    lines += [f"a{t}@ =~ 1*x{t}@\nb{t}@ =~ 1*y{t}@\nx{t}@ ~~ 0*x{t}@\ny{t}@ ~~ 0*y{t}@\na{t}@ ~~ b{t}@" for t in times]
    lines += [f"{v}{t}@ ~ a{t - 1}@ + b{t - 1}@" for t in times[1:] for v in "ab"]
    lines += ["rx@ ~~ ry@", *(f"r{v}@ ~~ 0*{first}1@" for v in "xy" for first in "ab")]
    return Given("\n".join(lines), table, lavaan=True)


def ordered(rows: int = 2000) -> Given:
    """The front door with an outcome of four levels."""
    given = front_door(rows)
    table = {**given.table, "y@": np.digitize(given.table["y@"], [-1.0, 0.0, 1.0])}
    return Given(given.text, table, kinds={"y@": "ordered"})


def acting() -> Given:
    """A cause of three levels that acts by its values."""
    rng = np.random.default_rng(9)
    x = rng.integers(0, 3, 1000)
    m = 0.5 * x + rng.standard_normal(1000)
    y = 0.5 * m + rng.standard_normal(1000)
    return Given("x@ -> m@ -> y@", {"x@": x, "m@": m, "y@": y}, kinds={"x@": "acts"})


def grouped(count: int, size: int) -> Given:
    """So many groups of the front door."""
    given = front_door(count * size)
    return Given(given.text, given.table, by=np.repeat(np.arange(count), size))


def in_schools() -> Given:
    """The nine items in two groups."""
    given = factors(800)
    return Given(given.text, given.table, lavaan=True, by=np.repeat(["one", "two"], 400))


def written(kind: str) -> str:
    """A file of 100,000 rows and ten columns in the worker's own folder."""
    import pandas as pd

    rows = np.random.default_rng(8).standard_normal((100_000, 10))
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(10)])
    path = f"rows.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False, float_format="%.9g")
    else:
        frame.to_parquet(path)
    return path
