"""Whether the parts of a question in a file belong together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from halftrek.queries import (
    Arithmetic,
    Distribution,
    PathEffect,
    Probability,
    Quantile,
    Statistic,
    ThroughEffect,
)
from halftrek.queries.kinds.variants import Draw, Event, Scale, Shift, Sum
from halftrek.storage.demands import must, named, number


def _question(query: object) -> None:
    """What the text of a question could not say."""
    match query:
        case PathEffect(steps) | ThroughEffect(steps):
            must(len(steps) >= 2, "a path has two ends")
        case Statistic(kind, of, _):
            must(len(of) == (2 if kind in ("Cov", "Corr") else 1), f"{kind} of {len(of)} variables")
        case Distribution(of, _):
            must(bool(of), "nothing is asked for")
        case Probability(events, _):
            must(bool(events), "nothing is asked for")
        case Quantile(level, _, _):
            must(0.0 < level < 1.0, f"the level cannot be {level!r}")
        case Arithmetic(_, left, right):
            for side in (left, right):
                must(not isinstance(side, int), f"the number {side!r} lacks its point")
                number(side if isinstance(side, float) else None, "a number of a question")
        case Draw(mean, variance):
            number(mean, "a mean")
            number(variance, "a variance", least=0.0)
        case Shift(size) | Scale(size):
            number(size, "a change")
        case Sum(parts):
            must(bool(parts), "a sum of nothing")
            for weight, _ in parts:
                number(weight, "a weight")
        case Event(_, low, high):
            must(
                (low < high or query.at is not None) and (low, high) != (-math.inf, math.inf),
                f"nothing lies between {low!r} and {high!r}",
            )
    for part in vars(query).values():
        if isinstance(part, Mapping):
            for held in part.values():
                number(held if isinstance(held, float | int) else None, "a value")
    _names_in_question(query)
    _ = str(query), hash(query)


def _names_in_question(query: object) -> None:
    found: list[Any] = []
    for key, part in vars(query).items():
        if key in ("cause", "effect", "first", "second", "variable"):
            found.append(part)
        if key in ("path", "stations"):
            found += part
        if isinstance(part, Mapping):
            found += [v for k in part for v in (k if isinstance(k, tuple) else (k,))]
    for name in found:
        if isinstance(name, str):
            named((name,), "a question")


def question_checks() -> dict[type, Callable[[object], None]]:
    """The check of each class that questions are made of."""
    from halftrek.queries.kinds import distributions, effects, terms, variants
    from halftrek.storage.kinds import classes

    homes = {module.__name__ for module in (distributions, effects, terms, variants)}
    return {kind: _question for kind in classes().values() if kind.__module__ in homes}
