"""Random models of items with factors: alone, general, of second order, between causes and outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from benchmarks.maxima.drawn import Drawn, Rng, covariance, intercepts, signed, together
from benchmarks.maxima.model import Entry, Model, arrow, level, spread


def measured(
    rng: Rng, factor: str, items: Sequence[str], *, marker: bool, same: bool = False
) -> list[Entry]:  # fmt: skip
    """Items of a factor of variance about one, with errors and intercepts."""
    loads = np.full(len(items), rng.uniform(0.4, 1.0)) if same else rng.uniform(0.4, 1.0, len(items))
    found = []
    for k, (item, load) in enumerate(zip(items, loads, strict=True)):
        held = marker and k == 0
        found += [
            arrow(factor, item, 1.0 if held else load, held=held, label=f"l{factor}" if same and not held else "")
        ]
        found += [spread(item, item, rng.uniform(0.3, 1.0)), level(item, 2.0 * rng.standard_normal())]
    return found


def items_of(counts: Sequence[int]) -> list[list[str]]:
    numbers = iter(range(1, sum(counts) + 1))
    return [[f"y{next(numbers)}" for _ in range(count)] for count in counts]


def factor_units(groups: Mapping[str, Sequence[str]], *, marker: bool, shared: bool = False) -> dict[str, str]:
    """Units of items and factors: a factor with a marker has its marker's, others have none."""
    units: dict[str, str] = {}
    for f, items in groups.items():
        units |= {v: f if shared else v for v in items}
        units[f] = (f if shared else items[0]) if marker else ""
    return units


def cfa(rng: Rng, *, most: int = 3, marker: bool | None = None, plain: bool = False) -> Drawn:
    marker = bool(rng.random() < 0.6) if marker is None else marker
    groups = dict(
        zip("fgh", items_of([int(c) for c in rng.integers(3, 5, int(rng.integers(1, most + 1)))]), strict=False)
    )
    entries = [e for f, items in groups.items() for e in measured(rng, f, items, marker=marker)]
    cov = covariance(rng, np.ones(len(groups)), 0.9)
    entries += [replace(e, held=not marker and e.row == e.col) for e in together(list(groups), cov)]
    seen = [v for items in groups.values() for v in items]
    if not plain and len(groups) > 1 and rng.random() < 0.4:
        entries.append(arrow("f", groups["g"][-1], signed(rng, 0.1, 0.5)))
    if not plain and len(groups) > 1 and rng.random() < 0.4:
        entries.append(spread(groups["f"][1], groups["g"][1], signed(rng, 0.05, 0.25)))
    return Drawn((Model(tuple(seen), tuple(groups), tuple(entries)),), factor_units(groups, marker=marker))


def bifactor(rng: Rng) -> Drawn:
    """A general factor of all items, and one of each group; none covary."""
    groups = dict(zip("fgh", items_of([3] * int(rng.integers(2, 4))), strict=False))
    seen = [v for items in groups.values() for v in items]
    entries = measured(rng, "a", seen, marker=False)
    entries += [arrow(f, v, rng.uniform(0.2, 0.8)) for f, items in groups.items() for v in items]
    entries += [spread(f, f, 1.0, held=True) for f in ("a", *groups)]
    return Drawn(
        (Model(tuple(seen), ("a", *groups), tuple(entries)),), {v: v for v in seen} | dict.fromkeys("afgh", "")
    )


def second_order(rng: Rng) -> Drawn:
    groups = dict(zip(("f", "g", "h", "k"), items_of([3] * int(rng.integers(3, 5))), strict=False))
    marker = bool(rng.random() < 0.5)
    entries = [e for f, items in groups.items() for e in measured(rng, f, items, marker=True)]
    for i, f in enumerate(groups):
        held = marker and i == 0
        entries += [
            arrow("a", f, 1.0 if held else rng.uniform(0.4, 1.0), held=held),
            spread(f, f, rng.uniform(0.1, 0.8)),
        ]
    entries.append(spread("a", "a", rng.uniform(0.5, 1.5) if marker else 1.0, held=not marker))
    seen = tuple(v for items in groups.values() for v in items)
    units = factor_units(groups, marker=True) | {"a": groups["f"][0] if marker else ""}
    return Drawn((Model(seen, ("a", *groups), tuple(entries)),), units)


def mediators(rng: Rng) -> Drawn:
    """A cause, one hidden mediator or two in a row, an outcome; the cause may act beside them."""
    groups = dict(zip("fg", items_of([int(c) for c in rng.integers(2, 4, int(rng.integers(1, 3)))]), strict=False))
    entries = [e for f, items in groups.items() for e in measured(rng, f, items, marker=True)]
    way = ["x", *groups, "z"]
    entries += [arrow(u, v, signed(rng, 0.2, 1.0)) for u, v in pairwise(way)]
    entries += [arrow("x", "z", signed(rng, 0.1, 0.6))] if rng.random() < 0.6 else []
    entries += [spread(v, v, rng.uniform(0.3, 1.2)) for v in way]
    seen = ["x", *(v for items in groups.values() for v in items), "z"]
    entries += intercepts(rng, ["x", "z"])
    units = factor_units(groups, marker=True) | {"x": "x", "z": "z"}
    return Drawn((Model(tuple(seen), tuple(groups), tuple(entries)),), units)


def mimic(rng: Rng) -> Drawn:
    """Causes of a factor with items, one of which a cause may move directly."""
    causes = [f"x{k + 1}" for k in range(int(rng.integers(2, 5)))]
    (items,) = items_of([int(rng.integers(2, 5))])
    entries = measured(rng, "f", items, marker=True)
    entries += [arrow(x, "f", signed(rng, 0.1, 0.8)) for x in causes]
    entries += [spread("f", "f", rng.uniform(0.1, 1.0)), *together(causes, covariance(rng, np.ones(len(causes))))]
    entries += [
        *intercepts(rng, causes),
        *([arrow(causes[0], items[-1], 0.3)] if len(items) > 2 and rng.random() < 0.3 else []),
    ]
    units = factor_units({"f": items}, marker=True) | {x: x for x in causes}
    return Drawn((Model((*causes, *items), ("f",), tuple(entries)),), units)
