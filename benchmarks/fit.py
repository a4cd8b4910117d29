"""From moments to a fit: halftrek beside R's ggm and lavaan, medians in one run, ratios to halftrek.

R and its packages are used if they are installed (``Rscript`` on the path); a peer that is not there is reported so.
Run with ``make bench`` or ``python benchmarks/fit.py [--quick]``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.estimation.plan import make_plan
from halftrek.graph import Graph
from halftrek.simulation import random_graph, random_model

R_SCRIPT = Path(__file__).parent / "fit_peers.R"


def median_ms(call: Callable[[], object], repeats: int) -> float:
    for _ in range(1 + repeats // 4):  # the interpreter and the caches get warm, as in R's repeated calls
        call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return 1e3 * float(np.median(taken))


def problems(quick: bool) -> dict[str, tuple[Graph, ht.Moments]]:
    """The paper's graphs, and random bow-free ones with one confounder for three variables."""
    found = {}
    for name in ("front-door", "napkin"):
        entry = ht.catalog(name)
        found[name] = (entry.graph, ht.moments(entry.model.sample(10_000, random_state=0)))
    for p in (30, 100) if quick else (30, 100, 300, 1000):
        graph = random_graph(p, n_edges=2 * p, n_bidirected=p // 3, bow_free=True, random_state=1)
        model = random_model(graph, random_state=2)
        found[f"{p} variables, {p // 3} confounders"] = (graph, ht.moments(model.sample(5000, random_state=3)))
    return found


def halftrek_times(graph: Graph, moments: ht.Moments, repeats: int) -> dict[str, float]:
    def cold() -> None:
        make_plan.cache_clear()
        ht.fit(Graph(graph.directed, graph.bidirected, graph.latents, graph.observed), moments)

    return {
        "halftrek": median_ms(lambda: ht.fit(graph, moments), repeats),
        "halftrek, new graph": median_ms(cold, repeats),
    }


def peer_times(graph: Graph, moments: ht.Moments, seconds: int) -> dict[str, float | str]:
    """Milliseconds by peer, or why there are none."""
    peers: tuple[str, ...] = ("ggm", "lavaan", "lavaan, no se")
    if shutil.which("Rscript") is None:
        return dict.fromkeys(peers, "R is not installed")
    arcs = [*graph.bidirected, *(tuple(kids) for kids in graph.latents.values())]
    answer: dict[str, float | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        names = list(graph.observed)
        (Path(folder) / "problem.json").write_text(
            json.dumps({"names": names, "directed": graph.directed, "bidirected": arcs, "n": moments.n})
        )
        np.savetxt(Path(folder) / "cov.csv", moments.cov, delimiter=",")
        np.savetxt(Path(folder) / "T.csv", _pattern(names, graph.directed), fmt="%d", delimiter=",")
        np.savetxt(Path(folder) / "W.csv", _pattern(names, arcs), fmt="%d", delimiter=",")
        for peer in peers:
            try:
                done = subprocess.run(
                    ["Rscript", "--vanilla", str(R_SCRIPT), folder, peer, str(moments.n)],
                    capture_output=True,
                    text=True,
                    timeout=seconds,
                )
            except subprocess.TimeoutExpired:
                answer[peer] = f"no answer in {seconds} s"
                continue
            lines = done.stdout.strip().splitlines()
            answer[peer] = float(lines[-1]) if done.returncode == 0 and lines else _last(done.stderr)
    return answer


def _pattern(names: list[str], pairs: object) -> np.ndarray:
    at = {v: i for i, v in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), dtype=int)
    for u, v in pairs:  # type: ignore[attr-defined]
        matrix[at[u], at[v]] = 1
    return matrix


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["failed"])[-1][:60]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small problems only")
    parser.add_argument("--seconds", type=int, default=120, help="longest wait for a peer")
    options = parser.parse_args()
    print(f"{'problem':34s} {'tool':22s} {'ms':>10s} {'ratio':>8s}")
    for name, (graph, moments) in problems(options.quick).items():
        own = halftrek_times(graph, moments, 401 if len(graph) < 10 else 7)
        rows: dict[str, float | str] = {**own, **peer_times(graph, moments, options.seconds)}
        for tool, taken in rows.items():
            if isinstance(taken, str):
                print(f"{name:34s} {tool:22s} {taken}")
            else:
                print(f"{name:34s} {tool:22s} {taken:10.2f} {taken / own['halftrek']:8.1f}")
    napkin = ht.catalog("napkin")
    rng = np.random.default_rng(0)
    X = np.asarray(napkin.model.sample(10_000, random_state=0))
    covs = np.stack([np.cov(X[rng.integers(0, len(X), len(X))].T, ddof=0) for _ in range(1000)])
    batch = median_ms(lambda: ht.fit_batch(napkin.graph, cov=covs, n=len(X)), 5)
    print(f"{'1,000 napkin fits in one batch':34s} {'halftrek':22s} {batch:10.2f}")


if __name__ == "__main__":
    main()
