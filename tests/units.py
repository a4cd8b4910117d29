"""Other units and other zeros for every variable, and how answers must follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Units:
    """``scale * value + shift`` for each variable; without scales nothing changes."""

    scale: Mapping[str, float]
    shift: Mapping[str, float]

    @staticmethod
    def none(names: Iterable[str]) -> Units:
        """The units that the variables have."""
        there = tuple(names)
        return Units(dict.fromkeys(there, 1.0), dict.fromkeys(there, 0.0))

    @staticmethod
    def wild(names: Iterable[str], seed: int, *, far: float = 10.0) -> Units:
        """Units from 1e-12 to 1e14, zeros ``far`` standard deviations away."""
        rng = np.random.default_rng(seed)
        scale = {v: float(10.0 ** rng.uniform(-12.0, 14.0)) for v in names}
        return Units(scale, {v: float(far * rng.normal() * s) for v, s in scale.items()})

    def rows(self, data: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The same rows in these units."""
        return {v: self.scale[v] * x + self.shift[v] for v, x in data.items()}

    def text(self, question: str) -> str:
        """The question with ``@x:1`` replaced by what x = 1 is in these units."""
        return re.sub(r"@(\w+):(-?[\d.]+)", lambda m: repr(self.value(m[1], float(m[2]))), question)

    def value(self, name: str, x: float) -> float:
        """A value of a variable in these units."""
        return float(self.scale[name] * x + self.shift[name])

    def factor(self, unit: str) -> float:
        """What a number with the unit ``"y*y/x"`` is multiplied by; the unit "1" is none."""
        top, _, bottom = unit.partition("/")
        return float(self._product(top) / self._product(bottom))

    def _product(self, names: str) -> float:
        return float(np.prod([self.scale[v] for v in names.split("*") if v not in ("", "1")]))


def without_numbers(texts: Iterable[Any]) -> list[str]:
    """Words alone: figures may have units."""
    return [re.sub(r"-?\d[\d.,]*(e[+-]?\d+)?", "#", str(text)) for text in texts]


def assert_close(found: Any, expected: Any, size: Any, tolerance: float, what: str = "") -> None:
    """Equal up to a share of the size; nan and infinities alike."""
    a, b, s = (np.asarray(x, dtype=float) for x in (found, expected, size))
    with np.errstate(invalid="ignore"):
        good = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * s)
    assert good.all(), f"{what}: {a[~good]} is not {b[~good]}" if a.ndim else f"{what}: {a} is not {b}"
