"""The interval of two-stage least squares: from its standard error where instruments are strong, else by a test.

Below ``SURE`` a standard error is too small just in the samples in which the instruments look good. The test of
Anderson and Rubin is right at every strength, so that the values it keeps are the interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.inference.evidence.evidence import student_quantile
from halftrek.inference.instruments.anderson_rubin import Ends, anderson_rubin_set
from halftrek.inference.instruments.equation import Equation
from halftrek.inference.instruments.numbers import tsls_errors
from halftrek.inference.instruments.spread import Spread
from halftrek.notes import Note, note
from halftrek.trust.judge import SURE


@dataclass(frozen=True)
class JudgedSlope:
    """A slope of two-stage least squares; ``kind`` says where its interval is from, empty where there is none."""

    value: float
    error: float
    ends: Ends
    kind: str
    notes: tuple[Note, ...] = ()


def judged_slope(given: Equation, spread: Spread, cause: int, strength: float, level: float) -> JudgedSlope:
    """The slope of a cause with the interval that suits the strength of the instruments."""
    value, error = float(given.slopes[cause]), float(tsls_errors(given, spread)[cause])
    named = ", ".join(given.instruments)
    if strength >= SURE:
        free = given.second_free if spread.clusters is None else spread.clusters - 1.0
        reach = float(student_quantile(level, np.array(free))) * error
        return JudgedSlope(value, error, (value - reach, value + reach), "standard error")
    if len(given.causes) > 1:
        none = note("no set for several causes", instruments=named)
        return JudgedSlope(value, error, (np.nan, np.nan), "", (none,))
    pieces = anderson_rubin_set(given, spread, level)
    if not pieces:
        empty = note("anderson-rubin empty", instruments=named)
        return JudgedSlope(value, error, (np.nan, np.nan), "", (empty,))
    notes = [note("anderson-rubin chosen", sure=SURE)]
    if len(pieces) > 1:
        worded = " and ".join(_range(*ends) for ends in pieces)
        notes.append(note("anderson-rubin pieces", instruments=named, pieces=worded))
    return JudgedSlope(value, error, (pieces[0][0], pieces[-1][1]), "Anderson-Rubin", tuple(notes))


def _range(low: float, high: float) -> str:
    if low == -np.inf:
        return "all values" if high == np.inf else f"all below {high:.4g}"
    return f"all above {low:.4g}" if high == np.inf else f"{low:.4g} to {high:.4g}"
