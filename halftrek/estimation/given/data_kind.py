"""What a fit was made of: complete moments, or patterns of rows with missing values. The one place that asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from halftrek.bottom.choices import Intercepts, Noise
from halftrek.data import Moments, Patterns
from halftrek.estimation.fit import Fitted, fit
from halftrek.graphs import Graph


def data_of(fitted: Fitted) -> Moments | Patterns:
    """What was read: moments, or patterns where values are missing (the fit's moments are then expected ones)."""
    return fitted.moments if fitted.patterns is None else fitted.patterns


def patterns_behind(fitted: Fitted) -> Patterns:
    """The patterns of a fit that is known to have missing values."""
    data = data_of(fitted)
    assert isinstance(data, Patterns)  # asked for only where values are missing
    return data


def refit(
    fitted: Fitted,
    graph: Graph,
    *,
    noise: Noise | None = None,
    intercepts: Intercepts = "free",
    start: Mapping[tuple[str, str], float] | None = None,
) -> Fitted:
    """The same rows with another graph, or with other options."""
    found = fit(graph, data_of(fitted), noise=noise, intercepts=intercepts, start=start)
    return replace(found, rows=fitted.rows, frame=fitted.frame)
