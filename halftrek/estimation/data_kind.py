"""What a fit was made of: complete moments, or patterns of rows with missing values. The one place that asks."""

from __future__ import annotations

from halftrek.data import Moments, Patterns
from halftrek.estimation.fit import Fit


def data_of(fit: Fit) -> Moments | Patterns:
    """What was read: moments, or patterns where values are missing (the fit's moments are then expected ones)."""
    return fit.moments if fit.patterns is None else fit.patterns


def patterns_behind(fit: Fit) -> Patterns:
    """The patterns of a fit that is known to have missing values."""
    data = data_of(fit)
    assert isinstance(data, Patterns)  # asked for only where values are missing
    return data
