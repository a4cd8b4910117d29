"""Values as what a test takes them for: each of these fails where the value is something else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

import halftrek as ht
from halftrek.models import Gaussian

Value = TypeVar("Value")


def there(value: Value | None) -> Value:
    """The value, which is not None."""
    assert value is not None
    return value


def some(values: Iterable[Value]) -> list[Value]:
    """The values, of which there is at least one."""
    found = list(values)
    assert found
    return found


def number(value: object) -> float:
    """The one number."""
    assert isinstance(value, int | float | np.number)
    return float(value)


def array(value: object) -> np.ndarray:
    """The array of numbers."""
    assert isinstance(value, np.ndarray)
    return value


def floats(value: object) -> np.ndarray:
    """The number or the numbers as an array."""
    assert value is not None
    return np.asarray(value, dtype=float)


def ends(value: object) -> tuple[float, float]:
    """The two ends of one interval."""
    assert isinstance(value, tuple)
    low, high = value
    return number(low), number(high)


def normal(value: object) -> Gaussian:
    """The normal distribution."""
    assert isinstance(value, Gaussian)
    return value


def value_of(answer: ht.Answer | None) -> float:
    """The number that an answer gives."""
    return number(there(answer).value)


def se_of(answer: ht.Answer | None) -> float:
    """The standard error of the number."""
    return number(there(answer).se)


def interval_of(answer: ht.Answer | None) -> tuple[float, float]:
    """The two ends around the number."""
    return ends(there(answer).interval)


def wrong(value: object) -> Any:
    """A value of a type that is refused, whatever it is."""
    return value


def grouped(fits: Any) -> ht.GroupFits:
    """One model for each group."""
    assert isinstance(fits, ht.GroupFits)
    return fits
