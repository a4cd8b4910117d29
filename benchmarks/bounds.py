"""What a set of values costs, by the number of free weights, in processor time.

    python -m benchmarks.bounds                 the cases and random ones
    python -m benchmarks.bounds --cases         the cases of tests/reference/bounds alone

The aims: a closed form 5 ms with reading the text, one free weight with proof 30 ms, two 0.3 s, three 3 s.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from time import process_time

import numpy as np

import halftrek as ht
from halftrek.errors import QueryError
from halftrek.partial.sets import identified_set
from tests.partial.graphs import Setting, random_setting
from tests.partial.mixed import mixed_setting

CASES = Path(__file__).parents[1] / "tests" / "reference" / "bounds" / "cases.json"
AIMS = {0: 5.0, 1: 30.0, 2: 300.0, 3: 3000.0}  # milliseconds


def cases(rounds: int = 5) -> None:
    """Every case of the reference, the fastest of some rounds."""
    stored = json.loads(CASES.read_text(encoding="utf-8"))
    print(f"{'case':26s} {'free':>4s} {'ms':>8s}  certificate")
    for case in (*stored["bounds"], *stored["latent"]):
        took = []
        for _ in range(rounds):
            start = process_time()
            graph = ht.graph(case["graph"])
            found = identified_set(graph, case["Sigma"], None, case["query"], case["assume"], names=case["names"])
            took.append(1000.0 * (process_time() - start))
        print(f"{case['id']:26s} {found.free:4d} {min(took):8.1f}  {found.certificate}")


def random_ones(words: str, settings: Iterable[Setting]) -> None:
    """Random settings, by the number of free weights; questions without an answer, such as x / 0, are left out."""
    took: dict[tuple[int, str], list[float]] = defaultdict(list)
    for setting in settings:
        start = process_time()
        try:
            found = identified_set(setting.graph, setting.sigma, None, setting.question, setting.assumptions)
        except QueryError:
            continue
        took[found.free, found.certificate].append(1000.0 * (process_time() - start))
    print(f"\n{words}")
    print(f"{'free':>4s} {'certificate':16s} {'sets':>5s} {'median ms':>10s} {'90 %':>8s} {'aim':>6s}")
    for (free, certificate), times in sorted(took.items()):
        aim = f"{AIMS[free]:6.0f}" if free in AIMS else "     -"
        print(
            f"{free:4d} {certificate:16s} {len(times):5d} {np.median(times):10.1f} {np.quantile(times, 0.9):8.1f} {aim}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", action="store_true", help="the cases of the reference alone")
    parser.add_argument("--count", type=int, default=600, help="random settings")
    given = parser.parse_args()
    cases()
    if not given.cases:
        random_ones("random settings", (random_setting(10_000 + k, largest=4) for k in range(given.count)))
        third = given.count // 3
        random_ones("all kinds of assumptions, three free weights", (mixed_setting(9_000 + k, 3) for k in range(third)))


if __name__ == "__main__":
    main()
