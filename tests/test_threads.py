"""Eight threads that use one graph and one fit at once get what one after the other gets."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.simulation import random_model
from tests.narrow import some
from tests.public_values import differences

TEXT = "z -> x -> m -> y; x -> y; a -> y; latent U; U -> {a, z, w}; c -> d; c <-> d"
THREADS = 8


def rows() -> dict[str, Any]:
    sample = random_model(ht.graph(TEXT), random_state=3).sample(300, random_state=4)
    return {v: np.asarray(sample[:, j]) for j, v in enumerate(sample.names or ())}


def asks(fit: ht.Fit, clustered: ht.Fit, incomplete: ht.Fit, folder: Path) -> list[Callable[[int], Any]]:
    """What a thread does; its number chooses what nobody else writes."""
    return [
        lambda _: fit.effect("z", "y", interval="delta"),
        lambda _: fit.query("P(y | do(x=1))", interval="delta"),
        lambda _: [
            fit.effect("z", "y", interval="bootstrap", replicates=20, random_state=s).interval for s in range(7)
        ],
        lambda _: fit.effect("z", "y", interval="parametric", replicates=20),
        lambda _: fit.params(as_frame=False),
        lambda _: fit.measures(),
        lambda _: fit.summary(),
        lambda _: clustered.effect("z", "y"),
        lambda _: incomplete.effect("z", "y", interval="delta"),
        lambda _: ht.identify(fit.graph, "z ~> y"),
        lambda _: ht.identify(fit.graph, "c -> d").explain(),
        lambda _: (fit.graph.districts, fit.graph.topological_order, hash(fit.graph)),
        lambda _: fit.decompose("z", "y"),
        lambda k: fit.save(folder / f"{k}.json").read_text(),
        lambda _: (fit.save(folder / "one.json"), ht.load(folder / "one.json").loglik)[1],
    ]


def fresh() -> tuple[ht.Fit, ht.Fit, ht.Fit]:
    """Nothing has been asked of these, so that nothing is kept with them."""
    complete, holes = rows(), rows()
    holes["m"] = np.where(np.arange(300) % 9 == 0, np.nan, holes["m"])
    clusters = np.arange(300) // 10
    return tuple(
        ht.fit(ht.graph(TEXT), data, cluster=by)  # type: ignore[return-value]
        for data, by in ((complete, None), (complete, clusters), (holes, None))
    )


def test_eight_threads_are_like_one(tmp_path: Path) -> None:
    alone = [ask(99) for ask in asks(*fresh(), tmp_path)]
    shared = asks(*fresh(), tmp_path)
    start = threading.Barrier(THREADS)

    def work(k: int) -> list[Any]:
        start.wait()
        order = [(k + i) % len(shared) for i in range(len(shared))] if k % 2 else list(range(len(shared)))
        found = {i: shared[i](k) for i in order}
        return [found[i] for i in range(len(shared))]

    with ThreadPoolExecutor(THREADS) as pool:
        for k, found in some(enumerate(pool.map(work, range(THREADS)))):
            assert not differences(alone, found), k


def test_more_sets_of_replicates_than_are_kept() -> None:
    """What one thread throws away another still gets."""
    fit = fresh()[0]
    seeds = list(range(12))
    alone = [fresh()[0].effect("z", "y", interval="bootstrap", replicates=5, random_state=s).interval for s in seeds]
    with ThreadPoolExecutor(THREADS) as pool:
        asked = [
            pool.submit(fit.effect, "z", "y", interval="bootstrap", replicates=5, random_state=s) for s in seeds * 8
        ]
        assert [a.result().interval for a in asked] == alone * 8


def test_replicates_that_another_thread_throws_away_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for none, as if others had filled it before this thread could look again."""
    wanted = fresh()[0].effect("z", "y", interval="bootstrap", replicates=5).interval
    monkeypatch.setattr("halftrek.inference.draws.bootstrap.KEPT", 0)
    assert fresh()[0].effect("z", "y", interval="bootstrap", replicates=5).interval == wanted
