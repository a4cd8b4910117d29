"""One analysis as a value: graph, data, questions, choices; from the command line's words, or from a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halftrek.bottom.choices import Divisor, Ends, ErrorKind, Interval, LavaanFunction, Method, Missing
from halftrek.errors import InputError

if TYPE_CHECKING:
    from halftrek.data.sources.sql import Reach
    from halftrek.inference import how


@dataclass(frozen=True)
class Data:
    """Where the data are, and how to take them: one of ``file``, ``sql`` and ``cov``.

    ``connect`` is the address of the database that ``sql`` asks. It may hold a password, so that it is neither printed
    nor written into a file.
    """

    file: str | None = None
    sql: str | None = None
    cov: str | None = None
    n: float | None = None
    means: Mapping[str, float] | None = None
    divisor: Divisor = "n"
    missing: Missing = "fiml"
    weights: str | None = None
    sampling_weights: str | None = None
    categories: Mapping[str, str] | None = None
    kinds: Mapping[str, str] | None = None
    cluster: str | None = None
    connect: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        given = [name for name in ("file", "sql", "cov") if getattr(self, name) is not None]
        if len(given) != 1:
            said = " and ".join(given) or "nothing"
            raise InputError(f"data come from one of a file, an SQL query and a covariance; there is {said}")
        if self.connect is not None and self.sql is None:
            raise InputError("--connect says where a query is asked; give the query too: --sql 'select * from visits'")
        if self.cov is not None and self.n is None:
            raise InputError("a covariance needs its number of rows: --n 412, or n = 412 under [data]")
        if self.cov is None and (self.n is not None or self.means is not None):
            raise InputError("n and means go with a covariance; rows bring their own")
        if self.cov is None and self.divisor != "n":
            raise InputError("divisor goes with a covariance; sums over rows are divided by their number: leave it out")
        of_rows = (self.weights, self.sampling_weights, self.cluster, self.categories, self.kinds)
        if self.cov is not None and any(of_rows):
            raise InputError("weights, clusters, categories and kinds are columns of rows; a covariance has none")
        if self.cov is not None and self.missing != "fiml":
            raise InputError(f"missing {self.missing} is for rows; a covariance has no missing values: leave it out")
        if self.weights and self.sampling_weights:
            raise InputError("weights count rows and sampling weights are shares of a population; give one of them")


@dataclass(frozen=True)
class Lavaan:
    """How a graph in lavaan's syntax is read: as a function of lavaan reads it, or as a graph if none is named."""

    function: LavaanFunction | None = None
    std_lv: bool = False
    orthogonal: bool = False

    def __post_init__(self) -> None:
        for name in ("std_lv", "orthogonal"):
            if getattr(self, name) and self.function is None:
                raise InputError(f"{name} is an option of lavaan's functions; say which: --lavaan sem, cfa or growth")


@dataclass(frozen=True)
class Fitting:
    """How the model is fitted."""

    method: Method = "em"
    noise: Literal["free", "unit"] | None = None


@dataclass(frozen=True)
class Uncertainty:
    """Where intervals come from."""

    interval: Interval | None = None
    level: float = 0.95
    replicates: int = 1000
    ends: Ends = "percentile"
    random_state: int = 0
    errors: ErrorKind = "uncorrelated"


@dataclass(frozen=True)
class Output:
    """What is made beside the answers: files by name, and more to print."""

    report: str | None = None
    results: str | None = None
    model: str | None = None
    effects: bool = False
    checks: bool = False
    crude: bool = False


@dataclass(frozen=True)
class Analysis:
    """Everything that a run needs. Files are named from ``folder``.

    ``sent`` analyses come from a file, which somebody else may have written: they stay in their folder unless the
    command line lets them ``outside``, and never read from the network.
    """

    graph: str
    data: Data
    questions: tuple[str, ...] = ()
    lavaan: Lavaan = field(default_factory=Lavaan)
    fit: Fitting = field(default_factory=Fitting)
    uncertainty: Uncertainty = field(default_factory=Uncertainty)
    output: Output = field(default_factory=Output)
    folder: Path = Path()
    sent: bool = field(default=False, compare=False)
    outside: bool = field(default=False, compare=False)

    def reach(self) -> Reach:
        """Which files its SQL may read."""
        from halftrek.data.sources.sql import Reach

        within = self.folder if self.sent and not self.outside else None
        return Reach(self.folder, within, remote=not self.sent)

    def place(self, name: str) -> Path:
        """A file that the analysis names."""
        return self.folder / name


def analysis_of(args: argparse.Namespace, questions: tuple[str, ...] = ()) -> Analysis:
    """The analysis that the words of ``fit``, ``query``, ``effect`` and their like describe."""
    given = vars(args)
    data = Data(
        file=args.data, sql=args.sql, cov=args.cov, n=args.n, means=_means(args.means), divisor=args.divisor,
        missing=args.missing, weights=args.weights, sampling_weights=args.sampling_weights,
        categories=_by_column(args.categories, "--categories", "its level"),
        kinds=_by_column(args.kinds, "--kind", "what it is"), cluster=args.cluster, connect=args.connect,
    )  # fmt: skip
    sure = Uncertainty(
        **{k: given[k] for k in ("interval", "level", "replicates", "ends", "random_state", "errors") if k in given}
    )
    effects, checks, crude = (bool(given.get(name)) for name in ("effects", "checks", "crude"))
    output = Output(effects=effects, checks=checks, crude=crude)
    fit = Fitting(args.method, args.noise)
    return Analysis(given.get("graph", ""), data, questions, lavaan_of(args), fit, sure, output)


def lavaan_of(args: argparse.Namespace) -> Lavaan:
    """How a graph in lavaan's syntax is to be read."""
    return Lavaan(args.lavaan, args.std_lv, args.orthogonal)


def _by_column(given: list[str] | None, option: str, what: str) -> dict[str, str] | None:
    from halftrek.cli.inputs import assignments

    if not given:
        return None
    pairs = [pair for text in given for pair in assignments(text, option)]
    for column, sign, said in pairs:
        if sign != "=":
            raise InputError(f"{option} takes a column and {what}, {column}={said}, not {column}{sign}{said}")
    return {column: said.strip('"') for column, _, said in pairs}


def refuse_choices(args: argparse.Namespace) -> None:
    """Raise if the words make a choice that belongs into the analysis file, which they name beside it."""
    usual = {f.name: f.default for kind in (Data, Lavaan, Fitting, Uncertainty) for f in fields(kind)}
    usual["lavaan"] = usual.pop("function")
    for name, value in vars(args).items():
        if name in usual and name != "connect" and value != usual[name]:
            option = f"--{name.replace('_', '-')}"
            raise InputError(f"{option} has no meaning beside an analysis file, which says it itself: change the file")


def _means(text: str | None) -> dict[str, float] | None:
    from halftrek.cli.inputs import assignments

    return None if text is None else {name: float(value) for name, _, value in assignments(text, "--means")}


def uncertainty_options(sure: Uncertainty) -> how.Uncertainty:
    """As the keywords of ``fit.query``."""
    return {
        "interval": sure.interval, "level": sure.level, "replicates": sure.replicates, "ends": sure.ends,
        "random_state": sure.random_state,
    }  # fmt: skip
