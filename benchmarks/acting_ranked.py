"""A ranked outcome on which a category acts: is the effect that of the variable behind, and do intervals cover it?

A drug with an instrument, whose effect on an outcome of which ranks alone count is confounded or not, and large: the
ranks are those of a mixture. Beside it are normal scores taken for the outcome, which pass over that, and a fit to the
variable behind, which nobody sees. Writes ``docs/benchmarks/acting_ranked.{json,md}``. ``--recovery 24 --coverage 100
--bootstrap 24 --sizes 60`` is the full study; a study of 0 samples is kept as it was.
"""

from __future__ import annotations

import argparse
import json
from math import exp, log, sqrt
from pathlib import Path
from statistics import NormalDist

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.layer.margins import margin_of

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
GRAPHS = {"confounded": "z -> x -> y; w -> {x, y}; x <-> y", "not confounded": "z -> x -> y; w -> {x, y}"}
KINDS: dict[str, ColumnKind] = {"x": "acts", "y": "ranked"}
EFFECT, SHARED = 2.5, 0.7
Line = dict[str, str | float]
Study = dict[str, tuple[int, list[Line]]]


def drawn(n: int, seed: int, graph: str) -> dict[str, Floats]:
    """Rows; ``behind`` is the variable behind the outcome, in standard deviations over the rows."""
    rng = np.random.default_rng(seed)
    z, w, u, own, error = rng.normal(size=(5, n))
    x = (0.8 * z + 0.3 * w + 0.6 * u + 0.8 * own > 0.3).astype(float)
    shared = SHARED if graph == "confounded" else 0.0
    y = EFFECT * x + 0.5 * w + shared * u + np.sqrt(1.0 - shared**2) * error
    return {"z": z, "w": w, "x": x, "y": np.exp(0.5 * y), "behind": (y - y.mean()) / y.std()}


def truths(graph: str) -> dict[str, float]:
    """In closed form: the effect in standard deviations over all units, a risk, and a mean (of a lognormal outcome)."""
    size = sqrt(0.64 + 0.09 + 0.36 + 0.64)
    p, density = 1.0 - NormalDist().cdf(0.3 / size), NormalDist().pdf(0.3 / size) / size
    shared = SHARED if graph == "confounded" else 0.0
    with_x = density * (0.3 * 0.5 + 0.6 * shared)  # covariance of x with the other causes
    variance = EFFECT**2 * p * (1.0 - p) + 1.25 + 2.0 * EFFECT * with_x
    return {
        "x ~> y": EFFECT / sqrt(variance),
        "P(y > 4 | do(x=1))": 1.0 - NormalDist(EFFECT, sqrt(1.25)).cdf(2.0 * log(4.0)),
        "E[y | do(x=1)]": exp(0.5 * EFFECT + 0.125 * 1.25),
    }


def recovered(n: int, samples: int, first: int) -> list[Line]:
    """The effect by ranks, by normal scores, and by the variable behind."""
    lines: list[Line] = []
    for name, graph in GRAPHS.items():
        found = np.empty((samples, 3))
        for k in range(samples):
            rows = drawn(n, first + k, name)
            usual = margin_of(rows["y"], np.ones(n), "ranked")
            plain: dict[str, ColumnKind] = {"x": "acts"}
            found[k] = [
                _value(graph, rows, KINDS),
                _value(graph, rows | {"y": usual.behind(rows["y"])}, plain),
                _value(graph, rows | {"y": rows["behind"]}, plain),
            ]
            print(f"recovery, {name}: {k + 1} of {samples}", flush=True)
        truth = truths(name)["x ~> y"]
        for j, way in enumerate(("ranked", "normal scores", "the variable behind, unseen")):
            error = float(found[:, j].std(ddof=1)) / sqrt(samples)
            lines.append({
                "graph": name, "way": way, "truth": truth, "bias": float(found[:, j].mean()) - truth, "error": error,
                "spread": float(found[:, j].std(ddof=1)), "apart": float((found[:, j] - found[:, 2]).mean()),
            })  # fmt: skip
    return lines


def _value(graph: str, rows: dict[str, Floats], kinds: dict[str, ColumnKind]) -> float:
    fit = ht.fit(graph, rows, kinds=kinds)
    return float(fit.model.T[fit.model.names.index("x"), fit.model.names.index("y")])


def covered(n: int, samples: int, first: int, replicates: int = 0) -> list[Line]:
    """How often intervals have the truth in them: by what rows add, or (with ``replicates``) by rows drawn again."""
    lines: list[Line] = []
    for name, graph in GRAPHS.items() if not replicates else [("confounded", GRAPHS["confounded"])]:
        asked = truths(name)
        found = np.empty((samples, len(asked), 3))
        for k in range(samples):
            fit = ht.fit(graph, drawn(n, first + k, name), kinds=KINDS)
            for j, (question, truth) in enumerate(asked.items()):
                again = fit.query(question, interval="bootstrap", replicates=replicates) if replicates else None
                answer = fit.query(question) if again is None else again
                assert isinstance(answer.interval, tuple)
                low, high = answer.interval
                found[k, j] = [float(str(answer.value)), float(str(answer.se)), float(low <= truth <= high)]
            print(f"coverage, {name}: {k + 1} of {samples}, {found[: k + 1, :, 2].mean(axis=0)}", flush=True)
        for j, (question, truth) in enumerate(asked.items()):
            value, error, inside = found[:, j].T
            lines.append({
                "graph": name, "question": question, "truth": truth, "bias": float(value.mean() - truth),
                "spread": float(value.std()), "error": float(np.median(error)), "covers": float(inside.mean()),
            })  # fmt: skip
    return lines


def rejected(n: int, samples: int, first: int) -> list[Line]:
    """How often true absences are rejected at .05: ``z -> y`` where nothing is shared, ``z -> w`` in both graphs."""
    counts: dict[tuple[str, str], list[float]] = {}
    for name, graph in GRAPHS.items():
        for k in range(samples):
            for row in ht.fit(graph, drawn(n, first + k, name), kinds=KINDS).tests().to_dict("records"):
                if row["p"] == row["p"] and row["kind"] in ("missing edge", "together"):
                    claim = "all together" if row["kind"] == "together" else str(row["constraint"])
                    counts.setdefault((name, claim), []).append(float(row["p"] < 0.05))
            print(f"tests, {name}: {k + 1} of {samples}", flush=True)
    return [
        {"graph": name, "claim": claim, "samples": len(found), "rejected": float(np.mean(found))}
        for (name, claim), found in counts.items()
    ]


PAGE = """# A ranked outcome on which a category acts

A drug `x` that acts, with an instrument `z` and a covariate `w`; of the outcome `y` ranks alone count, and the drug's
effect is large, so that they are those of a mixture. The model says where ranks are. `python -m
benchmarks.acting_ranked` makes this page again. *Bias* is the mean over samples less the truth, known in closed form.
"""
PARTS = {
    "recovery": (
        "{samples} samples of 4,000 rows: the effect `x ~> y`\n\nIn standard deviations, over all units, of the "
        "variable behind. *Error* is that of the bias; *apart* is the mean difference from a fit to that variable.",
        ("graph", "way", "truth", "bias", "error", "spread", "apart"),
    ),
    "coverage": (
        "{samples} samples of 500 rows: intervals by what rows add\n\n*Spread* is the standard deviation over samples, "
        "*error* the median of the standard errors, *covers* the share of 95% intervals that have the truth in them.",
        ("graph", "question", "truth", "bias", "spread", "error", "covers"),
    ),
    "bootstrap": (
        "{samples} samples of 500 rows: intervals by 100 samples of rows drawn again",
        ("graph", "question", "truth", "bias", "spread", "error", "covers"),
    ),
    "sizes": (
        "How often true graphs are rejected\n\n{samples} samples of 500 rows, nominal .05, each test for itself.",
        ("graph", "claim", "samples", "rejected"),
    ),
}  # fmt: skip


def written(found: Study) -> None:
    """The results as a file and as a page."""
    text = PAGE
    for part, (title, columns) in PARTS.items():
        if part not in found:
            continue
        samples, lines = found[part]
        text += f"\n## {title.format(samples=samples)}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
        for line in lines:
            cells = [f"{line[c]:.3f}" if isinstance(line[c], float) else f"{line[c]}" for c in columns]
            text += (
                "| "
                + " | ".join(
                    f"`{c}`".replace("|", "\\|") if k == "question" else c for k, c in zip(columns, cells, strict=True)
                )
                + " |\n"
            )
    (OUT / "acting_ranked.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (OUT / "acting_ranked.md").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("recovery", 24), ("coverage", 100), ("bootstrap", 24), ("sizes", 60)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    path = OUT / "acting_ranked.json"
    found: Study = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if args.recovery:
        found["recovery"] = (args.recovery, recovered(4_000, args.recovery, 0))
    if args.coverage:
        found["coverage"] = (args.coverage, covered(500, args.coverage, 10_000))
    if args.bootstrap:
        found["bootstrap"] = (args.bootstrap, covered(500, args.bootstrap, 20_000, 100))
    if args.sizes:
        found["sizes"] = (args.sizes, rejected(500, args.sizes, 30_000))
    written(found)


if __name__ == "__main__":
    main()
