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
    line = np.zeros((len(rows), len(own)))
    for u, v, place in district.slopes:
        if u not in district.behind:
            line[:, own[v]] += theta[place] * rows[:, u]
    for i, place in district.intercepts.items():
        line[:, own[i]] += theta[place]
    if district.behind:
        A = _ways(district, theta)
        line, omega = line @ A, A.T @ omega @ A
    return line, omega


def _ways(district: District, theta: Floats) -> Floats:
    """What a unit of each member makes of each other, by way of members that are behind their categories."""
    own = {i: k for k, i in enumerate(district.members)}
    through = np.eye(len(own))
    for u, v, place in district.slopes:
        if u in district.behind:
            through[own[u], own[v]] = -theta[place]
    return np.linalg.inv(through) if district.behind else through


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

    How boxes move with a parameter of the errors is seen by small steps, and what the probability makes of it in closed
    form; all else is known in closed form.
    """
    now = pieces(places, district, theta, rows) if now is None else now
    if now is None:
        return None
    by_low, by_high, by_r = (slope / now.share[:, None] for slope in box_slopes(now.low, now.high, now.R))
    ends = [np.where(np.isfinite(end), by, 0.0) for end, by in ((now.low, by_low), (now.high, by_high))]
    known = _known_scores(places, district, theta, rows, ends)
    if known is None:
        return None
    pairs = np.triu_indices(len(now.R), 1)
    found = np.empty((len(rows), len(at)))
    for k, place in enumerate(at):
        if place in known:
            found[:, k] = known[place]
            continue
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
        found[:, k] /= 2.0 * STEP
    return found


def _known_scores(
    places: Places, district: District, theta: Floats, rows: Floats, ends: Sequence[Floats]
) -> dict[int, Floats] | None:
    """The scores of slopes, intercepts and cuts; ``ends`` are those of the lower and upper ends of each row's box.

    These parameters move the lines alone, by ``x A``: with K the inverse of the seen errors' covariance, the seen part
    moves by ``eps K (x A)'``, and both ends of a box by as much as the line less what the seen errors tell of it.
    """
    from_lines = lines_and_errors(places, district, theta, rows)
    if from_lines is None:
        return None
    line, omega = from_lines
    own = {i: k for k, i in enumerate(district.members)}
    seen, cut = [own[i] for i in district.plain], [own[i] for i in district.cut]
    ways, left = _ways(district, theta), omega[np.ix_(cut, cut)]
    moves, by_line = ways[:, cut], np.zeros_like(line)
    if seen:
        K = np.linalg.inv(omega[np.ix_(seen, seen)])
        slope = K @ omega[np.ix_(seen, cut)]
        moves, left = moves - ways[:, seen] @ slope, left - omega[np.ix_(cut, seen)] @ slope
        by_line += (rows[:, district.plain] - line[:, seen]) @ K @ ways[:, seen].T
    spread = np.sqrt(np.diag(left))
    low, high = (end / spread for end in ends)
    by_line -= (low + high) @ moves.T
    found = {place: rows[:, u] * by_line[:, own[v]] for u, v, place in district.slopes if u not in district.behind}
    found |= {place: by_line[:, own[i]] for i, place in district.intercepts.items()}
    for k, i in enumerate(district.cut):
        codes = places.margins[places.names[i]].codes(rows[:, i])
        first, last = district.cuts[i]
        for j, place in enumerate(range(first, last)):
            found[place] = np.where(codes == j + 1, low[:, k], 0.0) + np.where(codes == j, high[:, k], 0.0)
    return found


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
