"""The values of an answer that independent errors keep, judged: are they a range, and what speaks against it?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.progress import Advance
from halftrek.estimation import Fitted
from halftrek.inference.independence.asking import asked_of_errors
from halftrek.inference.independence.conditions import Conditions
from halftrek.inference.independence.kept_values import Kept, kept_values
from halftrek.notes import Note, note
from halftrek.queries import Query

FEW = 10  # values of a variable, below which its error has a shape that its causes decide
ENOUGH = 20  # independent rows for each condition from which on the test has its size


@dataclass(frozen=True, eq=False)
class JudgedValues:
    """The values that are kept, and what to know of them."""

    kept: Kept
    notes: tuple[Note, ...]


def judged_values(fit: Fitted, query: Query, level: float, progress: Advance | None = None) -> JudgedValues:
    """The values of an effect that the independence of errors keeps."""
    from scipy.special import chdtrc

    asked = asked_of_errors(fit, query)
    given = asked.conditions
    kept = kept_values(given, asked.value, asked.fitted, level=level, unit=asked.unit, progress=progress)
    pairs = " and ".join(f"the errors of {u} and {v}" for u, v in given.pairs)
    notes = [note("kept by independence", pairs=pairs, conditions=given.count)]
    if given.rows.units < ENOUGH * given.count:
        notes.append(note("few rows for conditions", units=given.rows.units, conditions=given.count))
    notes += [note("few values", variable=v, values=count) for v, count in _few_valued(given)]
    if not kept.pieces:
        p = float(chdtrc(kept.df, kept.statistic))
        notes.append(note("independence contradicted", question=str(query), J=kept.statistic, df=kept.df, p=p))
    elif kept.everything:
        notes.append(note("too near to normal", question=str(query)))
    elif not kept.bounded:
        notes.append(note("near to normal", question=str(query)))
    return JudgedValues(kept, tuple(notes))


def _few_valued(given: Conditions) -> list[tuple[str, int]]:
    """Effects with few values, and how many these are."""
    effects = [v for v in given.equations if given.graph.parents(v)]
    columns = ((v, given.rows.values[:, given.rows.names.index(v)]) for v in effects)
    counted = ((v, len(np.unique(column))) for v, column in columns)
    return [(v, count) for v, count in counted if count < FEW]
