"""Coefficients as ratios of determinants: trek separation, and half-treks through latent factors.

Trek separation (Weihs et al. 2018) and the latent-factor half-trek criterion (Barber et al. 2022) both end in a linear
system ``Cov(rows, columns + x) b = Cov(rows, v)`` whose entry for x is the coefficient of x -> v, although the other
entries mean nothing. Instead of searching for the treks that make it so, small systems are tried at a random point
where the coefficient is known.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from halftrek.identification.criteria.closure import Closure
from halftrek.identification.numbers.modular import Ints, PrimeField
from halftrek.identification.recipes.recipe import Combination, LinearStep, cleaned, direct

_MOST_ROWS = 26  # possible instruments that are tried, the simplest first
_MOST_COLUMNS = 12


def determinant_steps(closure: Closure) -> bool:
    """Try every edge that is not known; True if one was found."""
    grown = False
    for x, v in closure.bench.point.parameters.graph.directed:
        if direct(x, v) not in closure.known:
            step = _find(closure, x, v)
            if step is not None:
                closure.learn(step, closure.weight(x, v))
                grown = True
    return grown


def _find(closure: Closure, x: str, v: str) -> LinearStep | None:
    bench = closure.bench
    graph = bench.point.parameters.graph
    settled = [p for p in graph.parents(v) if direct(p, v) in closure.known]
    residual = np.zeros(len(bench.names), dtype=np.int64)
    residual[bench.place[v]] = 1
    for p in (*settled, x):
        residual[bench.place[p]] = bench.field.p - closure.weight(p, v)
    rows, vectors, products = closure.instruments(_MOST_ROWS)
    left = bench.field.matmul(products, residual[:, None])[:, 0]
    cause = products[:, bench.place[x]]
    extra = [i for i, c in enumerate(rows) if c.variable not in (x, v) and not _mentions(c, x, v)][:_MOST_COLUMNS]
    columns = bench.field.matmul(products, vectors[extra].T)
    for size in (1, 2):
        for chosen in combinations(range(len(extra)), size):
            picked = _rows_that_fit(closure, left, cause, columns[:, list(chosen)])
            if picked is not None:
                others = tuple(rows[extra[i]] for i in chosen)
                outputs = (direct(x, v), *(None for _ in others))
                instruments = tuple(rows[i] for i in picked)
                return LinearStep(instruments, (Combination(x), *others), cleaned(v, settled), outputs)
    return None


def _mentions(c: Combination, *names: str) -> bool:
    return any(w in names for w, _ in c.minus)


def _rows_that_fit(closure: Closure, left: Ints, cause: Ints, columns: Ints) -> tuple[int, ...] | None:
    """Rows S with ``det[left, columns]_S = 0`` and ``det[cause, columns]_S != 0``: there x gets its coefficient."""
    f = closure.bench.field
    chosen = _subsets(len(left), columns.shape[1] + 1)
    chosen = chosen[determinants(f, left[chosen], columns[chosen]) == 0]
    chosen = chosen[determinants(f, cause[chosen], columns[chosen]) != 0]
    return tuple(chosen[0].tolist()) if len(chosen) else None


@lru_cache(maxsize=64)
def _subsets(count: int, size: int) -> Ints:
    return np.array(list(combinations(range(count), size)), dtype=np.int64).reshape(-1, size)


def determinants(f: PrimeField, first: Ints, rest: Ints) -> Ints:
    """Determinants of many small matrices: first column (batch, k), other columns (batch, k, k-1), k up to 3."""
    if rest.shape[-1] == 0:
        return first[:, 0]
    if rest.shape[-1] == 1:
        a, b = first, rest[..., 0]
        return f.reduce(f.mul(a[:, 0], b[:, 1]) - f.mul(a[:, 1], b[:, 0]))
    total = np.zeros(len(first), dtype=np.int64)
    for i in range(3):
        j, k = [r for r in range(3) if r != i]
        minor = f.reduce(f.mul(rest[:, j, 0], rest[:, k, 1]) - f.mul(rest[:, j, 1], rest[:, k, 0]))
        term = f.mul(first[:, i], minor)
        total = f.reduce(total + (term if i != 1 else -term))
    return total
