"""What the reproduction found, as values."""

from __future__ import annotations

from dataclasses import dataclass

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Mask
from halftrek.models import CGLSCM
from halftrek.reproduction.bound import Noise


@dataclass(frozen=True)
class Comparison:
    """One number: as it is, as the paper printed its estimate, and as we estimate it.

    ``cgl_go`` is the literal algorithm with the edge mask; ``exact_unit`` and ``exact`` are the maximum of the
    likelihood with noise variances held at one and free. None where there is no such number, or where the data do not
    determine it.
    """

    quantity: str
    original: float
    paper: float | None
    cgl_go: float
    exact_unit: float
    exact: float | None


@dataclass(frozen=True)
class Start:
    """One run of the literal algorithm from one random start, and its answers by question."""

    mask: Mask
    random_state: int
    loglik: float
    iterations: int
    converged: bool
    answers: tuple[tuple[str, float], ...]


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How the exact fit estimates one quantity over many samples.

    ``bound`` is the Cramér-Rao bound as a standard deviation; ``efficiency`` is the ratio of bound to variance, with
    its Monte Carlo standard error; ``estimates`` has one value for each sample, NaN where the fit did not converge.
    """

    quantity: str
    noise: Noise
    truth: float
    bias: float
    bias_error: float
    rmse: float
    bound: float
    efficiency: float
    efficiency_error: float
    used: int
    estimates: Floats


@dataclass(frozen=True, eq=False)
class ExperimentResult:
    """One experiment: the paper's table, its matrices, the starts of the literal algorithm, and the study."""

    name: str
    title: str
    table: int
    original: CGLSCM
    answers: tuple[Comparison, ...]
    parameters: tuple[Comparison, ...]
    starts: tuple[Start, ...]
    accuracy: tuple[Accuracy, ...]


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Both experiments of the paper, repeated."""

    random_state: int
    rows: int
    replicates: int
    experiments: tuple[ExperimentResult, ...]

    def to_text(self) -> str:
        """Tables in plain text."""
        from halftrek.reproduction.text import render

        return render(self)

    def to_dict(self) -> dict[str, object]:
        """Everything but the single estimates of the study, as plain values for JSON."""
        return {
            "random_state": self.random_state,
            "rows": self.rows,
            "replicates": self.replicates,
            "experiments": [_experiment(e) for e in self.experiments],
        }


def _experiment(e: ExperimentResult) -> dict[str, object]:
    return {
        "name": e.name,
        "title": e.title,
        "table": e.table,
        "answers": [dict(vars(c)) for c in e.answers],
        "parameters": [dict(vars(c)) for c in e.parameters],
        "starts": [{**vars(s), "answers": dict(s.answers)} for s in e.starts],
        "accuracy": [{k: v for k, v in vars(a).items() if k != "estimates"} for a in e.accuracy],
    }
