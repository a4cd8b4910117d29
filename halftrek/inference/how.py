"""How uncertainty is computed: one value that travels whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypedDict, Unpack, get_args

from halftrek.bottom.choices import Ends, Interval
from halftrek.errors import InputError
from halftrek.inference.information.information import Kind


@dataclass(frozen=True)
class How:
    """How uncertainty is computed.

    - ``interval``: what standard errors and intervals are made of, see ``halftrek.inference.intervals``; None: what
      suits the data and the question, as ``halftrek.trust`` judges;
    - ``information``: "expected" or "observed"; None: what fits the data, observed where values are missing;
    - ``replicates``, ``ends`` ("percentile" or "bca") and ``random_state`` are for the bootstraps;
      ``progress(done, total)`` is called while they are made.
    """

    interval: Interval | None = "delta"
    level: float = 0.95
    information: Kind | None = None
    replicates: int = 1000
    ends: Ends = "percentile"
    random_state: int = 0
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level must lie between 0 and 1, for instance 0.95, not {self.level!r}")
        if self.interval not in (None, *get_args(Interval)):
            raise InputError(f"interval must be one of {', '.join(get_args(Interval))}, not {self.interval!r}")
        if self.information not in (None, *get_args(Kind)):
            raise InputError(f"information must be 'expected' or 'observed', not {self.information!r}")
        if self.ends not in get_args(Ends):
            raise InputError(f"ends must be 'percentile' or 'bca', not {self.ends!r}")
        if self.replicates < 2:
            raise InputError(f"replicates must be at least 2, not {self.replicates}")

    @property
    def quantile(self) -> float:
        """The point of the standard normal that leaves half of what is not covered above it."""
        return NormalDist().inv_cdf(0.5 + self.level / 2.0)


class Uncertainty(TypedDict, total=False):
    """What a user may say of uncertainty: fields of ``How``, each by its name."""

    interval: Interval | None
    level: float
    information: Kind | None
    replicates: int
    ends: Ends
    random_state: int


class Watched(Uncertainty, total=False):
    """The same, and who watches the replicates being made."""

    progress: Callable[[int, int], None] | None


def asked(**options: Unpack[Watched]) -> How:
    """How, as a user asks for it: without an interval one is chosen, and an option of other intervals is refused."""
    settings: Watched = {"interval": None, **options}
    how = How(**settings)
    if how.information is not None and how.interval not in (None, "delta", "profile"):
        raise InputError(
            f'information has no meaning for the interval "{how.interval}": leave it out, or ask for interval="delta"'
        )
    if how.interval not in ("bootstrap", "parametric"):
        for name, given, usual in (("replicates", how.replicates, How.replicates), ("ends", how.ends, How.ends)):
            if given != usual:
                what = f'for the interval "{how.interval}"' if how.interval else "where no interval is asked for"
                raise InputError(f'{name} has no meaning {what}: leave it out, or ask for interval="bootstrap"')
    return how
