"""Rows with missing values where categories act: each row integrated over what it lacks, by full information.

With the category of every acting column in place all variables are normal, so that a missing plain column drops out,
and one in categories is a box that is the whole line. A missing category that acts is a sum over its values, each with
the probability that its own variable lies between the cuts: ``log sum_a phi(seen; a) P(boxes, a | seen; a)``. Districts
do not part here: what is missing may tie them together. Variables in boxes that what was seen leaves independent are
integrated apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.bottom.words import listed
from halftrek.errors import DataError
from halftrek.estimation.acts.boxes import MOST, box_shares
from halftrek.estimation.acts.likelihood import FAR, LEAST, LOG_2PI
from halftrek.estimation.acts.places import Places

PATTERNS = 300  # of missing values
WAYS = 64  # in which missing categories that act may come out
APART = 1e-9  # correlation below which variables are independent, but for rounding
STEP = 1e-5
FINE = 1e-3
DROP = "missing='drop' leaves out rows with missing values"


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows that have the same columns: plain ones, those in categories, and missing ones that act on these."""

    rows: Ints
    seen: tuple[int, ...]
    boxes: tuple[int, ...]
    slots: tuple[int, ...]


def patterns_in(places: Places, values: Floats) -> tuple[Pattern, ...]:
    """The patterns of missing values, with what of each matters; too many, or too large ones, are refused."""
    names, graph = places.names, places.graph
    here = ~np.isnan(values)
    kinds, which = np.unique(here, axis=0, return_inverse=True)
    if len(kinds) > PATTERNS:
        raise DataError(
            f"{len(kinds)} patterns of missing values are more than the {PATTERNS} that are integrated over where a "
            f"category acts; {DROP}"
        )
    found = []
    for k, flags in enumerate(kinds):
        has = [v for v, there in zip(names, flags, strict=True) if there]
        if not has:
            continue  # rows without any value say nothing
        before = graph.ancestors(has)
        slots = [
            i for i, v in enumerate(names)
            if not flags[i] and _kind(places, v) == "acts" and set(graph.children(v)) & before
        ]  # fmt: skip
        ways = int(np.prod([len(places.margins[names[i]].values) for i in slots]))
        if ways > WAYS:
            raise DataError(
                f"{listed([names[i] for i in slots])} act and are missing together, in {ways} ways, more than the "
                f"{WAYS} that are summed over; {DROP}"
            )
        cut = tuple(i for i, v in enumerate(names) if flags[i] and v in places.margins)
        seen = tuple(i for i, v in enumerate(names) if flags[i] and v not in places.margins)
        found.append(Pattern(np.flatnonzero(which.ravel() == k), seen, cut, tuple(slots)))
    return tuple(found)


def _kind(places: Places, name: str) -> str:
    return places.margins[name].kind if name in places.margins else "plain"


@dataclass(frozen=True, eq=False)
class _Whole:
    """All equations, in standard units: ``B = (I - T)^-1`` without effects of acting columns, which are given."""

    T: Floats
    mu: Floats
    B: Floats
    cov: Floats
    acting: Ints
    cuts: Mapping[int, Floats]

    @staticmethod
    def of(places: Places, theta: Floats) -> _Whole | None:
        p = len(places.names)
        T, omega, mu, cuts = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p), {}
        for district in places.districts:
            if any(theta[place] > FAR for place in district.spreads.values()):
                return None
            at = np.array(district.members)
            omega[np.ix_(at, at)] = places.errors(district, theta)
            for u, v, place in district.slopes:
                T[u, v] = theta[place]
            for i, place in district.intercepts.items():
                mu[i] = theta[place]
            for i, ends in district.cuts.items():
                cuts[i] = np.concatenate([[-np.inf], theta[slice(*ends)], [np.inf]])
                if (np.diff(theta[slice(*ends)]) <= 0.0).any():
                    return None
        try:
            np.linalg.cholesky(omega)
        except np.linalg.LinAlgError:
            return None
        acting = np.array([i for i, v in enumerate(places.names) if _kind(places, v) == "acts"], dtype=np.intp)
        inside = T.copy()
        inside[acting] = 0.0
        B = np.linalg.inv(np.eye(p) - inside)
        return _Whole(T, mu, B, B.T @ omega @ B, acting, cuts)

    def logliks(self, places: Places, pattern: Pattern, rows: Floats) -> Floats:
        """The log-likelihood of the rows of a pattern."""
        some = rows[pattern.rows]
        seen, left = list(pattern.seen), [*pattern.boxes, *pattern.slots]
        inside = self.cov[np.ix_(seen, seen)]
        root = np.linalg.cholesky(inside)
        gain = np.linalg.solve(inside, self.cov[np.ix_(seen, left)])
        rest = self.cov[np.ix_(left, left)] - self.cov[np.ix_(left, seen)] @ gain
        sd = np.sqrt(np.maximum(np.diag(rest), 1e-300))
        R = rest / np.outer(sd, sd)
        level = -np.log(np.diag(root)).sum() - 0.5 * len(seen) * LOG_2PI - np.log(places.scale[seen]).sum()
        causes = np.nan_to_num(some[:, self.acting])
        codes = [places.margins[places.names[i]].codes(some[:, i]) for i in pattern.boxes]
        slots = [int(np.flatnonzero(self.acting == i)[0]) for i in pattern.slots]
        found = []
        for way in product(*(range(len(places.margins[places.names[i]].values)) for i in pattern.slots)):
            for k, i, category in zip(slots, pattern.slots, way, strict=True):
                causes[:, k] = places.margins[places.names[i]].values[category]
            means = (self.mu + causes @ self.T[self.acting]) @ self.B
            gap = some[:, seen] - means[:, seen]
            log = level - 0.5 * (np.linalg.solve(root, gap.T) ** 2).sum(axis=0)
            every = [*codes, *(np.full(len(some), category) for category in way)]
            middle = means[:, left] + gap @ gain
            low, high = (
                np.stack([self.cuts[i][c + side] for i, c in zip(left, every, strict=True)], axis=1)
                if left else np.zeros((len(some), 0)) for side in (0, 1)
            )  # fmt: skip
            for part in _parts(R):
                ends = ((low[:, part] - middle[:, part]) / sd[part], (high[:, part] - middle[:, part]) / sd[part])
                log = log + np.log(np.maximum(box_shares(*ends, R[np.ix_(part, part)]), LEAST))
            found.append(log)
        return np.asarray(np.logaddexp.reduce(found))


def _parts(R: Floats) -> list[list[int]]:
    """Variables that are independent of those in other parts."""
    tied, found, left = np.abs(R) > APART, [], set(range(len(R)))
    while left:
        part, edge = set[int](), [left.pop()]
        while edge:
            k = edge.pop()
            part.add(k)
            more = {int(j) for j in np.flatnonzero(tied[k])} & left
            left -= more
            edge += list(more)
        found.append(sorted(part))
    return found


def whole_logliks(places: Places, patterns: Sequence[Pattern], theta: Floats, rows: Floats) -> Floats | None:
    """The log-likelihood of each row; None where parameters make no model."""
    whole = _Whole.of(places, theta)
    if whole is None:
        return None
    found = np.zeros(len(rows))
    for pattern in patterns:
        found[pattern.rows] = whole.logliks(places, pattern, rows)
    return found


def whole_scores(places: Places, patterns: Sequence[Pattern], theta: Floats, rows: Floats) -> Floats | None:
    """Derivatives of each row's log-likelihood in all parameters, by differences to both sides."""
    found = np.empty((len(rows), len(theta)))
    for k in range(len(theta)):
        sides = []
        for step in (STEP, -STEP):
            moved = theta.copy()
            moved[k] += step
            sides.append(whole_logliks(places, patterns, moved, rows))
        up, down = sides
        if up is None or down is None:
            return None
        found[:, k] = (up - down) / (2.0 * STEP)
    return found


def whole_bend(
    places: Places, patterns: Sequence[Pattern], theta: Floats, rows: Floats, weights: Floats
) -> Floats | None:
    """Minus the second derivatives of the log-likelihood, by its second differences: ``h`` to one side and the other.

    ``2 h² f_ij = f(i+j) - f(i) - f(j) + 2 f - f(-i) - f(-j) + f(-i-j)``.
    """

    def total(move: Floats) -> float:
        found = whole_logliks(places, patterns, theta + move, rows)
        return float("nan") if found is None else float(weights @ found)

    count = len(theta)
    unit, here = FINE * np.eye(count), total(np.zeros(count))
    alone = np.array([total(unit[i]) + total(-unit[i]) for i in range(count)])
    found = np.diag(alone - 2.0 * here)
    for i, j in combinations(range(count), 2):
        pair = unit[i] + unit[j]
        found[i, j] = found[j, i] = (total(pair) + total(-pair) - alone[i] - alone[j] + 2.0 * here) / 2.0
    return None if np.isnan(found).any() else np.asarray(-found / FINE**2)


def refuse_large(places: Places, patterns: Sequence[Pattern], theta: Floats) -> None:
    """Raise where more variables in boxes hang together than the likelihood is known for."""
    whole = _Whole.of(places, theta)
    for pattern in patterns if whole is not None else ():
        assert whole is not None
        seen, left = list(pattern.seen), [*pattern.boxes, *pattern.slots]
        gain = np.linalg.solve(whole.cov[np.ix_(seen, seen)], whole.cov[np.ix_(seen, left)])
        rest = whole.cov[np.ix_(left, left)] - whole.cov[np.ix_(left, seen)] @ gain
        sd = np.sqrt(np.maximum(np.diag(rest), 1e-300))
        for part in _parts(rest / np.outer(sd, sd)):
            if len(part) > MOST:
                names = listed([places.names[left[k]] for k in part])
                raise DataError(
                    f"{names} are in categories and hang together where other values are missing: more than the {MOST} "
                    f"of which the likelihood is known; {DROP}"
                )
