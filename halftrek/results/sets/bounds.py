"""What can be said of an answer that the graph does not determine: a set, and an interval for the true value."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halftrek import upward
from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.bottom.words import one_precision
from halftrek.models import CGLSCM
from halftrek.notes import Note, in_words, warnings_of
from halftrek.queries import Query
from halftrek.upward import Tabled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Ends = tuple[float, float]
INDEPENDENT = "independent errors"  # the kind of an interval from them
OUTER = "outer"  # the certificate of a set that holds the true one and may be wider
CONTRADICTED = 0.05  # p-value below which the data contradict assumptions


@dataclass(frozen=True)
class Refuted:
    """The likelihood-ratio test of assumptions that no model with the estimated covariance obeys.

    ``restrictions`` is what they put on the data. With ``mixture`` the statistic is compared with chi-squared of so
    many degrees of freedom and of one less, half each; without, with chi-squared of so many.
    """

    statistic: float
    restrictions: int
    p: float
    mixture: bool = True

    def __str__(self) -> str:
        if self.statistic == inf:
            return "no model was found that obeys these assumptions together, whatever its covariance"
        chance = f"p = {self.p:.3g}" if self.p >= 1e-6 else "p < 1e-06"
        said = "the data contradict these assumptions"
        if self.p >= CONTRADICTED:
            said = "no model with the estimated covariance obeys these assumptions, which chance explains"
        return f"{said} (likelihood ratio {self.statistic:.4g}, {chance})"


@dataclass(frozen=True, repr=False)
class Bounds(Portable, Tabled):
    """All values of an answer that models with the estimated covariance have, and the interval for the true one.

    ``pieces`` are the set from left to right, none if no model obeys the assumptions (``refuted`` has the test);
    ``low`` and ``high`` its outermost values. ``interval_pieces`` cover the true value with ``level``, whichever of the
    set it is. ``certificate`` says how it is known that the set is no larger and no smaller. ``binding`` and ``models``
    say what holds each end, and which model attains it.
    """

    low: float
    high: float
    pieces: tuple[Ends, ...] = ()
    question: Query | None = None
    assumptions: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  # the same in words
    interval_pieces: tuple[Ends, ...] = ()
    level: float = 0.95
    kind: str = "likelihood"
    certificate: str = ""
    binds_low: tuple[str, ...] = ()
    binds_high: tuple[str, ...] = ()
    attained_low: bool = True
    attained_high: bool = True
    model_low: CGLSCM | None = field(default=None, compare=False)
    model_high: CGLSCM | None = field(default=None, compare=False)
    refuted: Refuted | None = None
    notes: tuple[Note, ...] = ()
    n: float | None = None
    library: str = ""

    @property
    def interval(self) -> Ends | None:
        """From the smallest to the largest value that the data leave; None if they leave none."""
        return (self.interval_pieces[0][0], self.interval_pieces[-1][1]) if self.interval_pieces else None

    @property
    def binding(self) -> Mapping[str, tuple[str, ...]]:
        """What holds each end, "low" and "high": the assumptions that are reached there; none at an end inside."""
        return {"low": self.binds_low, "high": self.binds_high}

    @property
    def attained(self) -> Mapping[str, bool]:
        """Whether a model has the value of each end, "low" and "high"; False for a limit that models only approach."""
        return {"low": self.attained_low, "high": self.attained_high}

    def shown(self, end: float) -> str:
        """A finite end of the set as it is printed."""
        return ends_in_words((*self.pieces, (self.low, self.high)))[end]

    @property
    def ends(self) -> tuple[tuple[str, float, str], ...]:
        """The finite ends of a set with two: "lower" or "upper", the value, and what holds it, in words."""
        if self.low == self.high or self.kind == INDEPENDENT:
            return ()
        both = (
            ("lower", self.low, _held(self.binds_low, self.attained_low)),
            ("upper", self.high, _held(self.binds_high, self.attained_high)),
        )
        return tuple(end for end in both if isfinite(end[1]))

    @property
    def models(self) -> Mapping[str, CGLSCM | None]:
        """A model that attains each end, "low" and "high", or comes close to it; None at an infinite one."""
        return {"low": self.model_low, "high": self.model_high}

    @property
    def empty(self) -> bool:
        """True if no model with the estimated covariance obeys the assumptions."""
        return isnan(self.low)

    @property
    def words(self) -> str:
        """The set in words."""
        if self.empty:
            return "no value"
        return set_in_words(self.pieces or ((self.low, self.high),))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What speaks against the set or its interval, in sentences."""
        return warnings_of(self.notes)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else to know of it, in sentences."""
        return in_words(n for n in self.notes if n.level == "note")

    def explain(self) -> str:
        """What was asked and assumed, what follows, what holds each end, and how sure all of it is, in sentences."""
        from halftrek.results.words.bounds_explained import explain

        return explain(self)

    def plot(self, *, ax: Axes | None = None, title: str | None = None) -> Axes:
        """A picture: the set, the interval around it, and what holds each end."""
        return upward.plot_bounds(self, ax=ax, title=title)

    def to_frame(self) -> Any:
        """A tidy frame, a row for each piece of the set: low high."""
        found = self.pieces or (() if self.empty else ((self.low, self.high),))
        return as_frame({"low": [a for a, _ in found], "high": [b for _, b in found]}, self.library)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the bounds as JSON; ``ht.load`` gives them back to the last bit."""
        return upward.save(self, path, overwrite=overwrite)

    def __str__(self) -> str:
        return self.words if self.question is None else self.summary()

    def __repr__(self) -> str:
        asked = "" if self.question is None else f"{self.question}: "
        return f"Bounds({asked}{self.words})"


def _held(binds: tuple[str, ...], attained: bool) -> str:
    """What holds an end."""
    if not attained:
        where = f", where {' and '.join(binds)} binds" if binds else ""
        return f"a limit that models approach and none has{where}"
    return f"held by {' and '.join(binds)}" if binds else "inside: no assumption holds it"


def set_in_words(pieces: Sequence[Ends]) -> str:
    """Pieces as people say them: from 1 to 2, at most 3, any value."""
    shown = ends_in_words(pieces)
    return " or ".join(_piece(low, high, shown) for low, high in pieces) if pieces else "no value"


def ends_in_words(pieces: Sequence[Ends]) -> dict[float, str]:
    """The finite ends of pieces as text, with one number of decimals; with more where two would read alike."""
    values = sorted({x for piece in pieces for x in piece if isfinite(x)})
    shown = dict(zip(values, one_precision(*values), strict=True))
    for one, other in pairwise(values):
        if shown[one] == shown[other] and not _alike(one, other):
            shown[one], shown[other] = one_precision(one, other)
    return shown


def _alike(low: float, high: float) -> bool:
    return abs(high - low) <= 1e-9 * max(abs(low), abs(high))


def _piece(low: float, high: float, shown: Mapping[float, str]) -> str:
    if isnan(low) or isnan(high):
        known = [shown[x] for x in (low, high) if isfinite(x)]
        return f"unknown on one side, {'at most' if isnan(low) else 'at least'} {known[0]}" if known else "unknown"
    if low == -inf and high == inf:
        return "any value"
    if not isfinite(low):
        return f"at most {shown[high]}"
    if not isfinite(high) or _alike(low, high):
        return shown[low] if isfinite(high) else f"at least {shown[low]}"
    return f"from {shown[low]} to {shown[high]}"
