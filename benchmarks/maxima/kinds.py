"""Every kind of random model: what psychology, medicine and economics fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np

from benchmarks.maxima.drawn import Drawn, Rng, alone, covariance, intercepts, signed, together
from benchmarks.maxima.factors import bifactor, cfa, factor_units, items_of, measured, mediators, mimic, second_order
from benchmarks.maxima.growth import (
    curve,
    growth_cubic,
    growth_free,
    growth_free_between,
    growth_linear,
    growth_multivariate,
    growth_piecewise,
    growth_quadratic,
    powers,
    ri_clpm,
)
from benchmarks.maxima.model import Model, arrow, level, shapes, spread
from halftrek.bottom.choices import Equal


def bows(rng: Rng, *, tie: bool = False, hold: bool = False) -> Drawn:
    """Arrows and arcs among four to six variables, about as many as there are covariances."""
    p = int(rng.integers(4, 7))
    names, pairs = [f"v{k}" for k in range(p)], list(combinations(range(p), 2))
    arcs = [pairs[k] for k in rng.choice(len(pairs), int(rng.integers(1, p)), replace=False)]
    R = np.eye(p)
    for i, j in arcs:
        R[i, j] = R[j, i] = signed(rng, 0.1, 0.9)
    lowest, least = np.linalg.eigvalsh(R)[0], rng.uniform(0.02, 0.6)
    if lowest < least:
        R = np.eye(p) + (R - np.eye(p)) * (1.0 - least) / (1.0 - lowest)
    sd = rng.uniform(0.7, 1.4, p)
    cov = R * np.outer(sd, sd)
    count = int(np.clip(len(pairs) - len(arcs) - rng.integers(0, 4), 2, len(pairs)))
    arrows = [pairs[k] for k in rng.choice(len(pairs), count, replace=False)]
    tied, weight = set(arrows[:2]) if tie else set(), signed(rng, 0.2, 1.0)
    entries = [arrow(names[i], names[j], weight, label="k") for i, j in arrows if (i, j) in tied]
    entries += [arrow(names[i], names[j], signed(rng, 0.1, 1.5)) for i, j in arrows if (i, j) not in tied]
    entries += [spread(v, v, cov[k, k], held=hold and k == p - 1) for k, v in enumerate(names)]
    entries += [spread(names[i], names[j], cov[i, j], held=hold and k == 0) for k, (i, j) in enumerate(arcs)]
    model = Model(tuple(names), (), (*entries, *intercepts(rng, names)))
    return Drawn((model,), alone(model, "v" if tie else ""))


def ordered(rng: Rng, *, weighted: bool = False) -> Drawn:
    """Factors of items with two to five answers each; now and then one is continuous.

    What is behind such an item has mean zero and variance one; a factor has its marker's unit.
    """
    drawn = cfa(rng, most=2, plain=True)
    (model,) = drawn.models
    cuts: dict[str, tuple[float, ...]] = {}
    for v in model.seen:
        if rng.random() < 0.9 or not cuts:
            shares = np.cumsum(rng.dirichlet(np.full(int(rng.integers(2, 6)), 8.0)))[:-1]
            cuts[v] = tuple(float(s) for s in shares)
    (shape,), truth = shapes(drawn.models)
    sd = dict(zip(model.seen, np.sqrt(np.diag(shape.moments(truth)[1])), strict=True))
    own = {v: 1.0 / sd[f] if f in cuts else 1.0 for v, f in drawn.families.items()}
    families = {v: "" if f in cuts else f for v, f in drawn.families.items()}
    behind = tuple(replace(e, value=0.0) if e.part == "m" and e.row in cuts else e for e in model.in_units(own).entries)
    scaled = replace(model, entries=behind)
    return replace(drawn, models=(scaled,), families=families, cuts=cuts, weighted=weighted, fewest=200)


def ordered_dwls(rng: Rng) -> Drawn:
    return ordered(rng, weighted=True)


def missing(rng: Rng) -> Drawn:
    base = (growth_linear, growth_free, cfa, mimic, mediators, bows, ri_clpm)[int(rng.integers(7))]
    return replace(base(rng), holes=float(rng.uniform(0.03, 0.25)))


def tied(rng: Rng) -> Drawn:
    """Equal loadings, equal errors, equal effects at all waves, equal coefficients."""
    which = int(rng.integers(5))
    if which == 0:
        return growth_linear(rng, tie=True)
    if which == 1:
        return growth_quadratic(rng, tie=True)
    if which == 2:
        return ri_clpm(rng, tie=True)
    if which == 3:
        return bows(rng, tie=True)
    groups = dict(zip("fg", items_of([4, 4]), strict=True))
    marker = bool(rng.random() < 0.5)
    entries = [e for f, items in groups.items() for e in measured(rng, f, items, marker=marker, same=True)]
    entries += [
        replace(e, held=not marker and e.row == e.col) for e in together(list("fg"), covariance(rng, [1, 1], 0.9))
    ]
    seen = tuple(v for items in groups.values() for v in items)
    return Drawn((Model(seen, ("f", "g"), tuple(entries)),), factor_units(groups, marker=marker, shared=True))


def fixed(rng: Rng) -> Drawn:
    """Correlations of factors held, at one among others; known errors of measurement; held errors and arcs."""
    which = int(rng.integers(4))
    if which == 0:
        return bows(rng, hold=True)
    if which == 1:  # causes measured with a known error each
        items = ["y1", "y2", "z"]
        hidden = ("f", "g")
        entries = [arrow(f, v, 1.0, held=True) for f, v in zip(hidden, items, strict=False)]
        entries += [spread(v, v, rng.uniform(0.2, 0.6), held=True) for v in items[:2]]
        entries += [arrow(f, "z", signed(rng, 0.2, 1.0)) for f in hidden]
        entries += [spread("z", "z", rng.uniform(0.3, 1.0)), *together(hidden, covariance(rng, [1, 1], 0.9))]
        model = Model(tuple(items), hidden, (*entries, *intercepts(rng, items)))
        return Drawn((model,), {"f": "y1", "g": "y2"} | {v: v for v in items})
    if which == 2:  # a line whose slopes have a known spread, and a known part of it goes with the level
        model = curve(rng, powers(int(rng.integers(3, 6)), 1), [rng.uniform(0.5, 2), rng.uniform(0.1, 0.8)])
        known = {("f0", "f1"), ("f1", "f1")}
        held = tuple(replace(e, held=e.held or (e.row, e.col) in known) for e in model.entries)
        model = replace(model, entries=held)
        return Drawn((model,), alone(model, "t"))
    r = float(rng.choice([0.3, 0.8, 1.0, 1.0]))
    groups = dict(zip("fg", items_of([3, 3]), strict=True))
    entries = [e for f, items in groups.items() for e in measured(rng, f, items, marker=False)]
    entries += together(list("fg"), np.array([[1.0, r], [r, 1.0]]), held=True)
    seen = tuple(v for items in groups.values() for v in items)
    return Drawn((Model(seen, ("f", "g"), tuple(entries)),), factor_units(groups, marker=False))


LEVELS: tuple[tuple[Equal, ...], ...] = (
    ("loadings",),
    ("loadings", "intercepts"),
    ("loadings", "intercepts", "residuals"),
)


def groups(rng: Rng) -> Drawn:
    """Two or three groups of factors that hold more and more equal, or of lines with equal errors."""
    lines = rng.random() < 0.3
    drawn = growth_linear(rng) if lines else cfa(rng, most=2, marker=True, plain=True)
    equal: tuple[Equal, ...] = ("residuals",) if lines else LEVELS[int(rng.integers(len(LEVELS)))]
    base = drawn.models[0]
    count = int(rng.integers(2, 4))
    return replace(drawn, models=tuple(_group(rng, base, equal, g) for g in range(count)), equal=equal)


def _group(rng: Rng, base: Model, equal: tuple[Equal, ...], g: int) -> Model:
    """The first group, or another with other variances, loadings and means where these are not equal."""
    grown = {v: rng.uniform(0.7, 1.4) if g else 1.0 for v in base.names}
    found = []
    for e in base.entries:
        what = {"A": "loadings", "m": "intercepts", "S": "residuals" if e.row in base.seen else ""}[e.part]
        if e.held:
            found.append(e)
        elif what in equal and e.row in base.seen:
            found.append(replace(e, label="_".join((e.part, e.row, e.col))))
        elif e.part == "S":
            found.append(replace(e, value=e.value * grown[e.row] * grown[e.col]))
        else:
            found.append(replace(e, value=e.value + (0.2 * rng.standard_normal() if g else 0.0)))
    if g and "intercepts" in equal:
        found += [level(f, 0.5 * rng.standard_normal()) for f in base.hidden]
    return replace(base, entries=tuple(found))


KINDS: dict[str, Callable[[Rng], Drawn]] = {
    f.__name__: f
    for f in (
        growth_linear, growth_quadratic, growth_cubic, growth_free, growth_free_between, growth_piecewise,
        growth_multivariate, ri_clpm, cfa, bifactor, second_order, mediators, mimic, bows, ordered, ordered_dwls,
        missing, tied, fixed, groups,
    )
}  # fmt: skip
