"""Ranked columns on which a category acts: where is the variable behind each value?

Ranks of such a column are those of a mixture, so that normal scores do not tell. But given all that comes before it in
a row the variable behind it is normal (weighed, where categories share hidden causes with it, by the box of these),
``y* ~ P_i``. So that ``h``, which makes y* of a value, solves ``F(v) = mean_i P_i(h(v))``, F the share of rows up to v,
half of the ties left out. What comes before counts as it was seen, however it is distributed. Scores are brought to
mean 0 and variance 1 over the rows, as all scores are.

The model depends on h and h on the model: see ``settled`` for how both are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import DataError
from halftrek.estimation.acts.boxes import box_shares
from halftrek.estimation.acts.likelihood import BORDER, LEAST, ends_of, lines_and_errors
from halftrek.estimation.acts.places import Places, in_units
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.layer.bivariate import phi

FAR = 9.0  # standard deviations of its error beyond which a variable never lies
STEPS = 8.0  # points for each of them
MOST = 4_000  # points in all
AT_ONCE = 1_000_000  # numbers that are worked on at a time
HALVINGS = 45


def mixed_ranks(graph: Graph, margins: Mapping[str, Margin]) -> tuple[str, ...]:
    """Ranked columns on which a category acts, causes first."""
    acts = {v for v, m in margins.items() if m.kind == "acts"}
    ranked = [v for v in graph.topological_order if v in margins and margins[v].kind == "ranked"]
    return tuple(v for v in ranked if acts & graph.ancestors(v))


@dataclass(frozen=True, eq=False)
class Before:
    """Where a variable is in each row, given what comes before it: its mean and spread, and the boxes it shares.

    ``low`` and ``high`` are ends of what is in categories and shares its hidden causes, in standard units; ``R`` are
    correlations of these, ``r`` those with the variable.
    """

    name: str
    mean: Floats
    sd: float
    low: Floats
    high: Floats
    R: Floats
    r: Floats

    @cached_property
    def points(self) -> Floats:
        """Where to look at the distribution: from before its first rows to after its last ones."""
        first, last = float(self.mean.min()) - FAR * self.sd, float(self.mean.max()) + FAR * self.sd
        narrow = float(np.sqrt(np.clip(1.0 - (self.r**2).max(initial=0.0), 0.01, 1.0)))  # where boxes end
        count = (last - first) / (self.sd * narrow) * STEPS
        if not count < MOST:
            raise DataError(
                f"{self.name!r} is ranked and a category acts on it, and what comes before it in the graph tells its "
                f"ranks apart, all but in whole, so that they do not say where it is behind them; take out what it is "
                f"made of, or cut it into groups and say kinds={{{self.name!r}: 'ordered'}}"
            )
        return np.linspace(first, last, int(count) + 2)

    def blocks(self, at: Floats) -> Iterator[tuple[slice, Floats, Floats]]:
        """A block of rows after the other: points in the standard units of each, and its densities there."""
        step = max(1, AT_ONCE // len(at))
        share = np.maximum(box_shares(self.low, self.high, self.R), LEAST)
        for k in range(0, len(self.mean), step):
            rows = slice(k, min(k + step, len(self.mean)))
            u = (at - self.mean[rows, None]) / self.sd
            density = phi(u) / self.sd
            yield rows, u, density * self._inside(rows, u) / share[rows, None] if len(self.r) else density

    def _inside(self, rows: slice, u: Floats) -> Floats:
        """The probability of each row's box, given the variable."""
        left = self.R - np.outer(self.r, self.r)
        sd = np.sqrt(np.diag(left))
        shift = u[:, :, None] * self.r
        low, high = ((ends[rows, None] - shift) / sd for ends in (self.low, self.high))
        many = len(self.r)
        return box_shares(low.reshape(-1, many), high.reshape(-1, many), left / np.outer(sd, sd)).reshape(u.shape)

    def summed_below(self, at: Floats, lines: Floats) -> Floats:
        """The probability in each row of lying below each point, times a line for each of these, summed."""
        from scipy.special import ndtr

        found = np.empty((len(self.mean), lines.shape[1]))
        for rows, u, density in self.blocks(at):
            found[rows] = (_summed(at, density.T).T if len(self.r) else ndtr(u)) @ lines
        return found


@dataclass(frozen=True, eq=False)
class Mixture:
    """The distribution of a variable over all rows, at points: what lies below them, and the density."""

    at: Floats
    below: Floats
    density: Floats

    def places(self, levels: Floats) -> Floats:
        """Where the distribution function has these levels, by halving between two points.

        Between points its normal score is a cubic, which the distribution function is far from in its tails.
        """
        from scipy.special import ndtri

        inside = (self.below > 1e-15) & (self.below < 1.0 - 1e-15)
        t, level = self.at[inside], self.below[inside]
        q = ndtri(level)
        wanted = np.asarray(ndtri(levels))
        k = np.clip(np.searchsorted(q, wanted) - 1, 0, len(t) - 2)
        step = np.diff(t)
        slope = self.density[inside] / np.maximum(phi(q), LEAST)
        a, b, up, down = q[k], q[k + 1], slope[k] * step[k], slope[k + 1] * step[k]
        low, high = np.zeros(len(wanted)), np.ones(len(wanted))
        for _ in range(HALVINGS):
            x = 0.5 * (low + high)
            y = 1.0 - x
            value = y * y * ((1.0 + 2.0 * x) * a + x * up) + x * x * ((1.0 + 2.0 * y) * b - y * down)
            over = value > wanted
            low, high = np.where(over, low, x), np.where(over, x, high)
        return np.asarray(t[k] + 0.5 * (low + high) * step[k])

    def steepness(self, at: Floats) -> Floats:
        """The density anywhere; its logarithm bends less in the tails."""
        return np.asarray(np.exp(np.interp(at, self.at, np.log(np.maximum(self.density, LEAST)))))


def mixture_of(before: Before, weights: Floats) -> Mixture:
    """The distribution over rows with these weights."""
    from scipy.special import ndtr

    at = before.points
    density, below = np.zeros(len(at)), np.zeros(len(at))
    for rows, u, each in before.blocks(at):
        density += weights[rows] @ each
        if not len(before.r):
            below += weights[rows] @ ndtr(u)
    below = _summed(at, density) if len(before.r) else below
    return Mixture(at, below / below[-1], density / weights.sum())


def _summed(at: Floats, density: Floats) -> Floats:
    """The integral up to each point of what is zero at the ends; a cubic between points."""
    from scipy.interpolate import CubicSpline

    return np.asarray(CubicSpline(at, density, bc_type="clamped").antiderivative()(at))


def before_of(places: Places, theta: Floats, rows: Floats, name: str) -> Before | None:
    """What is known of a ranked column from all that comes before it; None where parameters make no model."""
    at = places.names.index(name)
    district = next(d for d in places.districts if at in d.members)
    known = lines_and_errors(places, district, theta, rows)
    if known is None:
        return None
    line, omega = known
    earlier = {places.names.index(v) for v in places.graph.ancestors(name)} - {at}
    own = {i: k for k, i in enumerate(district.members)}
    seen = [i for i in district.plain if i in earlier]
    cut = [i for i in district.cut if i in earlier]
    left = [own[i] for i in (*cut, at)]
    mean, spread = line[:, left], omega[np.ix_(left, left)]
    if seen:
        given = [own[i] for i in seen]
        slope = np.linalg.solve(omega[np.ix_(given, given)], omega[np.ix_(given, left)])
        mean = mean + (rows[:, seen] - line[:, given]) @ slope
        spread = spread - omega[np.ix_(left, given)] @ slope
    ends = ends_of(places, district, theta, rows, cut, mean[:, :-1])
    sd = np.sqrt(np.diag(spread))
    R = spread / np.outer(sd, sd)
    if ends is None or (len(R) > 1 and np.linalg.eigvalsh(R)[0] < BORDER):
        return None
    low, high = (end / sd[:-1] for end in ends)
    return Before(name, mean[:, -1], float(sd[-1]), low, high, R[:-1, :-1], R[-1, :-1])


def in_mixture(margin: Margin, mixture: Mixture) -> Margin:
    """The margin of a ranked column whose variable has this distribution."""
    raw = mixture.places(np.concatenate([margin.middle, margin.below]))
    scores, cuts = raw[: len(margin.values)], raw[len(margin.values) :]
    mean = float(margin.shares @ scores)
    sd = float(np.sqrt(margin.shares @ (scores - mean) ** 2))
    return replace(margin, mean=mean, sd=sd, given_cuts=cuts, given_scores=(scores - mean) / sd)


def with_ranks(places: Places, theta: Floats, values: Floats, weights: Floats) -> Places | None:
    """The same model with ranked columns where its own parameters put them; None where these make no model."""
    margins = dict(places.margins)
    rows = in_units(places.names, values, margins, places.centre, places.scale)
    for v in mixed_ranks(places.graph, margins):
        before, k = before_of(places, theta, rows, v), places.names.index(v)
        if before is None:
            return None
        margins[v] = in_mixture(margins[v], mixture_of(before, weights))
        rows[:, k] = margins[v].behind(values[:, k])
    return replace(places, margins=margins)
