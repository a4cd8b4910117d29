"""One analysis as a value: graph, data, questions, choices; from the command line's words, or from a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from halftrek.errors import InputError


@dataclass(frozen=True)
class Data:
    """Where the data are, and how to take them: one of ``file``, ``sql`` and ``cov``."""

    file: str | None = None
    sql: str | None = None
    cov: str | None = None
    n: float | None = None
    means: Mapping[str, float] | None = None
    divisor: Literal["n", "n-1"] = "n"
    missing: Literal["fiml", "drop", "error"] = "fiml"
    weights: str | None = None
    cluster: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("file", "sql", "cov") if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "nothing"
            raise InputError(f"data come from one of a file, an SQL query and a covariance; there is {said}")
        if self.cov is not None and self.n is None:
            raise InputError("a covariance needs its number of rows: --n 412, or n = 412 under [data]")
        if self.cov is None and (self.n is not None or self.means is not None):
            raise InputError("n and means go with a covariance; rows bring their own")
        if self.cov is None and self.divisor != "n":
            raise InputError("divisor goes with a covariance; sums over rows are divided by their number: leave it out")
        if self.cov is not None and (self.weights or self.cluster):
            raise InputError("weights and clusters are columns of rows; a covariance has none")
        if self.cov is not None and self.missing != "fiml":
            raise InputError(f"missing {self.missing} is for rows; a covariance has no missing values: leave it out")


@dataclass(frozen=True)
class Fitting:
    """How the model is fitted."""

    method: Literal["em", "cgl-go"] = "em"
    noise: Literal["free", "unit"] | None = None


@dataclass(frozen=True)
class Uncertainty:
    """Where intervals come from."""

    interval: Literal["delta", "t", "robust", "sandwich", "jackknife", "bootstrap", "parametric", "profile"] | None = (
        None
    )
    level: float = 0.95
    replicates: int = 1000
    ends: Literal["percentile", "bca"] = "percentile"
    random_state: int = 0


@dataclass(frozen=True)
class Output:
    """What is made beside the answers: files by name, and more to print."""

    report: str | None = None
    results: str | None = None
    model: str | None = None
    effects: bool = False
    checks: bool = False


@dataclass(frozen=True)
class Analysis:
    """Everything that a run needs. Files are named from ``folder``."""

    graph: str
    data: Data
    questions: tuple[str, ...] = ()
    fit: Fitting = field(default_factory=Fitting)
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    output: Output = field(default_factory=Output)
    folder: Path = Path()

    def place(self, name: str) -> Path:
        """A file that the analysis names."""
        return self.folder / name


def analysis_of(args: argparse.Namespace, questions: tuple[str, ...] = ()) -> Analysis:
    """The analysis that the words of ``fit``, ``query``, ``effect`` and their like describe."""
    told = vars(args)
    data = Data(
        file=args.data, sql=args.sql, cov=args.cov, n=args.n, means=_means(args.means), divisor=args.divisor,
        missing=args.missing, weights=args.weights, cluster=args.cluster,
    )  # fmt: skip
    sure = Uncertainty(**{k: told[k] for k in ("interval", "level", "replicates", "ends", "random_state") if k in told})
    output = Output(effects=bool(told.get("effects")), checks=bool(told.get("checks")))
    return Analysis(told.get("graph", ""), data, questions, Fitting(args.method, args.noise), sure, output)


def refuse_choices(args: argparse.Namespace) -> None:
    """Raise if the words make a choice that belongs into the analysis file, which they name beside it."""
    usual = {f.name: f.default for kind in (Data, Fitting, Uncertainty) for f in fields(kind)}
    for name, value in vars(args).items():
        if name in usual and value != usual[name]:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} has no meaning beside an analysis file, which says it itself: change the file")


def _means(text: str | None) -> dict[str, float] | None:
    from halftrek.cli.inputs import assignments

    return None if text is None else {name: float(value) for name, _, value in assignments(text, "--means")}


def uncertainty_options(sure: Uncertainty) -> dict[str, Any]:
    """As the keywords of ``fit.query``."""
    return {
        "interval": sure.interval, "level": sure.level, "replicates": sure.replicates, "ends": sure.ends,
        "random_state": sure.random_state,
    }  # fmt: skip
