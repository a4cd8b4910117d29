"""A cause that acts beside ordered, ranked and behind columns: is the truth recovered, and do intervals cover it?

One graph with columns of all kinds, whose effects are known; a drug that is confounded with an outcome in three
categories, and an instrument for it. Writes ``docs/benchmarks/acting.{json,md}``. ``--samples 320 --recovery 100`` is
the full study, ``--quick`` a few samples.
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
    lines: list[Line] = []
    for j, (name, truth) in enumerate(TRUTHS.items()):
        value, error = found[:, j].T
        lines.append({
            "effect": name, "truth": truth, "bias": float(value.mean() - truth), "spread": float(value.std()),
            "error": float(error.mean()), "covers": float(np.mean(np.abs(value - truth) < 1.96 * error)),
        })  # fmt: skip
    return lines


PAGE = """# A cause that acts beside other kinds

A drug that acts and is confounded with an outcome in three categories, an instrument for it, a ranked cause, and a
mediator behind four categories. `python -m benchmarks.acting` makes this page again. Effects on and of variables behind
categories are in standard deviations of their errors. *Bias* is the mean over samples less the truth, *spread* the
standard deviation over samples, *error* the mean of the standard errors, *covers* the share of 95% intervals that have
the truth in them.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=320)
    parser.add_argument("--recovery", type=int, default=100)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    covering, recovering = (4, 2) if args.quick else (args.samples, args.recovery)
    written({"1000": (covering, study(1_000, covering, 0)), "4000": (recovering, study(4_000, recovering, 10_000))})


def written(found: dict[str, tuple[int, list[Line]]]) -> None:
    """The results as a file and as a page."""
    text = PAGE
    for n, (samples, lines) in found.items():
        text += f"\n## {samples} samples of {int(n):,} rows\n\n| effect | truth | bias | spread | error | covers |\n"
        text += "|---|---|---|---|---|---|\n"
        for line in lines:
            numbers = " | ".join(f"{line[x]:.3f}" for x in ("truth", "bias", "spread", "error", "covers"))
            text += f"| `{line['effect']}` | {numbers} |\n"
    (OUT / "acting.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (OUT / "acting.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
