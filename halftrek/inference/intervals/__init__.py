"""The kinds of interval, each a value behind one protocol; ``KINDS`` knows them by name."""

from halftrek.inference.how import How
from halftrek.inference.intervals.base import Estimate, IntervalKind, Spread, normal_estimate
from halftrek.inference.intervals.delta import Delta, Student
from halftrek.inference.intervals.drawn import Bootstrap, Jackknife, Parametric
from halftrek.inference.intervals.profile import ProfileLikelihood
from halftrek.inference.intervals.robust import Robust, Sandwich

KINDS: dict[str, IntervalKind] = {
    kind.name: kind
    for kind in (
        Delta(), Student(), Robust(), Sandwich(), Jackknife(), Bootstrap(), Parametric(), ProfileLikelihood()
    )
}  # fmt: skip


def kind_of(how: How) -> IntervalKind:
    """The kind that is asked for; normal theory where none is."""
    return KINDS[how.interval or "delta"]


__all__ = ["KINDS", "Estimate", "IntervalKind", "Spread", "kind_of", "normal_estimate"]
