"""What an assumption can be about: one number of a model each."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from halftrek.graphs import quoted


@dataclass(frozen=True)
class Weight:
    """``x -> y``: the weight of an arrow."""

    cause: str
    effect: str

    def __str__(self) -> str:
        return f"{quoted(self.cause)} -> {quoted(self.effect)}"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"the direct effect of {self.cause} on {self.effect}"


@dataclass(frozen=True)
class ErrorCovariance:
    """``x <-> y``: the covariance of two errors."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"{quoted(self.first)} <-> {quoted(self.second)}"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"the covariance of the errors of {self.first} and {self.second}"


@dataclass(frozen=True)
class ErrorCorrelation:
    """``corr(x <-> y)``: the correlation of two errors."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"corr({quoted(self.first)} <-> {quoted(self.second)})"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"the correlation of the errors of {self.first} and {self.second}"


@dataclass(frozen=True)
class Endogeneity:
    """``corr(x, error(y))``: the correlation of a variable itself with the error of another."""

    variable: str
    error: str

    def __str__(self) -> str:
        return f"corr({quoted(self.variable)}, error({quoted(self.error)}))"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"the correlation of {self.variable} with the error of {self.error}"


@dataclass(frozen=True)
class Share:
    """``share(y)``: the variance of the error of y, hidden causes in it, per variance of y; above 1 if effects cancel."""

    variable: str

    def __str__(self) -> str:
        return f"share({quoted(self.variable)})"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"the share of the variance of {self.variable} that is its error's"


@dataclass(frozen=True)
class Reliability:
    """``reliability(w)``: one less the variance of w's own noise, hidden causes not in it, per variance of w."""

    variable: str

    def __str__(self) -> str:
        return f"reliability({quoted(self.variable)})"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"the share of the variance of {self.variable} that is not its own noise"


@dataclass(frozen=True)
class Confounding:
    """``confounding(x, y)``: how strong one hidden cause of two variables is, in shares of variance."""

    first: str
    second: str

    def __str__(self) -> str:
        return f"confounding({quoted(self.first)}, {quoted(self.second)})"

    @property
    def words(self) -> str:
        """The number in words."""
        return f"what a hidden cause of {self.first} and {self.second} explains of them"


Correlation = ErrorCorrelation | Endogeneity
Quantity = Weight | ErrorCovariance | ErrorCorrelation | Endogeneity | Share | Reliability


def variables_in(quantity: Quantity | Confounding) -> tuple[str, ...]:
    """The variables that a quantity is about."""
    match quantity:
        case Weight(a, b) | ErrorCovariance(a, b) | ErrorCorrelation(a, b) | Endogeneity(a, b) | Confounding(a, b):
            return a, b
        case Share(v) | Reliability(v):
            return (v,)


def reach_of(quantity: Quantity) -> tuple[float, float]:
    """Between which numbers the quantity lies in every model."""
    match quantity:
        case ErrorCorrelation() | Endogeneity():
            return -1.0, 1.0
        case Share():
            return 0.0, inf
        case Reliability():
            return -inf, 1.0
    return -inf, inf


def same_number(one: Quantity, other: Quantity) -> bool:
    """True if two quantities are one number, written in either order of its ends."""
    if type(one) is not type(other):
        return False
    if isinstance(one, ErrorCovariance | ErrorCorrelation):
        return set(variables_in(one)) == set(variables_in(other))
    return one == other
