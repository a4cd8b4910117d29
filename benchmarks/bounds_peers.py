"""Answers and processor time side by side with other programs for sensitivity and bounds, where they can be had.

    pip install PySensemakr
    python -m benchmarks.bounds_peers

- sensemakr (its Python port) on its own data, the survey of Darfur: robustness values, and a confounder one to three
  times as strong as ``female``. It is handed estimates and degrees of freedom: version 0.0.8 fails on a model with
  pandas 3.
- leakyIV and optsens are R packages that neither PyPI nor Debian has. In place of leakyIV the formula that it is made
  of is computed here: leaks g with ``|g| <= tau`` leave all b with ``|a - b c| <= tau``, where a and c are the
  regressions of y and x on the instruments (Watson and others 2024). Nothing stands in for optsens.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np

import halftrek as ht

CAUSE, EFFECT, LIKE = "directlyharmed", "peacefactor", "female"


def timed(work: Callable[[], Any], rounds: int = 5) -> tuple[Any, float]:
    """What comes of some work, and the milliseconds of its fastest round."""
    took, found = [], None
    for _ in range(rounds):
        start = process_time()
        found = work()
        took.append(1e3 * (process_time() - start))
    return found, min(took)


def darfur() -> None:
    """sensemakr's own example, without the villages: it is handed the numbers of the two regressions."""
    from sensemakr import bias_functions, data, sensitivity_bounds, sensitivity_statistics

    rows = data.load_darfur()
    others = ["age", "farmer_dar", "herder_dar", "pastvoted", "hhsize_darfur", LIKE]
    (b, se, t), free = regression(rows, EFFECT, [CAUSE, *others], CAUSE)
    like = regression(rows, EFFECT, [CAUSE, *others], LIKE)[0][2], regression(rows, CAUSE, others, LIKE)[0][2]

    def theirs() -> tuple[list[float], list[float]]:
        values = [
            float(sensitivity_statistics.robustness_value(t_statistic=float(t), dof=free, alpha=alpha).iloc[0])
            for alpha in (1.0, 0.05)
        ]
        on_effect, on_cause = like[0] ** 2 / (like[0] ** 2 + free), like[1] ** 2 / (like[1] ** 2 + free + 1)
        moved = []
        for times in (1, 2, 3):
            shares = sensitivity_bounds.ovb_partial_r2_bound(r2dxj_x=on_cause, r2yxj_dx=on_effect, kd=times, ky=times)
            first, second = float(shares["r2dz_x"].iloc[0]), float(shares["r2yz_dx"].iloc[0])
            moved.append(float(bias_functions.adjusted_estimate(first, second, estimate=b, se=se, dof=free)))
        return values, moved

    (values, moved), their_time = timed(theirs)
    lines = [f"{CAUSE} -> {EFFECT}", *(f"{v} -> {{{CAUSE}, {EFFECT}}}" for v in others)]
    lines += [f"{u} <-> {v}" for k, u in enumerate(others) for v in others[:k]]
    fit = ht.fit("; ".join(lines), rows[[EFFECT, CAUSE, *others]])
    fit.benchmark(CAUSE, EFFECT, "age")  # so that nothing is imported in the time that is taken
    ours, our_time = timed(lambda: fit.benchmark(CAUSE, EFFECT, LIKE), rounds=1)  # a second round would remember
    print(f"robustness value      sensemakr {values[0]:.10f}   halftrek {ours.rv:.10f}")
    print(f"... no longer sure    sensemakr {values[1]:.10f}   halftrek {ours.rv_lost:.10f}")
    for row, at in zip(ours.rows, moved, strict=True):
        print(f"{row.times:g} times as {LIKE:13s}sensemakr {at:.10f}   halftrek {row.estimate:.10f}")
    print(f"time                  sensemakr {their_time:.1f} ms   halftrek {our_time:.1f} ms")


def regression(rows: Any, effect: str, causes: list[str], which: str) -> tuple[tuple[float, float, float], int]:
    """Least squares with an intercept: estimate, standard error and t of one cause, and the degrees of freedom."""
    X = np.column_stack([np.ones(len(rows)), *(np.asarray(rows[v], dtype=float) for v in causes)])
    y = np.asarray(rows[effect], dtype=float)
    found = np.linalg.lstsq(X, y, rcond=None)[0]
    free = len(y) - X.shape[1]
    spread = float(((y - X @ found) ** 2).sum()) / free
    k = 1 + causes.index(which)
    error = float(np.sqrt(spread * np.linalg.inv(X.T @ X)[k, k]))
    return (float(found[k]), error, float(found[k]) / error), free


def leaks(count: int = 4, tau: float = 0.3) -> None:
    """Some leaky instruments whose leaks are limited together."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal((2000, count))
    e = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], 2000)
    x = z.sum(axis=1) + e[:, 0]
    y = 2.0 * x + z @ np.full(count, 0.1) + e[:, 1]
    names = [f"z{k}" for k in range(count)]
    S = np.cov(np.column_stack([z, x, y]).T, bias=True)
    a, c = (np.linalg.solve(S[:count, :count], S[:count, k]) for k in (count + 1, count))
    middle, rest = (a @ c) / (c @ c), a @ a - (a @ c) ** 2 / (c @ c)
    reach = np.sqrt((tau**2 - rest) / (c @ c))
    graph = "; ".join([*(f"{v} -> x" for v in names), "x -> y; x <-> y"])
    graph += "".join(f"; {u} <-> {v}" for k, u in enumerate(names) for v in names[:k])
    assume = [f"norm({', '.join(f'{v} -> y' for v in names)}) <= {tau}"]
    fit = ht.fit(graph, cov=S, names=[*names, "x", "y"], n=2000)
    found, took = timed(lambda: fit.bounds("x -> y", assume=assume), rounds=2)
    print(f"\n{count} leaky instruments, norm at most {tau}")
    print(f"formula               {middle - reach:.8f} to {middle + reach:.8f}")
    print(f"halftrek              {found.low:.8f} to {found.high:.8f}   {found.certificate}, {took:.0f} ms in all")


def main() -> None:
    """Print what there is to compare."""
    if find_spec("sensemakr"):
        darfur()
    else:
        print("sensemakr is not installed: pip install PySensemakr")
    leaks()
    print("\nleakyIV and optsens: not on PyPI or in Debian, so not run")


if __name__ == "__main__":
    main()
