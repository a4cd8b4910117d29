"""Linear models as arrows, covariances and means: their moments, their text for halftrek, rows of them.

``x = A x + m + e`` with ``Cov(e) = S``; every entry is free or held, and entries of one label are one parameter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

Part = Literal["A", "S", "m"]


@dataclass(frozen=True)
class Entry:
    """One number of a model: its true value, or what it is held at; ``A`` is an arrow from ``col`` to ``row``."""

    part: Part
    row: str
    col: str
    value: float
    held: bool = False
    label: str = ""

    @property
    def name(self) -> tuple[str, ...]:
        """What makes it one parameter with others."""
        return ("label", self.label) if self.label else (self.part, self.row, self.col)


@dataclass(frozen=True)
class Model:
    """Variables that are seen, hidden ones, and the entries; what no entry names is zero."""

    seen: tuple[str, ...]
    hidden: tuple[str, ...]
    entries: tuple[Entry, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All variables, the seen ones first."""
        return self.seen + self.hidden

    def in_units(self, units: Mapping[str, float]) -> Model:
        """The same model of variables that are multiplied by something."""
        return replace(self, entries=tuple(replace(e, value=e.value * _unit(e, units)) for e in self.entries))


def arrow(cause: str, effect: str, value: float, *, held: bool = False, label: str = "") -> Entry:
    return Entry("A", effect, cause, float(value), held, label)


def spread(one: str, other: str, value: float, *, held: bool = False, label: str = "") -> Entry:
    return Entry("S", one, other, float(value), held, label)


def level(name: str, value: float, *, held: bool = False, label: str = "") -> Entry:
    return Entry("m", name, "", float(value), held, label)


def _unit(entry: Entry, units: Mapping[str, float]) -> float:
    own = units[entry.row]
    return own if entry.part == "m" else own * units[entry.col] if entry.part == "S" else own / units[entry.col]


@dataclass(frozen=True, eq=False)
class Shape:
    """``A, S, m`` as lines in the parameters: what is held, and how each parameter moves them."""

    seen: int
    held: tuple[np.ndarray, np.ndarray, np.ndarray]
    moves: tuple[np.ndarray, np.ndarray, np.ndarray]  # (k, N, N), (k, N, N), (k, N)

    def at(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``A, S, m`` at a point."""
        A, S, m = (x + np.tensordot(theta, d, 1) for x, d in zip(self.held, self.moves, strict=True))
        return A, S, m

    def moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and covariance of what is seen."""
        A, S, m = self.at(theta)
        E = np.linalg.inv(np.eye(len(A)) - A)
        p = self.seen
        return (E @ m)[:p], (E @ S @ E.T)[:p, :p]


def shapes(models: Sequence[Model]) -> tuple[tuple[Shape, ...], np.ndarray]:
    """The shapes of groups that share parameters of one label, and the true parameters of all."""
    owner: dict[tuple[object, ...], int] = {}
    theta: list[float] = []
    for g, model in enumerate(models):
        for e in model.entries:
            key = e.name if e.label else (g, *e.name)
            if not e.held and key not in owner:
                owner[key] = len(theta)
                theta.append(e.value)
    found = []
    for g, model in enumerate(models):
        at, N, k = {v: i for i, v in enumerate(model.names)}, len(model.names), len(theta)
        held = (np.zeros((N, N)), np.zeros((N, N)), np.zeros(N))
        moves = (np.zeros((k, N, N)), np.zeros((k, N, N)), np.zeros((k, N)))
        for e in model.entries:
            part = "ASm".index(e.part)
            into, value = (
                (held[part], e.value) if e.held else (moves[part][owner[e.name if e.label else (g, *e.name)]], 1)
            )
            place = (at[e.row],) if e.part == "m" else (at[e.row], at[e.col])
            into[place] = value
            if e.part == "S":
                into[place[::-1]] = value
        found.append(Shape(len(model.seen), held, moves))
    return tuple(found), np.array(theta)


def rows_of(model: Model, n: int, rng: np.random.Generator) -> np.ndarray:
    """Normal rows of what is seen."""
    (shape,), theta = shapes([model])
    mean, cov = shape.moments(theta)
    return np.asarray(mean + rng.standard_normal((n, len(mean))) @ np.linalg.cholesky(cov).T)


def text_of(model: Model) -> str:
    """The model in lavaan's syntax; covariances that it has not are held at zero, lest a convention adds them."""
    lines, hidden = [], set(model.hidden)
    loads: dict[str, list[str]] = {f: [] for f in model.hidden}
    measured = {e.col for e in model.entries if e.part == "A" and e.row not in hidden and e.col in hidden}
    met = set()
    for e in model.entries:
        said = f"{e.value:.17g}*" if e.held else f"{e.label}*" if e.label else ""
        if e.part == "m":
            if e.row not in hidden or not (e.held and e.value == 0.0):
                lines.append(f"{e.row} ~ {said}1")
        elif e.part == "S":
            met.add(frozenset((e.row, e.col)))
            lines.append(f"{e.row} ~~ {said}{e.col}")
        elif e.col in hidden and (e.row not in hidden or e.col not in measured):
            free = not e.held and not loads[e.col]  # a first loading would be held at one
            loads[e.col].append(f"NA*{e.row}" + (f" + {said}{e.row}" if e.label else "") if free else f"{said}{e.row}")
        else:
            lines.append(f"{e.row} ~ {said}{e.col}")
    items = {e.row for e in model.entries if e.part == "A" and e.col in hidden and e.row not in hidden}
    others = [v for v in model.names if v not in items]
    apart = [f"{u} ~~ 0*{v}" for u, v in combinations(others, 2) if frozenset((u, v)) not in met]
    return "\n".join([f"{f} =~ {' + '.join(what)}" for f, what in loads.items() if what] + lines + apart)
