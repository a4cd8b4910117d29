"""The likelihood of each row, district by district: ``phi(eps_C) P(eps_D in its box | eps_C)``.

C are the members of a district that were seen as they are (or as the scores of their ranks), D those of which only the
category was; eps are their errors, given the values of their causes. What is behind a category was not seen: where it
causes others, its own equation is put into theirs, so that ``L = (line + eps) A`` with ``A = (I - B)^-1``, B the
effects of variables that were not seen, and the errors of the district are ``eps A``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation.acts.boxes import box_shares, box_slopes
from halftrek.estimation.acts.places import District, Places

LEAST = 1e-300
LOG_2PI = float(np.log(2.0 * np.pi))
STEP = 1e-5
FINE = 1e-4  # steps of second derivatives
KNOWN = 2  # members of a district in categories up to which second derivatives cost little
FAR = 100.0  # logarithm of an error's standard deviation, in those of its column, that no data ask for
BORDER = 1e-6  # smallest eigenvalue of correlations: nearer to zero, larger boxes cannot be integrated


@dataclass(frozen=True, eq=False)
class Pieces:
    """Of each row: the log-density of errors that were seen, and the standard box of those that were not.

    ``R`` are the correlations of errors in a box.
    """

    seen: Floats
    low: Floats
    high: Floats
    R: Floats

    @cached_property
    def share(self) -> Floats:
        """The probability of each row's box."""
        return np.maximum(box_shares(self.low, self.high, self.R), LEAST)

    @property
    def logliks(self) -> Floats:
        """The log-likelihood that a district adds to each row."""
        return np.asarray(self.seen + np.log(self.share))


def lines_and_errors(places: Places, district: District, theta: Floats, rows: Floats) -> tuple[Floats, Floats] | None:
    """What the members of a district are without their errors, row by row, and the covariance of these.

    None where parameters make no model.
    """
    if any(theta[place] > FAR for place in district.spreads.values()):
        return None
    omega = places.errors(district, theta)
    own = {i: k for k, i in enumerate(district.members)}
    try:
        np.linalg.cholesky(omega)
    except np.linalg.LinAlgError:
        return None
    line, through = np.zeros((len(rows), len(own))), np.eye(len(own))
    for u, v, place in district.slopes:
        if u in district.behind:
            through[own[u], own[v]] = -theta[place]
        else:
            line[:, own[v]] += theta[place] * rows[:, u]
    for i, place in district.intercepts.items():
        line[:, own[i]] += theta[place]
    if district.behind:
        A = np.linalg.inv(through)
        line, omega = line @ A, A.T @ omega @ A
    return line, omega


def pieces(places: Places, district: District, theta: Floats, rows: Floats) -> Pieces | None:
    """What a district makes of each row, in standard units; None where parameters make no model."""
    known = lines_and_errors(places, district, theta, rows)
    if known is None:
        return None
    line, omega = known
    own = {i: k for k, i in enumerate(district.members)}
    seen, cut = [own[i] for i in district.plain], [own[i] for i in district.cut]
    found = np.zeros(len(rows))
    mean, left = np.zeros((len(rows), len(cut))), omega[np.ix_(cut, cut)]
    if seen:
        errors = rows[:, district.plain] - line[:, seen]
        inside = omega[np.ix_(seen, seen)]
        root = np.linalg.cholesky(inside)
        white = np.linalg.solve(root, errors.T)
        found -= 0.5 * (white**2).sum(axis=0) + np.log(np.diag(root)).sum() + 0.5 * len(seen) * LOG_2PI
        found -= np.log(places.scale[list(district.plain)]).sum()
        slope = np.linalg.solve(inside, omega[np.ix_(seen, cut)])
        mean, left = errors @ slope, left - omega[np.ix_(cut, seen)] @ slope
    if not cut:
        return Pieces(found, mean, mean, left)
    ends = ends_of(places, district, theta, rows, district.cut, line[:, cut] + mean)
    if ends is None:
        return None
    spread = np.sqrt(np.diag(left))
    R = left / np.outer(spread, spread)
    if len(cut) > 2 and np.linalg.eigvalsh(R)[0] < BORDER:
        return None
    return Pieces(found, ends[0] / spread, ends[1] / spread, R)


def row_logliks(places: Places, district: District, theta: Floats, rows: Floats) -> Floats | None:
    """The log-likelihood that a district adds to each row; None where parameters make no model."""
    found = pieces(places, district, theta, rows)
    return None if found is None else found.logliks


def ends_of(
    places: Places, district: District, theta: Floats, rows: Floats, cut: Sequence[int], shift: Floats
) -> tuple[Floats, Floats] | None:
    """Between which values the errors of members in categories lie, less what is known of them."""
    low, high = np.empty_like(shift), np.empty_like(shift)
    for k, i in enumerate(cut):
        cuts = theta[slice(*district.cuts[i])]
        if (np.diff(cuts) <= 0.0).any():
            return None
        codes = places.margins[places.names[i]].codes(rows[:, i])
        around = np.concatenate([[-np.inf], cuts, [np.inf]])
        low[:, k], high[:, k] = around[codes] - shift[:, k], around[codes + 1] - shift[:, k]
    return low, high


def scores(
    places: Places, district: District, theta: Floats, rows: Floats, at: Ints, now: Pieces | None = None
) -> Floats | None:
    """Derivatives of each row's log-likelihood in the parameters ``at``, one column each; ``now`` are known pieces.

    How boxes move with a parameter is seen by small steps, and what the probability makes of it in closed form.
    """
    now = pieces(places, district, theta, rows) if now is None else now
    if now is None:
        return None
    by_low, by_high, by_r = (slope / now.share[:, None] for slope in box_slopes(now.low, now.high, now.R))
    pairs = np.triu_indices(len(now.R), 1)
    found = np.empty((len(rows), len(at)))
    for k, place in enumerate(at):
        sides = []
        for step in (STEP, -STEP):
            moved = theta.copy()
            moved[place] += step
            sides.append(pieces(places, district, moved, rows))
        up, down = sides
        if up is None or down is None:
            return None
        found[:, k] = up.seen - down.seen + by_r @ (up.R - down.R)[pairs]
        with np.errstate(invalid="ignore"):  # ends that are infinite stay so
            for slope, more, less in ((by_low, up.low, down.low), (by_high, up.high, down.high)):
                found[:, k] += np.where(np.isfinite(more), slope * (more - less), 0.0).sum(axis=1)
    return found / (2.0 * STEP)


def own_places(district: District) -> Ints:
    """The places of a district's parameters that are free and have a most likely value."""
    found = [place for *_, place in (*district.slopes, *district.covariances)]
    found += [*district.intercepts.values(), *district.spreads.values()]
    found += [place for ends in district.cuts.values() for place in range(*ends)]
    return np.array(sorted(set(found) - district.held - district.off), dtype=np.intp)


def bend_of(places: Places, district: District, theta: Floats, rows: Floats, weights: Floats) -> Floats:
    """Minus the second derivatives of the log-likelihood, by differences of its slope.

    They are taken to both sides; to one where boxes are large and cost much.
    """
    at = own_places(district)

    def slope(place: int, step: float) -> Floats:
        moved = theta.copy()
        moved[place] += step
        each = scores(places, district, moved, rows, at)
        return np.full(len(at), np.nan) if each is None else np.asarray(each.T @ weights)

    if len(district.cut) <= KNOWN:
        found = np.array([(slope(k, -FINE) - slope(k, FINE)) / (2.0 * FINE) for k in at])
    else:
        here = slope(0, 0.0)
        found = np.array([(here - slope(k, FINE)) / FINE for k in at])
    found = found.reshape(len(at), len(at))
    return np.asarray((found + found.T) / 2.0)
