"""Two sides in turns over one case, and what their times say.

Seconds of the processor are judged: on a machine that does other work as well they say within a few percent what the
clock on the wall says of an idle one. A case that waits, or uses fewer cores, is seen by the clock on the wall alone,
which counts where it is beyond the noise.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from benchmarks.against.sides import Failed

LIMIT = 1.1  # a case whose median ratio is at most this is no slower
LEVEL = 0.9  # of the interval of a median ...
ENOUGH = 5  # ... which has it from so many rounds on
ROUND = 0.05  # seconds that a round of a side has at least, where a call is shorter ...
PREPARED = 1.0  # ... but for this many seconds, together with what is made for its calls outside the clock
LONG = 60.0  # seconds after which a case that had FEWEST rounds gets no more
FEWEST = 3


class Timed(Protocol):
    """What is asked of a side."""

    def prepare(self, case: str) -> dict[str, Any]: ...

    def time(self, repeats: int) -> dict[str, list[float]]: ...


@dataclass(frozen=True)
class Times:
    """Seconds of a call by round, the median of its repeats: of the revision before, and now."""

    before: tuple[float, ...]
    now: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        return sorted(now / before for before, now in zip(self.before, self.now, strict=True))

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        return quartiles(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """Of the median, by the test of signs; fewer rounds than ``ENOUGH`` have no more to say than all."""
        ratios = self.ratios
        n = len(ratios)
        beyond = 0  # how many ratios may be left out on each side
        while 2 * sum(math.comb(n, k) for k in range(beyond + 2)) <= (1 - LEVEL) * 2**n:
            beyond += 1
        return ratios[beyond], ratios[-1 - beyond]

    @property
    def milliseconds(self) -> tuple[float, float]:
        return 1e3 * statistics.median(self.before), 1e3 * statistics.median(self.now)


@dataclass(frozen=True)
class Compared:
    """One case on both sides, by both clocks; ``differs`` says how its numbers do, if they do."""

    case: str
    processor: Times
    wall: Times
    repeats: int
    differs: str = ""

    @property
    def seems_to_wait(self) -> bool:
        """Whether it is slower by the clock on the wall in all rounds that count; few may be so by chance."""
        return self.wall.interval[0] > LIMIT

    @property
    def slower(self) -> bool:
        return self.processor.ratio > LIMIT or (self.seems_to_wait and len(self.wall.before) >= ENOUGH)

    @property
    def unclear(self) -> bool:
        """Whether more rounds may change what is said."""
        low, high = self.processor.interval
        return low <= LIMIT < high or (self.seems_to_wait and self.processor.ratio <= LIMIT)


def compare(case: str, before: Timed, now: Timed, rounds: int) -> Compared:
    """Rounds in turns, A B B A; up to three times as many while it is unclear whether the case is slower."""
    begun = time.monotonic()
    first = prepared(case, before, now)
    differs = differences(first[0]["numbers"], first[1]["numbers"])
    short = math.ceil(ROUND / min(one["seconds"] for one in first))
    repeats = max(1, min(short, int(PREPARED / max(one["whole"] for one in first))))
    found: list[list[dict[str, list[float]]]] = [[], []]
    for done in range(1, 3 * rounds + 1):
        for place in (0, 1) if done % 2 else (1, 0):
            found[place].append((before, now)[place].time(repeats))
        compared = Compared(case, _times(found, "processor"), _times(found, "wall"), repeats, differs)
        late = done >= FEWEST and time.monotonic() - begun > LONG
        if late or (done >= rounds and not compared.unclear):
            break
    return compared


def prepared(case: str, *sides: Timed) -> list[dict[str, Any]]:
    """What each side found in its first call; each is asked, so that a failure says whether it is both's."""
    found, failures = [], []
    for side in sides:
        try:
            found.append(side.prepare(case))
        except Failed as failure:
            failures.append(str(failure))
    if failures:
        raise Failed("; ".join(failures))
    return found


def _times(found: Sequence[Sequence[dict[str, list[float]]]], clock: Literal["processor", "wall"]) -> Times:
    # a call that only waits may use no time of the processor at all, and is divided by
    before, now = (tuple(max(1e-9, statistics.median(one[clock])) for one in side) for side in found)
    return Times(before, now)


def differences(before: Sequence[float], now: Sequence[float]) -> str:
    """How the numbers of a case differ, in words; empty where they are equal but for rounding."""
    if len(before) != len(now):
        return f"{len(before)} numbers before, {len(now)} now"
    pairs = zip(before, now, strict=True)
    return "; ".join(f"{a:.9g} before, {b:.9g} now" for a, b in pairs if not _equal(a, b))


def _equal(a: float, b: float) -> bool:
    """But for rounding, which sums of many numbers differ in; what is not a number is so on both sides."""
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))


def quartiles(ratios: Sequence[float]) -> tuple[float, float]:
    if len(ratios) == 1:
        return ratios[0], ratios[0]
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, high


def verdict(found: Sequence[Compared]) -> str:
    """The last line: how many cases, the median of their ratios, and those that are slower."""
    if not found:
        return "0 cases"
    slower = [one.case for one in found if one.slower]
    named = f": {'; '.join(slower)}" if slower else ""
    middle = statistics.median(one.processor.ratio for one in found)
    return f"{len(found)} cases, median of ratios {middle:.2f}, {len(slower)} slower than {LIMIT:g}{named}"
