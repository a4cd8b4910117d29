"""One answer, whatever the number of threads that BLAS may use."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.threads import one_thread

CASES = ((6, 2_000), (6, 50_000), (12, 5_000), (25, 5_000))  # variables, rows: large enough for threads to start
WIDE = (150, 3_000)


def chain(p: int, n: int) -> tuple[ht.Graph, np.ndarray]:
    """Rows that are made without a matrix product."""
    rows = np.random.default_rng(p).standard_normal((n, p))
    rows += 0.5 * np.roll(rows, 1, axis=1)
    for j in range(1, p):
        rows[:, j] += 0.4 * rows[:, j - 1]
    names = [f"v{i}" for i in range(p)]
    arcs = [(names[i], names[i + 2]) for i in range(0, p - 2, 3)]
    return ht.Graph(list(pairwise(names)), arcs, observed=names), rows


def results() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for p, n in CASES:
        graph, rows = chain(p, n)
        fit, clustered = ht.fit(graph, rows), ht.fit(graph, rows, cluster=np.arange(n) // 10)
        found |= {f"{p} {n} {part}": getattr(fit.model, part) for part in ("T", "W", "mu", "cov")}
        found |= {f"{p} {n} loglik": fit.loglik, f"{p} {n} moments": fit.moments.cov}
        for kind in ("delta", "robust", "bootstrap", "parametric"):
            drawn: Any = {"replicates": 60} if kind in ("bootstrap", "parametric") else {}
            found[f"{p} {n} {kind}"] = fit.effect("v0", "v4", interval=kind, **drawn).interval
        found[f"{p} {n} clustered"] = clustered.effect("v0", "v4").interval
        found[f"{p} {n} clustered bootstrap"] = clustered.effect(
            "v0", "v4", interval="bootstrap", replicates=60
        ).interval
    graph, rows = chain(5, 1_000)
    rows[np.random.default_rng(0).random(rows.shape) < 0.05] = np.nan
    incomplete = ht.fit(graph, rows)
    found["missing"] = incomplete.model.T
    found["missing bootstrap"] = incomplete.effect("v0", "v4", interval="bootstrap", replicates=20).interval
    wide = ht.fit(*chain(*WIDE))
    with one_thread():  # what is asked of a model outside of calls
        return found | {"wide moments": wide.moments.cov, "wide implied": wide.model.cov}


@cache
def with_threads(count: int, *, as_set: bool = False) -> dict[str, Any]:
    """What a process finds whose BLAS may use so many threads; ``as_set``: without threadpoolctl it does use them."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    settings = {**os.environ, **dict.fromkeys(names, str(count)), "PYTHONPATH": root}
    words = [sys.executable, "-m", "tests.test_blas_threads", *(["as set"] if as_set else [])]
    done = subprocess.run(words, env=settings, cwd=root, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return dict(pickle.loads(done.stdout))


@pytest.mark.parametrize("as_set", [False, True])
def test_one_and_two_threads_give_the_same_digits(as_set: bool) -> None:
    one, two = with_threads(1), with_threads(2, as_set=as_set)
    assert list(one) == list(two)
    for name, value in one.items():
        first, second = np.asarray(value), np.asarray(two[name])
        if name.startswith("wide") and as_set:  # products of whole matrices that BLAS shares out: 12 digits
            units = np.sqrt(np.diag(first))
            assert (np.abs(first - second) <= 1e-12 * np.outer(units, units)).all(), name
        elif as_set and np.lib.NumpyVersion(np.__version__) < "2.0.0":  # its BLAS shares out smaller products, too
            np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-12, err_msg=name)
        else:
            assert first.tobytes() == second.tobytes(), name


if __name__ == "__main__":
    if sys.argv[1:] == ["as set"]:
        vars(sys)["modules"]["threadpoolctl"] = None  # as if it were not installed
    sys.stdout.buffer.write(pickle.dumps(results()))
