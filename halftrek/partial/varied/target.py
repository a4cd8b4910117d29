"""The answer that is looked for when an edge is varied: the one that says that nothing differs, or the user's own."""

from __future__ import annotations

import numpy as np

from halftrek.errors import InputError
from halftrek.queries import Query
from halftrek.queries.kinds.terms import no_effect


def looked_for(target: float | None, query: Query) -> float:
    """The user's number, if it is one; left out, zero, or one where the question is a ratio of two worlds."""
    if target is None:
        return no_effect(query)
    if not np.isfinite(target):
        raise InputError(f"target is the answer to look for, a finite number, not {target!r}")
    return float(target)
