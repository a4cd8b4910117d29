"""What a lavaan text says that a graph does not hold, or holds in another way than ``sem()`` reads it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from halftrek.notes import Note
from halftrek.syntax.lavaan_model import Model

_SHOWN = 6


def reading_notes(model: Model, defined: Sequence[str]) -> tuple[Note, ...]:
    """One note for each kind of thing."""
    notes = []
    if defined:
        notes.append(Note("lavaan definitions", {"names": _listed(defined)}))
    apart = outcomes_apart(model)
    if apart:
        u, v = apart[0]
        names = _listed(tuple(dict.fromkeys(name for pair in apart for name in pair)))
        notes.append(Note("lavaan outcomes", {"names": names, "first": u, "second": v}))
    for factor in model.factors:
        if _is_growth_factor(model, factor):
            indicators = [v for u, v in model.weights if u == factor]
            notes.append(Note("lavaan growth", {"factor": factor, "indicators": _listed(indicators)}))
        if factor in model.intercepts and model.intercepts[factor].term.fixed is None:
            notes.append(Note("lavaan factor mean", {"factor": factor}))
    return tuple(notes)


def outcomes_apart(model: Model) -> list[tuple[str, str]]:
    """Pairs of outcomes that cause nothing and that the text leaves alone: here apart, in ``sem()`` they covary."""
    return [pair for pair in combinations(model.terminal, 2) if frozenset(pair) not in model.covariances]


def _is_growth_factor(model: Model, factor: str) -> bool:
    """True if all loadings are given and the variance is free: an intercept or a slope over time."""
    loadings = [f.term for (u, _), f in model.weights.items() if u == factor and f.operator.text == "=~"]
    variance = model.variances.get(factor)
    free = variance is None or variance.term.fixed is None
    return free and len(loadings) > 1 and all(term.fixed is not None for term in loadings)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
