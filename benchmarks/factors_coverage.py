"""How often 95 % intervals of effects between factors hold the true value, at 300 rows.

Writes ``docs/benchmarks/factors_coverage.md``; ``--dry --samples 200`` only prints, and fewer samples.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import HalftrekError

OUT = Path(__file__).parent.parent / "docs" / "benchmarks" / "factors_coverage.md"
ROWS = 300
KINDS: tuple[Literal["delta", "robust"], ...] = ("delta", "robust")

PAGE = """# Factors: how often intervals hold the truth

{samples:,} samples of {rows} rows each: the share in which the 95 % interval of an effect holds its true value. With
{samples:,} samples a share of 95 % is known to about one point. *Skewed*: all errors are exponential, less their mean.
`python -m benchmarks.factors_coverage` makes this page again.

| model | question | errors | delta | robust | bias in standard errors | without an answer |
|---|---|---|---:|---:|---:|---:|
"""


@dataclass(frozen=True)
class Design:
    """A graph, true effects, and rows from errors of variance 1."""

    name: str
    graph: str
    truth: dict[str, float]
    rows: Callable[[Callable[[], Floats]], dict[str, Floats]]


def _items(factor: Floats, names: str, draw: Callable[[], Floats]) -> dict[str, Floats]:
    return {v: w * factor + 0.7 * draw() for v, w in zip(names.split(), (1.0, 0.8, 0.9), strict=True)}


def _chain(draw: Callable[[], Floats]) -> dict[str, Floats]:
    x = draw()
    F = 0.5 * x + draw()
    G = 0.6 * F + 0.3 * x + draw()
    return {"x": x, **_items(F, "a b c", draw), **_items(G, "d e f", draw)}


def _mediator(draw: Callable[[], Floats]) -> dict[str, Floats]:
    u = draw()
    x = u + draw()
    M = 0.5 * x + draw()
    return {"x": x, "y": 0.7 * M + u + draw(), **_items(M, "a b c", draw)}


def _second_order(draw: Callable[[], Floats]) -> dict[str, Floats]:
    x = draw()
    S = 0.5 * x + draw()
    found = {"x": x, "y": 0.6 * S + draw()}
    for weight, names in ((1.0, "a b c"), (0.8, "d e f"), (0.9, "g h i")):
        found |= _items(weight * S + 0.6 * draw(), names, draw)
    return found


def _growth(draw: Callable[[], Floats]) -> dict[str, Floats]:
    x, shared = draw(), draw()
    level, slope = 1.0 + 0.5 * x + 0.5 * shared + draw(), 0.5 + 0.3 * x + 0.3 * shared + 0.5 * draw()
    return {"x": x, **{f"t{k + 1}": level + k * slope + 0.7 * draw() for k in range(4)}}


def designs() -> Iterator[Design]:
    """Effects between factors, through one that is hidden, of factors of factors, and on growth."""
    first, second = "F -> {a, b, c}; F -> a [1]", "G -> {d, e, f}; G -> d [1]"
    third = "H -> {g, h, i}; H -> g [1]"
    yield Design(
        "two factors", f"latent F, G; x -> F -> G; x -> G; {first}; {second}",
        {"F ~> G": 0.6, "x ~> G": 0.6, "x -> G": 0.3}, _chain,
    )  # fmt: skip
    yield Design(
        "a measured hidden mediator", "latent M; x -> M -> y; x <-> y; M -> {a, b, c}; M -> a [1]",
        {"x ~> y": 0.35, "M ~> y": 0.7}, _mediator,
    )  # fmt: skip
    yield Design(
        "a second-order factor",
        f"latent F, G, H, S; x -> S -> y; S -> {{F, G, H}}; S -> F [1]; {first}; {second}; {third}",
        {"S ~> y": 0.6, "x ~> S": 0.5, "S ~> G": 0.8}, _second_order,
    )  # fmt: skip
    waves = "i -> {t1, t2, t3, t4} [1]; s -> t2 [1]; s -> t3 [2]; s -> t4 [3]; i <-> s; x -> {i, s}"
    yield Design(
        "a growth curve", f"latent i, s; {waves}; intercept {{t1, t2, t3, t4}} [0]; intercept {{i, s}}",
        {"x ~> s": 0.3, "x ~> i": 0.5, "E[s | do(x=1)]": 0.8}, _growth,
    )  # fmt: skip


def covered(design: Design, samples: int, *, skewed: bool) -> Iterator[str]:
    """A line for each question."""
    hits = {q: np.zeros(2) for q in design.truth}
    away: dict[str, list[float]] = {q: [] for q in design.truth}
    lost = dict.fromkeys(design.truth, 0)
    graph = ht.graph(design.graph)
    for seed in range(samples):
        rng = np.random.default_rng([seed, len(design.name)])

        def draw(rng: np.random.Generator = rng) -> Floats:
            return rng.exponential(size=ROWS) - 1.0 if skewed else rng.normal(size=ROWS)

        fit = ht.fit(graph, design.rows(draw))
        for question, truth in design.truth.items():
            try:
                found = [fit.query(question, interval=kind) for kind in KINDS]
            except HalftrekError:
                lost[question] += 1
                continue
            for k, one in enumerate(found):
                assert one.interval is not None
                low, high = one.interval
                hits[question][k] += low <= truth <= high
            se = found[0].se
            assert isinstance(se, float)
            away[question].append((float(found[0].value) - truth) / se)
    for question in design.truth:
        shares = hits[question] / max(1, samples - lost[question])
        errors, bar = "skewed" if skewed else "normal", "\\|"
        yield (
            f"| {design.name} | `{question.replace('|', bar)}` | {errors} | {shares[0]:.1%} | {shares[1]:.1%} | "
            f"{np.mean(away[question]):+.2f} | {lost[question]} |"
        )


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="print only")
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--only", default="", help="designs whose name holds this")
    args = parser.parse_args()
    lines: list[str] = []
    for skewed in (False, True):
        for design in designs():
            if args.only in design.name and not (skewed and design.name != "two factors"):
                start = time.process_time()
                for line in covered(design, args.samples, skewed=skewed):
                    print(line, flush=True)
                    lines.append(line)
                print(f"  {time.process_time() - start:.0f} s", flush=True)
    if not args.dry:
        OUT.write_text(PAGE.format(samples=args.samples, rows=ROWS) + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
