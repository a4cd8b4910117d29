"""The mean of a column, given that others are in categories or in ranges.

Given the values that were seen, the outcome's variable y* and those of the events are normal; the events are boxes of
standard variables z along their directions. So the mean is a function of y*'s mean and variance, its covariances with
z, the correlations of z and the ends of the boxes. It is differentiated in these by differences, and by the chain rule
in the means and covariances of the model's variables.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.models import CGLSCM
from halftrek.queries.derivatives import Gradient
from halftrek.queries.kinds.statistics import conditional_of
from halftrek.queries.kinds.terms import Statistic
from halftrek.queries.normal.conditional import Conditional
from halftrek.queries.normal.events import Box, direction_box
from halftrek.queries.observed.boxes import MOST, Boxed
from halftrek.queries.observed.units import DETERMINED, all_cuts, in_bins, mean_values

STEP = 1e-4  # to either side, in standard deviations
MANY = 20_000  # ranks beyond which they are taken in bins, even if one event is given


@dataclass(frozen=True, eq=False)
class GivenEvents:
    """A mean ``E[y | values, events]`` of one variable in one model; ``margin`` is y's, None for a plain one."""

    found: Conditional
    box: Box
    whole: Margin | None

    @property
    def margin(self) -> Margin | None:
        """That of the outcome, with ranks in bins where integrals are made for each."""
        many = len(self.box.names) > 1 or (self.whole is not None and len(self.whole.values) > MANY)
        return in_bins(self.whole) if many and self.whole is not None else self.whole

    @property
    def boxed(self) -> Boxed:
        """The events as boxes of standard variables, and the outcome last."""
        at, mean, cov = [k + 1 for k in self.box.names], self.found.mean, self.found.cov
        along = cov[0, at] / np.sqrt(np.diag(cov)[at])
        whole = np.block([[self.box.correlations, along[:, None]], [along[None, :], cov[:1, :1]]])
        left = cov[0, 0] - along @ np.linalg.solve(self.box.correlations, along)
        low, high = (np.array([[e.at for e in ends]]) for ends in (self.box.low, self.box.high))
        middle = np.append(np.zeros(len(at)), mean[0])[None]
        return Boxed(middle, whole, low, high, bool(left < DETERMINED * cov[0, 0]))

    @property
    def value(self) -> float:
        """The mean."""
        value = float(mean_values(self.boxed, self.margin)[0, 0])
        if np.isnan(value):
            raise QueryError(f"{self.found.question}: what stands behind the bar next to never happens in this model")
        return value

    @property
    def near(self) -> float:
        """The mean with few points, always the same: for differences."""
        return float(mean_values(replace(self.boxed, coarse=True), self.margin)[0, 0])

    def slope(self) -> Gradient:
        """How it moves with the parameters of the model."""
        start = replace(self.boxed, coarse=True)
        size, cov = len(start.cov) - 1, self.found.cov
        by_mean, by_cov = np.zeros(len(cov)), np.zeros_like(cov)
        scale = float(np.sqrt(cov[0, 0]))

        def slope(part: str, at: tuple[int, ...], unit: float) -> float:
            ends = []
            for step in (STEP * unit, -STEP * unit):
                moved = getattr(start, part).copy()
                moved[at] += step
                if part == "cov" and at[0] != at[1]:
                    moved[at[::-1]] += step
                ends.append(float(mean_values(replace(start, **{part: moved}), self.margin)[0, 0]))
            return (ends[0] - ends[1]) / (2.0 * STEP * unit)

        by_mean[0] = slope("mean", (0, size), scale)
        by_cov[0, 0] = 0.0 if start.exact else slope("cov", (size, size), scale**2)
        for k, name in enumerate(self.box.names):
            i, own = name + 1, float(cov[name + 1, name + 1])
            turn = slope("cov", (k, size), scale)
            by_cov[0, i] += turn / (2.0 * np.sqrt(own))
            by_cov[i, 0] += turn / (2.0 * np.sqrt(own))
            by_cov[i, i] -= turn * float(start.cov[k, size]) / (2.0 * own)
            for m in range(k):
                j, other = self.box.names[m] + 1, float(cov[self.box.names[m] + 1, self.box.names[m] + 1])
                turn, r = slope("cov", (k, m), 1.0), float(start.cov[k, m])
                by_cov[i, j] += turn / (2.0 * np.sqrt(own * other))
                by_cov[j, i] += turn / (2.0 * np.sqrt(own * other))
                by_cov[i, i] -= turn * r / (2.0 * own)
                by_cov[j, j] -= turn * r / (2.0 * other)
            for part, end in (("low", self.box.low[k]), ("high", self.box.high[k])):
                if np.isfinite(end.at):
                    turn, o = slope(part, (0, k), 1.0), end.owner + 1
                    by_mean[o] -= turn * end.sign / np.sqrt(cov[o, o])
                    by_cov[o, o] -= turn * end.at / (2.0 * cov[o, o])
        return self.found.pull(by_mean, by_cov)

    def cut_slopes(self) -> Floats:
        """How it moves with the cuts of the outcome."""
        margin, whole = self.margin, self.whole
        assert margin is not None
        assert whole is not None  # asked of an outcome with cuts
        up, down = (replace(self.boxed, coarse=True).below(margin.cuts + step)[0] for step in (STEP, -STEP))
        return all_cuts(-(up - down) / (2.0 * STEP) * np.diff(margin.values), whole, margin)


def chances_below(of: str, found: Conditional, low: Floats, high: Floats, cuts: Floats) -> tuple[Floats, Floats]:
    """The probabilities that the first variable lies below cuts, given that the next lie in boxes, and its densities.

    Zero where these boxes cannot occur.
    """
    size = len(low) + 1
    box = direction_box(found.mean[1:size], found.root[:, 1:size], low, high)
    if box.empty:
        return np.zeros(len(cuts)), np.zeros(len(cuts))
    if len(box.names) > MOST:
        raise QueryError(f"{of}: {MOST} columns in categories may come out by chance; hold some of them")
    scale = float(np.sqrt(max(found.cov[0, 0], 0.0)))
    if scale == 0.0:
        raise QueryError(f"{of} does not vary here, so that it has one value; ask for another outcome")
    boxed = GivenEvents(found, box, None).boxed
    below, up, down = (boxed.below(cuts + step)[0] for step in (0.0, STEP * scale, -STEP * scale))
    return np.nan_to_num(below), np.nan_to_num((up - down) / (2.0 * STEP * scale))


def given_events(query: Statistic, model: CGLSCM, margin: Margin | None) -> GivenEvents | None:
    """The mean that a translated question asks for; None if its events surely happen."""
    found = conditional_of(query, model)
    ends = (np.array([getattr(e, side) for e in query.case.events]) for side in ("low", "high"))
    box = direction_box(found.mean[1:], found.root[:, 1:], *ends)
    if box.empty:
        raise QueryError(f"{query}: what stands behind the bar has probability zero in this model")
    if len(box.names) > MOST:
        raise QueryError(f"{query}: {MOST} columns in categories may be seen at once; leave some of them out")
    if len(box.names) > 1 and np.linalg.eigvalsh(box.correlations)[0] < DETERMINED:
        raise QueryError(f"{query}: some of what stands behind the bar determines the rest; leave one of them out")
    if not found.cov[0, 0] > 0.0:
        raise QueryError(f"{query.of[0]} does not vary here, so that it has one value; ask for another outcome")
    return GivenEvents(found, box, margin) if box.names else None
