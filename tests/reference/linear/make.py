"""Answers of ordinary linear fits, to be asked again: nothing that is linear and Gaussian may change a digit.

    python -m tests.reference.linear.make          writes answers.json, which only a change that was meant may do
    python -m tests.reference.linear.make --moved  how far rounding moves each case: the last bits of its rows changed

Rows are bundled or drawn here, from raw bits of a generator whose stream numpy guarantees, by sums alone: they are the
same on every machine. Nothing random is asked (no bootstrap), and no p-value: statistics say the same, and
far out p-values magnify rounding.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

import halftrek as ht

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "halftrek" / "examples" / "data"
DIGITS = 12
Numbers = dict[str, list[float | None]]

# Rows whose last bits are changed, as another BLAS changes sums, move closed forms and fits that iterate by 2e-12 at
# most: the first have no more to add, the second stop where they stop, which another machine may find a step earlier or
# later. A test within values that are missing stops by how little it moves, and came out 5e-8 apart. (With other
# kernels, OPENBLAS_CORETYPE=Nehalem, all stays within these.)
CLOSED, ITERATED, STOPPED = 1e-9, 1e-7, 5e-6


@dataclass(frozen=True)
class Case:
    """A graph, what is fitted, and what is asked beside its tables."""

    graph: str
    rows: Callable[[], pd.DataFrame]
    tolerance: float = CLOSED
    options: Mapping[str, object] | None = None
    asked: tuple[str, ...] = ()
    bounds: tuple[tuple[str, tuple[str, ...]], ...] = ()
    moments: bool = False  # only their means and covariances are handed over


def draws(seed: int, rows: int, columns: int) -> np.ndarray:
    """Nearly normal numbers with mean 0 and variance 1: sums of twelve uniform ones."""
    raw = np.random.PCG64(seed).random_raw(12 * rows * columns) >> np.uint64(11)
    return (raw.reshape(rows, columns, 12) / 2.0**53).sum(axis=2) - 6.0


def front_door() -> pd.DataFrame:
    return pd.read_csv(DATA / "front_door.csv")


def airquality() -> pd.DataFrame:
    return pd.read_csv(DATA / "airquality.csv")


def instrument() -> pd.DataFrame:
    """An instrument z of x, whose error is that of y in part, with weights and schools."""
    z, u, a, b, w = draws(11, 600, 5).T
    school = np.arange(600) // 15
    shared = draws(12, 40, 1)[school, 0]
    x = 0.8 * z + u + 0.5 * a
    return pd.DataFrame({
        "z": z, "x": x, "y": 0.5 * x - u + 0.7 * b + 0.4 * shared, "weight": 1.0 + np.minimum(w * w, 4.0),
        "school": school,
    })  # fmt: skip


def districts() -> pd.DataFrame:
    """Two districts, each with more restrictions than one regression has: both are found by iteration."""
    e = draws(13, 500, 7)
    h, k = e[:, 5], e[:, 6]
    a = e[:, 0] + 0.6 * h
    b = 0.7 * a + e[:, 1] + 0.6 * k
    c = 0.5 * b + e[:, 2] + 0.6 * h
    d = 0.4 * c - 0.3 * b + e[:, 3] + 0.6 * k
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": 0.6 * d + 0.2 * h + e[:, 4]})


def items() -> pd.DataFrame:
    """Six items of two factors, the first a cause of the second."""
    e = draws(14, 400, 8)
    first, second = e[:, 6], 0.6 * e[:, 6] + 0.8 * e[:, 7]
    behind = np.stack([first, first, first, second, second, second], axis=1)
    return pd.DataFrame(behind * [1.0, 0.8, 0.7, 1.0, 0.9, 0.6] + 0.7 * e[:, :6], columns=list("abcdef"))


AIR = "Wind -> {Temp, Ozone}; Temp -> Ozone; Solar -> {Temp, Ozone}"
CASES = {
    "front door": Case(
        "smoking -> tar -> cancer_risk; smoking <-> cancer_risk",
        front_door,
        asked=(
            "smoking ~> cancer_risk",
            "E[cancer_risk | do(smoking=1)]",
            "SD[cancer_risk | do(smoking=1)]",
            "P(cancer_risk > 1 | do(smoking=0))",
            "E[cancer_risk_{smoking=1} | smoking=0, tar=0.5, cancer_risk=2]",  # a counterfactual
        ),
    ),
    "missing values": Case(AIR, airquality, STOPPED, asked=("Temp ~> Ozone", "E[Ozone | do(Temp=80)]")),
    "sampling weights": Case(
        "z -> x -> y; x <-> y", instrument, options={"sampling_weights": "weight"}, asked=("z ~> y", "SD[y | do(x=1)]")
    ),
    "clusters": Case("z -> x -> y; x <-> y", instrument, options={"cluster": "school"}, asked=("E[y | do(x=1)]",)),
    "moments": Case(
        "z -> x; x -> y; x <-> y; z -> y",
        instrument,
        ITERATED,
        asked=("z ~> y",),
        bounds=(("x ~> y", ("0 <= z -> y <= 0.2",)), ("x ~> y", ("|corr(x, error(y))| <= 0.3",))),
        moments=True,
    ),
    "districts": Case(
        "a -> b -> c -> d; b -> d -> e; a <-> c; b <-> d",
        districts,
        ITERATED,
        asked=("a ~> d", "a ~> e", "E[e | do(b=1), a=0.5]"),
    ),
    "groups": Case(AIR, airquality, ITERATED, options={"by": "Month"}),
    "factors": Case("latent F, G; F -> {a, b, c}; G -> {d, e, f}; F -> G", items, ITERATED, asked=("F ~> G",)),
}


def answers(case: Case) -> Numbers:
    """Every number that the case gives, by what it is."""
    rows = case.rows()
    if case.moments:
        seen = rows[["z", "x", "y"]]
        fit = ht.fit(case.graph, cov=seen.cov(ddof=0), mean=seen.mean().to_numpy(), n=len(seen))
    else:
        fit = ht.fit(case.graph, rows, **(case.options or {}))  # type: ignore[call-overload]
    found: Numbers = {}
    keep(found, "params", fit.params(), ("est", "se", "ci_low", "ci_high", "std"))
    if case.options is None or "by" not in case.options:
        keep(found, "effects", fit.effects(), ("est", "se", "ci_low", "ci_high", "std"))
        keep(found, "tests", fit.tests(), ("estimate", "statistic", "df"))
        measures = fit.measures()
        found["measures"] = [measures[name] for name in ("loglik", "chi2", "rmsea", "srmr", "aic")]
    for question in case.asked:
        answer = fit.query(question)
        found[question] = [float(x) for x in (answer.value, answer.se, *answer.interval)]  # type: ignore[misc]
    for question, assume in case.bounds:
        bounds = fit.bounds(question, assume=list(assume))
        found[f"{question} if {assume[0]}"] = [bounds.low, bounds.high, *(bounds.interval or ())]
    return {name: [_short(x) for x in numbers] for name, numbers in found.items()}


def keep(found: Numbers, name: str, table: pd.DataFrame, columns: tuple[str, ...]) -> None:
    """The columns of a table, each line by line; all lines must stay where they are."""
    for column in columns:
        found[f"{name}, {column}"] = table[column].tolist()


def _short(x: float | None) -> float | None:
    """To so many digits; None where there is no number."""
    return None if x is None or np.isnan(x) else float(f"{x:.{DIGITS}g}")


def difference(new: Numbers, old: Numbers) -> tuple[float, str]:
    """The largest of all differences, relative to what is at least 1, and where; infinite where one is lacking."""
    if list(new) != list(old):
        return np.inf, "other answers than before"
    worst = (0.0, "")
    for name in old:
        if [x is None for x in new[name]] != [x is None for x in old[name]]:
            return np.inf, name
        pairs = [(a, b) for a, b in zip(new[name], old[name], strict=True) if a is not None and b is not None]
        worst = max(worst, *((abs(a - b) / max(abs(b), 1.0), name) for a, b in pairs), (0.0, ""))
    return worst


def moved(case: Case, seed: int) -> Case:
    """The same with every number that is none of a group larger or smaller by one part in 10^15."""

    def rows() -> pd.DataFrame:
        table = case.rows().astype(float)
        size = np.where(table.columns.isin(["school", "Month"]), 0.0, 1e-15)
        return table * (1.0 + size * np.sign(draws(seed, *table.shape)))

    return replace(case, rows=rows)


if __name__ == "__main__":
    if "--moved" in sys.argv:
        for name, case in CASES.items():
            print(name, *max(difference(answers(moved(case, seed)), answers(case)) for seed in range(5)))
    else:
        text = json.dumps({name: answers(case) for name, case in CASES.items()}, indent=1)
        (HERE / "answers.json").write_text(text + "\n")
