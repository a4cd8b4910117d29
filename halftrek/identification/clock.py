"""The time that a long computation may take, and somebody who watches it pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

Progress = Callable[[float, float], None]


@dataclass(frozen=True)
class Clock:
    """Runs out at ``deadline``; whoever watches is told the seconds spent and the whole budget at every look."""

    started: float
    budget: float
    deadline: float
    progress: Progress | None = None

    def over(self) -> bool:
        """Has the time run out?"""
        now = monotonic()
        if self.progress is not None:
            self.progress(min(now - self.started, self.budget), self.budget)
        return now > self.deadline

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - monotonic()

    def half(self) -> Clock:
        """A clock for the first half of what is left."""
        return replace(self, deadline=monotonic() + self.left() / 2)


def start_clock(seconds: float, progress: Progress | None = None) -> Clock:
    """A clock that starts now."""
    now = monotonic()
    return Clock(now, seconds, now + seconds, progress)
