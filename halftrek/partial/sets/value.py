"""The identified set of a question: its pieces, what binds at its ends, models that attain them, how it is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite, nan
from typing import Literal

from halftrek.bottom.portable import Portable
from halftrek.models import CGLSCM
from halftrek.partial.assumptions.kinds import Assumption
from halftrek.queries import Query
from halftrek.results.sets.bounds import set_in_words

Certificate = Literal["closed form", "proved to 1e-7", "searched"]


@dataclass(frozen=True, eq=False)
class End(Portable):
    """One end of a set.

    ``binding``: the assumptions that hold with equality there, in text, or other reasons in words; empty at an end
    where nothing binds: the answer turns by itself, or grows without limit. ``attained``: False for a limit that models
    only approach. ``model``: one with this answer (or nearly, at a limit); None at an infinite end.
    """

    value: float
    attained: bool = True
    binding: tuple[str, ...] = ()
    model: CGLSCM | None = None


@dataclass(frozen=True, eq=False, repr=False)
class IdentifiedSet(Portable):
    """All values of a question in models of a graph with one covariance that obey the assumptions.

    ``pieces`` are intervals (low, high) in order, ends possibly infinite, a point as (v, v); none if no model obeys.
    ``certificate``: how the ends are known. ``interval``: for the true value, from finite data; filled in by others.
    """

    query: Query
    assumptions: tuple[Assumption, ...]
    pieces: tuple[tuple[float, float], ...]
    lower: End
    upper: End
    certificate: Certificate
    free: int = 0
    notes: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    level: float = 0.95
    gaps: tuple[tuple[End, End], ...] = field(default=())

    @property
    def low(self) -> float:
        """The smallest value, -inf without limit, nan if there is none."""
        return self.pieces[0][0] if self.pieces else nan

    @property
    def high(self) -> float:
        """The largest value."""
        return self.pieces[-1][1] if self.pieces else nan

    @property
    def empty(self) -> bool:
        """True if no model obeys the assumptions."""
        return not self.pieces

    @property
    def kind(self) -> Literal["nothing", "point", "values", "interval", "half-line", "pieces", "whole line"]:
        """What the set is."""
        if self.empty:
            return "nothing"
        if all(low == high for low, high in self.pieces):
            return "point" if len(self.pieces) == 1 else "values"
        if len(self.pieces) > 1:
            return "pieces"
        ends = isfinite(self.low) + isfinite(self.high)
        return "whole line" if not ends else "half-line" if ends == 1 else "interval"

    @property
    def proved(self) -> bool:
        """True if the ends (or that there is nothing) are certain, not only searched."""
        return self.certificate != "searched"

    @property
    def binding(self) -> dict[str, tuple[str, ...]]:
        """What binds at the low and at the high end."""
        return {"low": self.lower.binding, "high": self.upper.binding}

    @property
    def models(self) -> tuple[CGLSCM | None, CGLSCM | None]:
        """A model that attains the low end, and one for the high end."""
        return self.lower.model, self.upper.model

    def __contains__(self, value: float) -> bool:
        margin = 1e-7 * max(1.0, abs(value))
        return any(low - margin <= value <= high + margin for low, high in self.pieces)

    def __str__(self) -> str:
        return f"{self.query}: {described(self.pieces)}"

    def __repr__(self) -> str:
        return f"<IdentifiedSet of {self}, {self.certificate}>"

    def explain(self) -> str:
        """The set, what binds at its ends and how it is known, in sentences."""
        from halftrek.partial.sets.words import explained

        return explained(self)

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON; an infinite end is None, with ``bounded`` beside it."""
        return {
            "question": str(self.query),
            "assume": [str(a) for a in self.assumptions],
            "kind": self.kind,
            "low": _finite(self.low),
            "high": _finite(self.high),
            "bounded": [isfinite(self.low), isfinite(self.high)],
            "pieces": [[_finite(low), _finite(high)] for low, high in self.pieces],
            "binding": {side: list(texts) for side, texts in self.binding.items()},
            "attained": [self.lower.attained, self.upper.attained],
            "certificate": self.certificate,
            "free_weights": self.free,
            "notes": list(self.notes),
            "interval": None if self.interval is None else [_finite(x) for x in self.interval],
            "level": self.level,
        }


def _finite(value: float) -> float | None:
    return float(value) if isfinite(value) else None


def described(pieces: tuple[tuple[float, float], ...]) -> str:
    """Pieces in words."""
    return "any number" if pieces == ((-inf, inf),) else set_in_words(pieces)
