"""A cause that acts beside ordered, ranked and behind columns: is the truth recovered, and do intervals cover it?

One graph with columns of all kinds, whose effects are known; a drug that is confounded with an outcome in three
categories, and an instrument for it. How often are true graphs rejected? Writes ``docs/benchmarks/acting.{json,md}``.
``--samples 320 --recovery 100 --sizes 400 --holes 200`` is the full study, ``--quick`` a few samples; a study of 0
samples is kept as it was.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
GRAPH = "z -> drug; income -> {drug, stress, y}; drug -> {stress, y, w}; stress -> {y, w}; drug <-> y"
KINDS: dict[str, ColumnKind] = {"y": "ordered", "income": "ranked", "stress": "behind", "drug": "acts"}
TRUTHS = {
    "z -> drug": 0.8, "income -> drug": 0.4, "income -> stress": -0.5, "income -> y": 0.3, "drug -> stress": -0.7,
    "drug -> y": 0.6, "drug -> w": 0.5, "stress -> y": -0.5, "stress -> w": 0.8, "drug <-> y": 0.5,
}  # fmt: skip
Line = dict[str, str | float]


def drawn(n: int, seed: int) -> dict[str, Floats]:
    """Rows of the graph; errors behind categories have variance 1."""
    rng = np.random.default_rng(seed)
    z, income, of_stress, of_w = rng.normal(size=(4, n))
    of_drug, of_y = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], size=n).T
    drug = (0.8 * z + 0.4 * income + of_drug > 0.3).astype(float)
    stress = -0.5 * income - 0.7 * drug + of_stress
    y = 0.3 * income + 0.6 * drug - 0.5 * stress + of_y
    return {
        "z": z, "income": np.exp(10.0 + 0.8 * income), "drug": drug,
        "stress": np.digitize(stress, [-1.0, 0.0, 0.8]).astype(float),
        "y": np.digitize(y, [0.0, 1.0]).astype(float), "w": 1.0 + 0.5 * drug + 0.8 * stress + 0.7 * of_w,
    }  # fmt: skip


def study(n: int, samples: int, first: int) -> list[Line]:
    """For each effect: its mean over samples, how far it spreads, what it says of that, and how often it covers."""
    found = np.empty((samples, len(TRUTHS), 2))
    for k in range(samples):
        table = ht.fit(GRAPH, drawn(n, first + k), kinds=KINDS).params()
        table = {(f"{row['rhs']} -> {row['lhs']}" if row["op"] == "~" else f"{row['lhs']} <-> {row['rhs']}"): row
                 for row in table.to_dict("records") if row["op"] in ("~", "~~")}  # fmt: skip
        found[k] = [[table[name]["est"], table[name]["se"]] for name in TRUTHS]
        print(f"n = {n:,}: {k + 1} of {samples}", flush=True)
    return summed_up(found, TRUTHS)


def summed_up(found: Floats, truths: dict[str, float]) -> list[Line]:
    """A line for each effect, from its values and errors by sample."""
    lines: list[Line] = []
    for j, (name, truth) in enumerate(truths.items()):
        value, error = found[:, j].T
        lines.append({
            "effect": name, "truth": truth, "bias": float(value.mean() - truth), "spread": float(value.std()),
            "error": float(error.mean()), "covers": float(np.mean(np.abs(value - truth) < 1.96 * error)),
        })  # fmt: skip
    return lines


CHAIN = "z -> d -> m -> y; a -> d; d <-> y"
CHAIN_KINDS: dict[str, ColumnKind] = {"d": "acts", "y": "ordered"}


def chain(n: int, seed: int) -> dict[str, Floats]:
    """Rows of a drug with two instruments, whose effect on an outcome in three categories has a mediator."""
    rng = np.random.default_rng(seed)
    z, a, hidden = rng.normal(size=(3, n))
    d = (0.8 * z + 0.5 * a + 0.6 * hidden + 0.8 * rng.normal(size=n) > 0.3).astype(float)
    m = d + rng.normal(size=n)
    y = np.digitize(0.7 * m - 0.7 * hidden + 0.7 * rng.normal(size=n), [-0.5, 0.8]).astype(float)
    return {"z": z, "a": a, "d": d, "m": m, "y": y}


def rejections(n: int, samples: int, first: int, *, mixed: bool) -> list[Line]:
    """How often each test of a true graph rejects at .05, not adjusted for their number."""
    counts: dict[str, list[float]] = {}
    for k in range(samples):
        data, graph, kinds = (drawn(n, first + k), GRAPH, KINDS) if mixed else (chain(n, first + k), CHAIN, CHAIN_KINDS)
        for row in ht.fit(graph, data, kinds=kinds).tests().to_dict("records"):
            name = "all edges together" if row["kind"] == "together" else row["constraint"]
            if row["p"] == row["p"]:
                counts.setdefault(name, []).append(float(row["p"] < 0.05))
        if (k + 1) % 10 == 0:
            shares = {name: f"{sum(found):g}/{len(found)}" for name, found in counts.items()}
            print(f"tests, n = {n:,}: {k + 1} of {samples}, rejected: {shares}", flush=True)
    graph_name = "with a ranked column" if mixed else "two instruments"
    return [
        {"graph": graph_name, "claim": name, "samples": len(found), "rejected": float(np.mean(found))}
        for name, found in counts.items()
    ]


PAGE = """# A cause that acts beside other kinds

A drug that acts and is confounded with an outcome in three categories, an instrument for it, a ranked cause, and a
mediator behind four categories. `python -m benchmarks.acting` makes this page again. Effects on and of variables behind
categories are in standard deviations of their errors. *Bias* is the mean over samples less the truth, *spread* the
standard deviation over samples, *error* the mean of the standard errors, *covers* the share of 95% intervals that have
the truth in them.
"""


CHAIN_TRUTHS = {"z -> d": 0.8, "a -> d": 0.5, "d -> m": 1.0, "m -> y": 0.7 / np.sqrt(0.98)}


def holed(n: int, samples: int, first: int) -> list[Line]:
    """Coverage where a tenth of the values is missing at random, by full information."""
    found = np.empty((samples, len(CHAIN_TRUTHS), 2))
    for k in range(samples):
        rng, data = np.random.default_rng(first + k), chain(n, first + k)
        holes = {v: np.where(rng.random(n) < 0.1, np.nan, x) for v, x in data.items()}
        table = ht.fit(CHAIN, holes, kinds=CHAIN_KINDS).params().to_dict("records")
        lines = {f"{row['rhs']} -> {row['lhs']}": row for row in table if row["op"] == "~"}
        found[k] = [[lines[name]["est"], lines[name]["se"]] for name in CHAIN_TRUTHS]
        print(f"holes, n = {n:,}: {k + 1} of {samples}", flush=True)
    return summed_up(found, CHAIN_TRUTHS)


SIZES = """
## How often true graphs are rejected

At n = 1,000, nominal .05, each test for itself: the likelihood ratio against the largest graph around this one (with a
ranked column: the score test from what rows add), the score test of each absent edge, and of straight lines. *Two
instruments* is `z -> d -> m -> y; a -> d; d <-> y` with a drug `d` that acts and `y` in three categories.

| graph | claim | samples | rejected |
|---|---|---|---|
"""
Study = dict[str, tuple[int, list[Line]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=320)
    parser.add_argument("--recovery", type=int, default=100)
    parser.add_argument("--sizes", type=int, default=400)
    parser.add_argument("--holes", type=int, default=200)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    counts = (4, 2, 4, 2) if args.quick else (args.samples, args.recovery, args.sizes, args.holes)
    covering, recovering, testing, missing = counts
    found: Study = json.loads((OUT / "acting.json").read_text(encoding="utf-8"))
    if covering:
        found["1000"] = (covering, study(1_000, covering, 0))
    if recovering:
        found["4000"] = (recovering, study(4_000, recovering, 10_000))
    if testing:
        few = max(1, testing // 4)  # with ranks, and more columns, each takes longer
        lines = [*rejections(1_000, testing, 20_000, mixed=False), *rejections(1_000, few, 30_000, mixed=True)]
        found["sizes"] = (testing, lines)
    if missing:
        found["holes"] = (missing, holed(500, missing, 40_000))
    written(found)


def written(found: Study) -> None:
    """The results as a file and as a page."""
    text = PAGE
    for n, (samples, lines) in found.items():
        if n == "sizes":
            text += SIZES
            for line in lines:
                rejected = f"{line['samples']} | {line['rejected']:.3f}"
                text += f"| {line['graph']} | {line['claim']} | {rejected} |\n"
            continue
        rows = "500 rows, a tenth of the values missing" if n == "holes" else f"{int(n):,} rows"
        text += f"\n## {samples} samples of {rows}\n\n| effect | truth | bias | spread | error | covers |\n"
        text += "|---|---|---|---|---|---|\n"
        for line in lines:
            numbers = " | ".join(f"{line[x]:.3f}" for x in ("truth", "bias", "spread", "error", "covers"))
            text += f"| `{line['effect']}` | {numbers} |\n"
    (OUT / "acting.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (OUT / "acting.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
