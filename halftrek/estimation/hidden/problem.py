"""What a search climbs: the likelihood of one data set, or of several whose models share parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Patterns
from halftrek.estimation.missing.incomplete import Point, evaluate, informations
from halftrek.estimation.space import Space

Kind = Literal["expected", "observed"]


class Place(Protocol):
    """A point of the parameters: the log-likelihood there, and its slope."""

    @property
    def theta(self) -> Floats: ...
    @property
    def value(self) -> float: ...
    @property
    def gradient(self) -> Floats: ...


class Problem(Protocol):
    """A likelihood as a function of parameters."""

    @property
    def size(self) -> int: ...
    @property
    def rows(self) -> float: ...
    def at(self, theta: Floats) -> Place | None:
        """Value and slope; None outside of the model."""

    def informations(self, place: Place, kinds: Sequence[Kind]) -> list[Floats]:
        """How the likelihood bends there."""


@dataclass(frozen=True, eq=False)
class Single:
    """One data set."""

    space: Space
    patterns: Patterns

    @property
    def size(self) -> int:
        """How many parameters there are."""
        return self.space.size

    @property
    def rows(self) -> float:
        """How many rows there are."""
        return self.patterns.total

    def at(self, theta: Floats) -> Point | None:
        """Value and slope; None where the errors' covariance is not positive definite."""
        return evaluate(self.space, self.patterns, theta)

    def informations(self, place: Place, kinds: Sequence[Kind]) -> list[Floats]:
        """How the likelihood bends there."""
        assert isinstance(place, Point)
        return informations(self.space, self.patterns, place, kinds)


@dataclass(frozen=True, eq=False)
class Joined:
    """A point of several data sets."""

    theta: Floats
    value: float
    gradient: Floats
    parts: tuple[Point, ...]


@dataclass(frozen=True, eq=False)
class Several:
    """Several data sets; ``owner[g]`` says which of all parameters each parameter of the g-th is."""

    parts: tuple[Single, ...]
    owner: tuple[Ints, ...]
    size: int

    @property
    def rows(self) -> float:
        """How many rows all have."""
        return sum(part.rows for part in self.parts)

    def at(self, theta: Floats) -> Joined | None:
        """Value and slope of the sum."""
        points, gradient = [], np.zeros(self.size)
        for part, owner in zip(self.parts, self.owner, strict=True):
            point = part.at(theta[owner])
            if point is None:
                return None
            np.add.at(gradient, owner, point.gradient)
            points.append(point)
        return Joined(theta, sum(point.value for point in points), gradient, tuple(points))

    def informations(self, place: Place, kinds: Sequence[Kind]) -> list[Floats]:
        """How the sum bends."""
        assert isinstance(place, Joined)
        found = [np.zeros((self.size, self.size)) for _ in kinds]
        for part, owner, point in zip(self.parts, self.owner, place.parts, strict=True):
            for total, one in zip(found, part.informations(point, kinds), strict=True):
                np.add.at(total, (owner[:, None], owner), one)
        return found
