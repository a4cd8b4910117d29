"""Does the interval of a set with ordered or ranked columns cover the true value, which sits at an end of the set?

The graphs, weights and assumptions are those of ``benchmarks.bounds_coverage``, with either sign of what is assumed, so
that the truth is at either end; the outcome is yes or no, or ranked, or the mediator has four categories. *Spread* is
the standard deviation over samples of the end that the truth is at, *error* the mean of what each sample says of it.
Writes ``docs/benchmarks/bounds_kinds.{json,md}``. ``--samples 1000`` is the full study, about an hour of one core.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import logit
from scipy.stats import norm

import halftrek as ht
from benchmarks.bounds_coverage import AIM, CASES, Case
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.results.sets.bounds import Bounds

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
SIZES = (300, 1_000)
SAMPLES = 1_000
CUTS: dict[ColumnKind, tuple[float, ...]] = {"ordered": (0.3,), "behind": (-0.8, 0.0, 0.8)}
Line = dict[str, str | int | float]


@dataclass(frozen=True)
class Design:
    """A case of continuous variables, brought to variance 1 where a column is a cut or a rank of one."""

    name: str
    case: Case
    kinds: dict[str, ColumnKind]
    assume: tuple[str, ...]
    truths: dict[str, float]

    def rows(self, rng: np.random.Generator, n: int) -> dict[str, Floats]:
        """Rows as they are seen."""
        drawn = rng.multivariate_normal(np.zeros(len(self.case.names)), self.case.sigma, n)
        return {
            v: _seen(drawn[:, k], self.kinds.get(v, "plain")) for k, v in enumerate(self.case.names)
        }  # fmt: skip


def _seen(column: Floats, kind: ColumnKind) -> Floats:
    if kind == "ranked":
        return np.asarray(np.exp(column))
    return np.digitize(column, CUTS[kind]).astype(float) if kind in CUTS else column


class Acting(Design):
    """A cause that acts as the category it is, on a yes/no outcome whose error has variance 1."""

    def rows(self, rng: np.random.Generator, n: int) -> dict[str, Floats]:
        """Rows as they are seen."""
        of_x, of_y = rng.multivariate_normal(np.zeros(2), self.case.omega, n).T
        x = _seen(of_x, "ordered")
        return {"x": x, "y": _seen(self.case.T[0, 1] * x + of_y, "ordered")}


def scaled(case: Case, kinds: dict[str, ColumnKind], sign: float) -> Case:
    """The case with variance 1 behind columns that have a kind, and with this sign of what is assumed to be small."""
    T, omega = case.T.copy(), case.omega.copy()
    if "<->" in case.assume[0]:  # between the first two variables
        omega[0, 1] = omega[1, 0] = sign * omega[0, 1]
    else:
        T[0, 2] *= sign
    root = np.linalg.inv(np.eye(len(T)) - T)
    sd = np.sqrt(np.diag(root.T @ omega @ root))
    unit = np.array([sd[k] if v in kinds else 1.0 for k, v in enumerate(case.names)])
    return replace(case, T=T * unit[:, None] / unit, omega=omega / np.outer(unit, unit))


def effect(case: Case) -> float:
    """The total effect of x on the outcome, the last variable."""
    root = np.linalg.inv(np.eye(len(case.T)) - case.T)
    return float(root[case.names.index("x"), -1])


def risks(case: Case, *, acts: bool = False) -> dict[str, float]:
    """True risks of a yes/no outcome and what is made of them, where x is held at 1 and at 0."""
    x, held = case.names.index("x"), case.T.copy()
    held[:, x] = 0.0
    root, omega = np.linalg.inv(np.eye(len(held)) - held), case.omega.copy()
    omega[x] = omega[:, x] = 0.0
    left = float(np.sqrt((root.T @ omega @ root)[-1, -1]))
    left = 1.0 if acts else left
    one, zero = (float(norm.cdf((at * effect(case) - CUTS["ordered"][0]) / left)) for at in (1.0, 0.0))
    worlds = "y = 1 | do(x=1) : do(x=0)"
    return {
        "x ~> y": effect(case), "P(y = 1 | do(x=1))": one, f"RD({worlds})": one - zero, f"RR({worlds})": one / zero,
        f"OR({worlds})": one / (1.0 - one) / (zero / (1.0 - zero)),
    }  # fmt: skip


def _design(
    name: str, place: int, kinds: dict[str, ColumnKind], sign: float, truths: Callable[[Case], dict[str, float]]
) -> Design:
    case = scaled(CASES[place], kinds, sign)
    assume = case.assume if "<->" in case.assume[0] else (f"|z -> y| <= {abs(float(case.T[0, 2]))!r}",)
    return Design(f"{name}, {'+' if sign > 0 else '-'}", case, kinds, assume, truths(case))


def _means(case: Case) -> dict[str, float]:
    return {"x ~> y": effect(case), "E[y | do(x=1)]": effect(case)}


def _acting(sign: float) -> Design:
    bow = CASES[0]
    omega = np.array([[1.0, sign * 0.3], [sign * 0.3, 1.0]])
    case = replace(bow, omega=omega)
    kinds: dict[str, ColumnKind] = {"x": "acts", "y": "ordered"}
    name = f"bow, yes/no cause that acts, {'+' if sign > 0 else '-'}"
    return Acting(name, case, kinds, case.assume, risks(case, acts=True))


DESIGNS = tuple(
    design
    for sign in (1.0, -1.0)
    for design in (
        _design("bow, yes/no outcome", 0, {"y": "ordered"}, sign, risks),
        _design("leaky instrument, yes/no outcome", 2, {"y": "ordered"}, sign, risks),
        _design("front door with x <-> m, scale between", 4, {"m": "behind"}, sign, _means),
        _acting(sign),
    )
)


def end_of(found: Bounds, side: int) -> tuple[float, float]:
    """An end of the set and its standard error, from the interval and how many errors that goes beyond it.

    Intervals of risks are symmetric on logits, those of ratios on logarithms.
    """
    (quantile,) = (float(n.facts["quantile"]) for n in found.notes if n.code == "stoye set")
    assert found.interval is not None
    end, beyond = (found.high, found.interval[1]) if side > 0 else (found.low, found.interval[0])
    match str(found.question)[:2]:
        case "P(":
            return end, float(abs(logit(beyond) - logit(end))) * end * (1.0 - end) / quantile
        case "RR" | "OR":
            return end, float(abs(np.log(beyond / end))) * end / quantile
    return end, abs(beyond - end) / quantile


def study(design: Design, n: int, samples: int, questions: Iterable[str]) -> list[Line]:
    """One line for each question: how often the interval covers, and how its end varies."""
    rng = np.random.default_rng(zlib.crc32(f"{design.name} {n}".encode()))
    found: dict[str, list[tuple[Bounds, bool]]] = {question: [] for question in questions}
    lost = 0
    for _ in range(samples):
        try:
            fit = ht.fit(design.case.graph, design.rows(rng, n), kinds=design.kinds)
        except ht.DataError:  # a table with an empty cell
            lost += 1
            continue
        for question, known in found.items():
            one = fit.bounds(question, assume=design.assume, interval="stoye")
            known.append((one, _covers(fit, design, question, one)))
    return [_line(design, n, question, known, lost) for question, known in found.items()]


def _covers(fit: ht.Fit, design: Design, question: str, found: Bounds) -> bool:
    """Does the interval that is given by default hold the truth? One by the likelihood holds the set, for certain."""
    truth, effect = design.truths[question], "~>" in question and "acts" not in design.kinds.values()
    if effect and found.low <= truth <= found.high:
        return True
    default = fit.bounds(question, assume=design.assume) if effect else found
    return any(a <= truth <= b for a, b in default.interval_pieces)


def _line(design: Design, n: int, question: str, known: list[tuple[Bounds, bool]], lost: int) -> Line:
    truth = design.truths[question]
    middle = float(np.mean([(b.low + b.high) / 2.0 for b, _ in known]))
    side = 1 if truth > middle else -1
    ends = np.array([end_of(b, side) for b, _ in known])
    line: Line = {
        "design": design.name, "n": n, "question": question, "samples": len(known), "lost": lost, "truth": truth,
        "end": float(ends[:, 0].mean()), "side": side, "spread": float(ends[:, 0].std(ddof=1)),
        "error": float(ends[:, 1].mean()), "covers": float(np.mean([c for _, c in known])),
    }  # fmt: skip
    print(line, flush=True)
    return line


def _cell(line: Line) -> tuple[str, int, str]:
    return str(line["design"]), int(line["n"]), str(line["question"])


PAGE = """# Bounds with ordered and ranked columns

Does the 95 % interval of a set cover the true value where that sits at an end of the set, the worst place? Graphs and
assumptions are those of [bounds](bounds.md): a bow with `|corr(x <-> y)| <= 0.3`, an instrument with a leak, a front
door whose mediator is confounded with the cause; the truth is at the limit that is assumed, with either sign (+, -).
`python -m benchmarks.bounds_kinds` makes this page again. *Spread* is the standard deviation of that end over samples,
*error* the mean of its standard errors.

| design | rows | question | samples | truth | mean end | spread | error | covers |
|---|---:|---|---:|---:|---:|---:|---:|---:|
"""


def page(lines: list[Line]) -> str:
    """The lines as a page."""
    text = PAGE
    for line in lines:
        numbers = " | ".join(f"{line[x]:.3f}" for x in ("truth", "end", "spread", "error", "covers"))
        text += f"| {line['design']} | {line['n']} | `{line['question']}` | {line['samples']} | {numbers} |\n".replace(
            " | do", " \\| do"
        )
    outside = [line for line in lines if not AIM[0] <= float(line["covers"]) <= AIM[1]]
    return text + f"\nOf {len(lines)} cells {len(outside)} are outside {AIM[0]:.3f} to {AIM[1]:.2f}.\n"


def main() -> None:
    """Run the study and write its numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--only", default="", help="designs whose name holds this")
    parser.add_argument("--ask", nargs="*", default=("",), help="questions that begin so, such as 'OR'")
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    parser.add_argument("--dry", action="store_true", help="print only")
    args = parser.parse_args()
    path = OUT / "bounds_kinds.json"
    known: list[Line] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    for design in DESIGNS:
        if args.only not in design.name:
            continue
        asked = [question for question in design.truths if question.startswith(tuple(args.ask))]
        for n in args.rows:
            made = {_cell(line): line for line in study(design, n, args.samples, asked)}
            known = [line for line in known if _cell(line) not in made] + list(made.values())
            known.sort(key=lambda line: (str(line["design"]), int(line["n"])))
            if not args.dry:
                path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
                (OUT / "bounds_kinds.md").write_text(page(known), encoding="utf-8")


if __name__ == "__main__":
    main()
