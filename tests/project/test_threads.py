"""How many threads linear algebra uses does not change an answer: docs/reliability.md says to how many digits."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np

from tests.project.pages import ROOT

FITS = """
import json
import halftrek as ht
from halftrek.simulation import random_graph, random_model

numbers = []
for size in (8, 30, 100):
    graph = random_graph(size, n_edges=2 * size, n_bidirected=size // 2, bow_free=True, random_state=size)
    world = random_model(graph, random_state=size)
    fit = ht.fit(graph, world.sample(20_000, random_state=1), names=world.names)
    assert fit.converged
    params = fit.params()
    numbers += [float(fit.loglik), *map(float, params["est"]), *map(float, params["se"])]
print(json.dumps(numbers))
"""


def numbers(threads: int) -> np.ndarray:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    wanted = {**os.environ, **dict.fromkeys(names, str(threads))}
    done = subprocess.run(
        [sys.executable, "-c", FITS], env=wanted, cwd=ROOT, capture_output=True, text=True, check=True
    )
    return np.array(json.loads(done.stdout))


def test_two_threads_give_the_answer_of_one() -> None:
    one, two = numbers(1), numbers(2)
    assert len(one) > 800
    np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12)
