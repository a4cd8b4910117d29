"""What a lavaan text says that a graph does not hold, or holds in another way than ``sem()`` reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice

from halftrek.bottom.words import listed
from halftrek.notes import Note
from halftrek.syntax.graphs.conventions import Conventions
from halftrek.syntax.graphs.formulas import Formula
from halftrek.syntax.graphs.lavaan_labels import Key, Known
from halftrek.syntax.graphs.lavaan_model import Arrow, Model

_SHOWN = 6


def reading_notes(
    model: Model, conventions: Conventions, known: Known, without_scale: Sequence[str]
) -> tuple[Note, ...]:
    """One note for each kind of thing."""
    notes = []
    unscaled = set(without_scale)
    apart = [] if conventions.outcomes_covary else list(islice(outcomes_apart(model), 1))
    if apart:
        u, v = apart[0]
        notes.append(Note("lavaan outcomes", {"names": _all_apart(model), "first": u, "second": v}))
    for factor, formulas in model.out_of(model.factors).items():
        free = known.of(Key("variance", factor)) is None
        if conventions == Conventions() and free and _is_growth_factor(model, factor, formulas):
            indicators = listed([v for _, v in formulas], _SHOWN, quote=False)
            notes.append(Note("lavaan growth", {"factor": factor, "indicators": indicators}))
        if factor in unscaled and formulas:
            notes.append(Note("lavaan scale", {"factor": factor, "first": next(iter(formulas))[1]}))
    return tuple(notes)


def outcomes_apart(model: Model) -> Iterator[tuple[str, str]]:
    """Pairs of outcomes that cause nothing and that the text leaves alone: here apart, in ``sem()`` they covary."""
    return (pair for pair in combinations(model.terminal, 2) if frozenset(pair) not in model.covariances)


def _all_apart(model: Model) -> str:
    """The outcomes of these pairs, found without going through all of the pairs: a few to show, the others counted."""
    terminal = model.terminal
    ends = set(terminal)
    said = Counter(v for pair in model.covariances if pair <= ends for v in pair)
    count = sum(said[v] < len(terminal) - 1 for v in terminal)
    shown: dict[str, None] = {}
    for pair in outcomes_apart(model):
        shown |= dict.fromkeys(pair)
        if len(shown) >= min(count, _SHOWN):
            break
    names = list(shown)[:_SHOWN]
    return ", ".join(names) + (f" and {count - _SHOWN} more" if count > _SHOWN else "")


def _is_growth_factor(model: Model, factor: str, formulas: Mapping[Arrow, Formula]) -> bool:
    """True if all loadings are given and nothing is said of means: an intercept or a slope over time."""
    loadings = [f.term for f in formulas.values() if f.operator.text == "=~"]
    given = len(loadings) > 1 and all(term.fixed is not None for term in loadings)
    return given and factor not in model.intercepts
