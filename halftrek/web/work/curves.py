"""Requests for curves: an outcome as seen beside as done, and its mean along the values of a cause."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from halftrek.data import Histogram
from halftrek.errors import DataError
from halftrek.models import Gaussian
from halftrek.queries import Distribution
from halftrek.reporting.plots.effects import doses_of
from halftrek.reporting.plots.seen import seen_density, seen_line, seen_means, seen_sd
from halftrek.reporting.records import Record
from halftrek.web.work.bench import Bench, Request

if TYPE_CHECKING:
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_REACH = 3.6  # standard deviations of a normal curve that are drawn


def distribution(asked: Request, bench: Bench) -> Record:
    """All that a browser needs to move mean and density under ``do(cause=v)`` by itself: both are linear in v."""
    fit, cause, outcome, given = bench.fit(asked), asked.text("cause"), asked.text("outcome"), asked.values("given")
    _refuse_unseen(fit, cause, outcome)
    _refuse_bent(fit, cause, outcome)
    doses = doses_of(fit, cause, None)
    two = len(doses) == 2
    at = float(doses[0]) if two else float(doses[len(doses) // 2])
    end = float(doses[-1])
    here, there = (_done(fit, cause, outcome, value, given, asked) for value in (at, end))
    slope = (_mean(there) - _mean(here)) / (end - at) if end != at else math.nan
    words, seen = seen_density(fit, outcome, given)
    done: Record = {"at": at, "mean": _mean(here), "slope": slope, "sd": _sd(here)}
    line = _line(fit, cause, outcome, given, at)
    return {
        "cause": cause,
        "outcome": outcome,
        "seen": {"words": words, "histogram": _bars(seen), "normal": _normal(seen)},
        "done": done,
        "line": line,
        "slider": {
            "low": float(doses[0]), "high": end, "start": at, "values": [float(x) for x in doses] if two else None,
        },
        "span": _span(seen, [here, there, _done(fit, cause, outcome, float(doses[0]), given, asked)]),
        "notes": [note.to_dict() for note in here.notes],
    }  # fmt: skip


def _refuse_unseen(fit: Fit, cause: str, outcome: str) -> None:
    for name in (cause, outcome):
        if name in fit.graph.hidden:
            asked = Distribution.after((outcome,), {cause: 1.0})
            raise DataError(f"{name} is hidden: no row has a value of it to draw. Ask {asked} for numbers")


def _refuse_bent(fit: Fit, cause: str, outcome: str) -> None:
    """Behind columns that are not continuous the outcome's mean is not linear in the cause's value."""
    layer = fit.moments.layer
    for name in (cause, outcome):
        if layer is not None and (margin := layer.margin(name)) is not None and margin.kind != "plain":
            raise DataError(f"{name} is taken as {margin.kind}: see its mean along the cause, under Dose")


def _done(fit: Fit, cause: str, outcome: str, value: float, given: Mapping[str, float], asked: Request) -> Answer:
    return fit.query(Distribution.after((outcome,), {cause: value}, dict(given)), **asked.uncertainty)


def _mean(answer: Answer) -> float:
    return float(answer.mean)


def _sd(answer: Answer) -> float:
    assert answer.distribution is not None  # a distribution was asked for
    return float(answer.distribution.sd[0])


def _line(fit: Fit, cause: str, outcome: str, given: Mapping[str, float], at: float) -> Record | None:
    """The regression of the rows; None where no row has all that it takes."""
    try:
        start, slope = seen_line(fit, cause, outcome, given)
        return {"at": at, "mean": start + slope * at, "slope": slope, "sd": seen_sd(fit, cause, outcome, given)}
    except DataError:
        return None


def _bars(seen: Gaussian | Histogram) -> Record | None:
    if not isinstance(seen, Histogram):
        return None
    return {"left": seen.left, "width": seen.width, "height": seen.height}


def _normal(seen: Gaussian | Histogram) -> Record | None:
    return None if isinstance(seen, Histogram) else {"mean": float(seen.mean[0]), "sd": float(seen.sd[0])}


def _span(seen: Gaussian | Histogram, done: list[Answer]) -> list[float]:
    ends = [end for one in done for end in (_mean(one) - _REACH * _sd(one), _mean(one) + _REACH * _sd(one))]
    if isinstance(seen, Histogram):
        ends += seen.span()
    else:
        ends += [float(seen.mean[0] + side * _REACH * seen.sd[0]) for side in (-1, 1)]
    return [min(ends), max(ends)]


def dose(asked: Request, bench: Bench) -> Record:
    """The mean of the outcome along the values of the cause, with its interval at each."""
    fit, cause, outcome, given = bench.fit(asked), asked.text("cause"), asked.text("outcome"), asked.values("given")
    _refuse_unseen(fit, cause, outcome)
    doses = doses_of(fit, cause, asked.numbers("values"))
    found = [_done(fit, cause, outcome, float(x), given, asked) for x in doses]
    ends = [(math.nan, math.nan) if a.interval is None else np.ravel(a.interval) for a in found]
    means = None if given else seen_means(fit, cause, outcome)
    return {
        "cause": cause,
        "outcome": outcome,
        "level": asked.level,
        "apart": asked.body.get("values") is None and len(doses) == 2,
        "points": [
            {"at": float(x), "est": _mean(a), "ci_low": float(low), "ci_high": float(high)}
            for x, a, (low, high) in zip(doses, found, ends, strict=True)
        ],
        "line": _line(fit, cause, outcome, given, float(doses[len(doses) // 2])),
        "means": None if means is None else {"cause": means.cause, "outcome": means.outcome},
        "notes": [note.to_dict() for note in dict.fromkeys(note for a in found for note in a.notes)],
    }
