"""Random curves and panels: lines, powers, free bases, two processes, stable traits behind both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.maxima.drawn import Drawn, Rng, alone, covariance, intercepts, signed, together
from benchmarks.maxima.model import Entry, Model, arrow, level, spread


def curve(
    rng: Rng, basis: np.ndarray, sd: Sequence[float], *, free: Sequence[int] = (), tie: bool = False, tag: str = "",
    stretch: float = 1.0, factors: Sequence[Entry] | None = None,
) -> Model:  # fmt: skip
    """Occasions that factors load on as ``basis`` says; the loadings of the occasions ``free`` on the last are free."""
    times = [f"{tag}t{k + 1}" for k in range(len(basis))]
    names = [f"{tag}f{k}" for k in range(basis.shape[1])]
    last = names[-1]
    loads = [
        arrow(f, t, basis[i, j], held=f != last or i not in free)
        for j, f in enumerate(names)
        for i, t in enumerate(times)
    ]
    noise = rng.uniform(0.5, 1.2, len(times)) if not tie else np.full(len(times), rng.uniform(0.5, 1.2))
    errors = [spread(t, t, s**2, label=f"{tag}e" if tie else "") for t, s in zip(times, noise, strict=True)]
    means = [level(f, (5.0, stretch, 0.2, 0.05)[k] * rng.standard_normal()) for k, f in enumerate(names)]
    zero = [level(t, 0.0, held=True) for t in times]
    moved = together(names, covariance(rng, sd)) if factors is None else list(factors)
    return Model(tuple(times), tuple(names), (*loads, *moved, *errors, *means, *zero))


def powers(count: int, degree: int) -> np.ndarray:
    return np.vander(np.arange(count, dtype=float), degree + 1, increasing=True)


def growth_linear(rng: Rng, *, tie: bool = False) -> Drawn:
    model = curve(rng, powers(int(rng.integers(3, 7)), 1), [rng.uniform(0.3, 2), rng.uniform(0.05, 0.8)], tie=tie)
    return Drawn((model,), alone(model, "t"))


def growth_quadratic(rng: Rng, *, tie: bool = False) -> Drawn:
    sd = [rng.uniform(0.3, 2), rng.uniform(0.1, 0.8), rng.uniform(0.02, 0.3)]
    model = curve(rng, powers(int(rng.integers(4, 7)), 2), sd, tie=tie or bool(rng.random() < 0.3))
    return Drawn((model,), alone(model, "t"))


def growth_cubic(rng: Rng) -> Drawn:
    sd = [rng.uniform(0.3, 2), rng.uniform(0.1, 0.8), rng.uniform(0.02, 0.3), rng.uniform(0.005, 0.05)]
    model = curve(rng, powers(int(rng.integers(5, 8)), 3), sd)
    return Drawn((model,), alone(model, "t"))


def free_basis(rng: Rng, count: int, *, ends: bool) -> tuple[np.ndarray, list[int], float]:
    """Zero and one first, or zero first and one last, the other places are to be found; and by what slopes grow."""
    place = np.concatenate([[0.0, 1.0], 1.0 + rng.uniform(0.2, 2.0, count - 2).cumsum()])
    longer = float(place[-1]) if ends else 1.0
    free = list(range(1, count - 1) if ends else range(2, count))
    return np.column_stack([np.ones(count), place / longer]), free, longer


def growth_free(rng: Rng, *, ends: bool = False) -> Drawn:
    basis, free, longer = free_basis(rng, int(rng.integers(4, 6)), ends=ends)
    model = curve(rng, basis, [1.0, longer * rng.uniform(0.2, 0.8)], free=free, stretch=longer)
    return Drawn((model,), alone(model, "t"))


def growth_free_between(rng: Rng) -> Drawn:
    return growth_free(rng, ends=True)


def growth_piecewise(rng: Rng) -> Drawn:
    count = int(rng.integers(5, 8))
    at, knot = np.arange(count, dtype=float), int(rng.integers(2, count - 2))
    basis = np.column_stack([np.ones(count), np.minimum(at, knot), np.maximum(at - knot, 0.0)])
    model = curve(rng, basis, [rng.uniform(0.3, 2), *rng.uniform(0.05, 0.8, 2)])
    return Drawn((model,), alone(model, "t"))


def growth_multivariate(rng: Rng) -> Drawn:
    """Two processes, each a line or with a free basis; errors of one occasion may covary."""
    count, parts = int(rng.integers(4, 6)), []
    ways = [
        free_basis(rng, count, ends=bool(rng.random() < 0.5)) if rng.random() < 0.3 else (powers(count, 1), [], 1.0)
        for _ in range(2)
    ]
    names = [f"{tag}f{k}" for tag in "ab" for k in range(2)]
    moved = together(names, covariance(rng, [x for _, _, far in ways for x in (1.0, far * rng.uniform(0.1, 0.8))]))
    for tag, (basis, free, far) in zip("ab", ways, strict=True):
        own = moved if tag == "a" else []
        parts.append(curve(rng, basis, [1.0, 1.0], free=free, tag=tag, stretch=far, factors=own))
    a, b = parts
    across = [spread(s, t, 0.1 * signed(rng, 0, 1)) for s, t in zip(a.seen, b.seen, strict=True)]
    entries = (*a.entries, *b.entries, *(across if rng.random() < 0.5 else []))
    model = Model(a.seen + b.seen, a.hidden + b.hidden, entries)
    return Drawn((model,), {v: v[0] for v in model.names})


def ri_clpm(rng: Rng, *, tie: bool = False) -> Drawn:
    """Stable traits behind both panels, and what is left of each wave on the wave before."""
    waves = int(rng.integers(3, 5))
    seen = [f"{v}{k}" for v in "xy" for k in range(1, waves + 1)]
    traits, inner = ["rx", "ry"], [f"w{v}" for v in seen]
    entries = [arrow(f"r{v[0]}", v, 1.0, held=True) for v in seen]
    entries += [arrow(f"w{v}", v, 1.0, held=True) for v in seen]
    entries += [spread(v, v, 0.0, held=True) for v in seen]
    entries += together(traits, covariance(rng, rng.uniform(0.4, 1.2, 2)))
    weights = {(u, v): rng.uniform(0.1, 0.6) if u == v else signed(rng, 0.0, 0.3) for u in "xy" for v in "xy"}
    for k in range(1, waves + 1):
        both = covariance(rng, rng.uniform(0.6, 1.2, 2))
        entries += together([f"wx{k}", f"wy{k}"], both)
        for (u, v), weight in weights.items() if k > 1 else ():
            entries.append(arrow(f"w{u}{k - 1}", f"w{v}{k}", weight, label=f"{u}{v}" if tie else ""))
    entries += intercepts(rng, seen)
    hidden = (*traits, *inner)
    families = {v: "x" if "x" in v else "y" for v in (*seen, *hidden)}
    return Drawn((Model(tuple(seen), hidden, tuple(entries)),), families)
