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
from functools import partial
from math import nan
from pathlib import Path

import numpy as np
from scipy.special import logit
from scipy.stats import norm

import halftrek as ht
from benchmarks.bounds_coverage import AIM, CASES, Case, kept, leak_ends
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.layer import layer_of
from halftrek.results.sets.bounds import Bounds

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
SIZES = (300, 1_000)
SAMPLES = 1_000
ERRORS = 100  # samples of an effect in which the errors of ends are worked out
EFFECT = "x ~> y"
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


@dataclass(frozen=True)
class Sample:
    """What one sample says: the ends of the set, their standard errors, and whether the interval holds the truth."""

    ends: tuple[float, float]
    errors: tuple[float, float]
    covers: bool


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
    if "<->" not in case.assume[0]:
        leak = abs(float(case.T[0, 2]))
        case = replace(case, assume=(f"|z -> y| <= {leak!r}",), ends=partial(leak_ends, tau=leak))
    case = replace(case, truth=effect(case))
    return Design(f"{name}, {'+' if sign > 0 else '-'}", case, kinds, case.assume, truths(case))


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


def end_of(found: Bounds, side: int, question: str = EFFECT) -> tuple[float, float]:
    """An end of the set and its standard error, from the interval and how many errors that goes beyond it.

    Intervals of risks are symmetric on logits, those of ratios on logarithms.
    """
    (quantile,) = (float(n.facts["quantile"]) for n in found.notes if n.code == "stoye set")
    assert found.interval is not None
    end, beyond = (found.high, found.interval[1]) if side > 0 else (found.low, found.interval[0])
    match question[:2]:
        case "P(":
            return end, float(abs(logit(beyond) - logit(end))) * end * (1.0 - end) / quantile
        case "RR" | "OR":
            return end, float(abs(np.log(beyond / end))) * end / quantile
    return end, abs(beyond - end) / quantile


def study(design: Design, n: int, samples: int, questions: Iterable[str]) -> list[Line]:
    """One line for each question: how often the interval covers, and how its end varies."""
    rng = np.random.default_rng(zlib.crc32(f"{design.name} {n}".encode()))
    found: dict[str, list[Sample]] = {question: [] for question in questions}
    lost = 0
    for k in range(samples):
        rows = design.rows(rng, n)
        try:
            for question, known in found.items():
                by_rule = "~>" in question and not isinstance(design, Acting)
                known.append(ruled(design, rows, errors=k < ERRORS) if by_rule else asked(design, rows, question))
        except ht.DataError:  # a table with an empty cell
            lost += 1
    return [_line(design, n, question, known, lost) for question, known in found.items()]


def asked(design: Design, rows: dict[str, Floats], question: str) -> Sample:
    """Of one sample, from the interval itself."""
    one = ht.fit(design.case.graph, rows, kinds=design.kinds).bounds(question, assume=design.assume)
    covers = any(a <= design.truths[question] <= b for a, b in one.interval_pieces)
    return Sample((one.low, one.high), (end_of(one, -1, question)[1], end_of(one, 1, question)[1]), covers)


def ruled(design: Design, rows: dict[str, Floats], *, errors: bool) -> Sample:
    """Of one sample, for an effect: by the rule of the likelihood set, without its ends (``bounds_coverage.kept``).

    Ends of the set are in closed form at the correlations behind, and a set that holds the truth has an interval that
    does. ``errors``: those of the ends are worked out too. ``--check`` compares with the interval.
    """
    case, names = design.case, design.case.names
    layer = layer_of(names, np.column_stack([rows[v] for v in names]), design.kinds)
    (low, _), (high, _) = case.ends(np.array(layer.cov))
    at = (nan, nan)
    if errors:
        one = ht.fit(case.graph, rows, kinds=design.kinds).bounds(EFFECT, assume=design.assume, interval="stoye")
        at = (end_of(one, -1)[1], end_of(one, 1)[1])
    covers = low <= case.truth <= high
    if not covers:
        fit = ht.fit(case.read[2], rows, kinds=design.kinds)
        order = [fit.moments.names.index(v) for v in names]
        covers = kept(case, fit, np.array(fit.moments.cov)[np.ix_(order, order)])
    return Sample((low, high), at, covers)


def _line(design: Design, n: int, question: str, known: list[Sample], lost: int) -> Line:
    truth = design.truths[question]
    side = int(truth > float(np.mean([sum(one.ends) / 2.0 for one in known])))
    ends = np.array([one.ends[side] for one in known])
    line: Line = {
        "design": design.name, "n": n, "question": question, "samples": len(known), "lost": lost, "truth": truth,
        "end": float(ends.mean()), "spread": float(ends.std(ddof=1)),
        "error": float(np.nanmean([one.errors[side] for one in known])),
        "covers": float(np.mean([one.covers for one in known])),
    }  # fmt: skip
    print(line, flush=True)
    return line


def checked(design: Design, n: int, samples: int) -> int:
    """How often the rule and the interval itself differ, for an effect."""
    rng = np.random.default_rng(n)
    differ = 0
    for _ in range(samples):
        rows = design.rows(rng, n)
        one = ht.fit(design.case.graph, rows, kinds=design.kinds).bounds(EFFECT, assume=design.assume)
        covers = any(a <= design.case.truth <= b for a, b in one.interval_pieces)
        differ += covers != ruled(design, rows, errors=False).covers
    return differ


def _cell(line: Line) -> tuple[str, int, str]:
    return str(line["design"]), int(line["n"]), str(line["question"])


PAGE = """# Bounds with ordered and ranked columns

Does the 95 % interval of a set cover the true value where that sits at an end of the set, the worst place? Graphs and
assumptions are those of [bounds](bounds.md): a bow with `|corr(x <-> y)| <= 0.3`, an instrument with a leak, a front
door whose mediator is confounded with the cause; the truth is at the limit that is assumed, with a sign (+ or -).
`python -m benchmarks.bounds_kinds` makes this page again. *Spread* is the standard deviation of that end over samples,
*error* the mean of its standard errors (of effects, in 100 of the samples). Whether the interval of an effect, which is
by the likelihood scaled by rows, holds the truth is asked by its rule, without its ends; `--check` says how often the
two differ. The largest effect of the front door, 0.509, is not at the limit: its truth is a little inside the set.

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
    parser.add_argument("--check", type=int, default=0, help="of so many samples, does the quick rule say the same?")
    args = parser.parse_args()
    if args.check:
        for design in DESIGNS:
            if args.only in design.name and not isinstance(design, Acting):
                print(f"{design.name}: {checked(design, args.rows[0], args.check)} of {args.check} differ", flush=True)
        return
    path = OUT / "bounds_kinds.json"
    known: list[Line] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    for design in DESIGNS:
        if args.only not in design.name:
            continue
        wanted = [question for question in design.truths if question.startswith(tuple(args.ask))]
        for n in args.rows:
            made = {_cell(line): line for line in study(design, n, args.samples, wanted)}
            known = [line for line in known if _cell(line) not in made] + list(made.values())
            known.sort(key=lambda line: (str(line["design"]), int(line["n"])))
            if not args.dry:
                path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
                (OUT / "bounds_kinds.md").write_text(page(known), encoding="utf-8")


if __name__ == "__main__":
    main()
