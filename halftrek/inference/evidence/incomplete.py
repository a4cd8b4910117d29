"""What informs a number where values are missing: rows that have the variables, or as many as would tell as much."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import patterns_behind
from halftrek.estimation.missing.incomplete import complete_information, evaluate
from halftrek.estimation.plan import make_plan
from halftrek.inference.evidence.evidence import Support, equation_sizes, ratio
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.missing.incomplete import PatternInformation, pattern_information
from halftrek.inference.kept import kept

MORE = 2.0  # how much more than the rows that have a whole equation the others must tell to be counted


def seen_support(fit: Fitted, pulled: Floats) -> Support:
    """Where values are missing: the rows that have every variable of the district's equations.

    Where other rows tell clearly more (no row may have them all, and still a model be known from pairs), as many rows
    as would tell as much if they were complete, but not more than have the variable at all. ``pulled`` holds gradients
    in the parameters of the whole model, one a line.
    """
    sizes = equation_sizes(make_plan(fit.graph, fit.model.names, fit.options))
    known, whole = pattern_information(fit, "expected"), information_if_complete(fit)
    belongs = _belongs(known)
    rows_having = kind_of_data(fit).rows_having
    have = np.array([rows_having(fit, (v,)) for v in fit.model.names])
    entire = [rows_having(fit, _around(fit, variables)) for variables in sizes]
    variance, rows = np.zeros((len(pulled), len(sizes))), np.full((len(pulled), len(sizes)), fit.n)
    for d, variables in enumerate(sizes):
        own = np.where(belongs[:, list(variables)].any(axis=1), pulled, 0.0)
        if not own.any():
            continue
        here, complete = _variances(known, known.inner, own), _variances(known, whole, own)
        variance[:, d] = here / fit.n
        touched = (own != 0.0) @ belongs
        most = np.where(touched, have, np.inf).min(axis=1)
        as_much = fit.n * ratio(complete, here)
        rows[:, d] = np.where(as_much > MORE * entire[d], np.minimum(as_much, most), entire[d])
    return Support(variance, rows, np.array(list(sizes.values()), dtype=float))


def _around(fit: Fitted, variables: tuple[int, ...]) -> set[str]:
    """The variables of a district and of its equations."""
    inside = [fit.model.names[j] for j in variables]
    return {*inside, *(u for v in inside for u in fit.graph.parents(v))}


def _belongs(known: PatternInformation) -> Flags:
    """Which parameter belongs to the equation of which variable."""
    space = known.space
    found = np.zeros((space.size, len(space.names)), dtype=bool)
    for at, column in ((space.T_at, 1), (space.W_at, 0), (space.W_at, 1), (space.C_at, 1), (space.mu_at, 0)):
        found[at[:, 2], at[:, column]] = True
    return found


def _variances(known: PatternInformation, inner: Floats, pulled: Floats) -> Floats:
    """Asymptotic variances along what data tell, from the information about that."""
    along = pulled @ known.determined
    return np.asarray((along * np.linalg.solve(inner, along.T).T).sum(axis=1))


@kept
def information_if_complete(fit: Fitted) -> Floats:
    """The expected information per row, had no value been missing, along what data tell."""
    known = pattern_information(fit, "expected").precise
    point = evaluate(known.space, patterns_behind(fit), known.theta)  # what is expected depends on the place alone
    if point is None:  # a variance of zero
        return known.inner
    matrix = complete_information(known.space, fit.n, point) / fit.n
    return np.asarray(known.determined.T @ matrix @ known.determined)
