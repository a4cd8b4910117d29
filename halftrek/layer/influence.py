"""How one row, times n, moves the means, covariances and cuts of a layer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Codes, Floats, Ints
from halftrek.layer.layer import Layer
from halftrek.layer.muthen import moved_covariance, moved_mean, moves_of
from halftrek.layer.polychoric import cell_influence, padded_cuts
from halftrek.layer.polyserial import Serial


@dataclass(frozen=True, eq=False)
class RowInfluence:
    """Of rows as they were read: one column for each column of the layer, nan for holes."""

    layer: Layer

    def means(self, values: Floats) -> Floats:
        """Of the means: those of plain columns; nothing moves the others, which are 0."""
        have = np.diag(self.layer.have)
        found = np.zeros(values.shape)
        for j, margin in enumerate(self.layer.margins):
            if margin.kind == "plain":
                moved = moved_mean(self.layer, j, values)
                found[:, j] = np.nan_to_num(values[:, j] - margin.mean) / have[j] if moved is None else moved
        return found * self.layer.larger

    def cuts(self, values: Floats, column: int, weights: Floats) -> Floats:
        """Of the cuts of a column, summed with these weights."""
        margin, have = self.layer.margins[column], float(self.layer.have[column, column])
        return margin.cut_influence(values[:, column], weights) * (self.layer.larger / have)

    def products(self, values: Floats, at: Ints) -> Floats:
        """Of the covariances of some columns: one column for each pair ``np.triu_indices(len(at))``."""
        seen = self._seen(values)
        first, second = np.triu_indices(len(at))
        found = np.zeros((len(values), len(first)))
        for k, (i, j) in enumerate(zip(at[first], at[second], strict=True)):
            a, b = self.layer.margins[i], self.layer.margins[j]
            moved = moved_covariance(self.layer, int(i), int(j), values)
            if moved is not None:
                found[:, k] = moved
            elif i == j:
                found[:, k] = self._variance(seen, int(i)) if a.kind == "plain" else 0.0
            elif a.cut and b.cut:
                found[:, k] = self._ordered(seen, min(i, j), max(i, j))
            elif a.cut or b.cut:
                found[:, k] = self._serial(seen, *((j, i) if a.cut else (i, j)))
            else:
                found[:, k] = self._smooth(seen, int(i), int(j))
        return found * self.layer.larger

    # -- pairs -----------------------------------------------------------------------------------

    def _seen(self, values: Floats) -> _Seen:
        codes = [m.codes(values[:, j]) if m.cut else None for j, m in enumerate(self.layer.margins)]
        z = [None if m.cut else m.behind(values[:, j]) for j, m in enumerate(self.layer.margins)]
        return _Seen(codes, z)

    def _variance(self, seen: _Seen, i: int) -> Floats:
        z = seen.behind(i)
        return np.asarray(np.nan_to_num(self.layer.cov[i, i] * (z**2 - 1.0)) / self.layer.have[i, i])

    def _ordered(self, seen: _Seen, i: int, j: int) -> Floats:
        scores, of_first, of_second, place = self._tables
        k = place[i, j]
        a, b = seen.category(i), seen.category(j)
        return np.asarray(scores[k, a, b] - of_first[k, a] - of_second[k, b])

    def _serial(self, seen: _Seen, i: int, j: int) -> Floats:
        """Continuous or ranked with ordered."""
        layer, pair = self.layer, self._pairs[i, j]
        margin, z, codes = layer.margins[i], seen.behind(i), seen.category(j)
        have, own, others = layer.have[i, j], layer.have[i, i], layer.have[j, j]
        known = ~np.isnan(z)
        both = known & (codes >= 0)
        found = np.zeros(len(z))
        found[both] = pair.score(z[both], codes[both]) / (pair.information * have)
        found -= self._category_part(j, pair.cut_weights)[codes] / others
        if margin.kind == "ranked":
            found[known] += pair.rank_part(z[known]) / own
            return found
        a, b = pair.plain_weights()
        square = np.where(known, z**2 - 1.0, 0.0)
        found += (np.where(known, a * z, 0.0) + b * square) / own
        sd = float(layer.scale[i])
        return np.asarray(sd * (found + 0.5 * pair.r * square / own))

    def _smooth(self, seen: _Seen, i: int, j: int) -> Floats:
        """Continuous or ranked with the like."""
        layer = self.layer
        r, have, scale = layer.correlations[i, j], layer.have, layer.scale
        x, y = seen.behind(i), seen.behind(j)
        found = np.nan_to_num(x * y - r) / have[i, j]
        for k, z in ((i, x), (j, y)):
            if layer.margins[k].kind == "ranked":
                found -= 0.5 * r * np.nan_to_num(z**2 - 1.0) / have[k, k]
        return np.asarray(scale[i] * scale[j] * found)

    # -- what rows look up -----------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], Serial]:
        margins = self.layer.margins
        return {
            (i, j): Serial(b.cuts, float(self.layer.correlations[i, j]))
            for i, a in enumerate(margins)
            for j, b in enumerate(margins)
            if b.cut and not a.cut
        }

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats, dict[tuple[int, int], int]]:
        """For each pair of ordered columns: by cell, and by the category of either; the last category is a hole."""
        margins, have = self.layer.margins, self.layer.have
        where = [j for j, m in enumerate(margins) if m.cut]
        first, second = np.triu_indices(len(where), 1)
        cuts = padded_cuts([margins[j] for j in where])
        r = np.array([self.layer.correlations[where[a], where[b]] for a, b in zip(first, second, strict=True)])
        score, of_first, of_second = cell_influence(cuts[first], cuts[second], r)
        size = cuts.shape[1] + 1
        scores = np.zeros((len(r), size + 1, size + 1))
        parts = np.zeros((2, len(r), size + 1))
        place: dict[tuple[int, int], int] = {}
        for k, (a, b) in enumerate(zip(first, second, strict=True)):
            i, j = where[a], where[b]
            place[i, j] = k
            scores[k, :size, :size] = score[k] / have[i, j]
            for side, (column, weights) in enumerate(((i, of_first[k]), (j, of_second[k]))):
                own = self._category_part(column, weights[: len(margins[column].cuts)]) / have[column, column]
                parts[side, k, : len(own) - 1] = own[:-1]
        return scores, parts[0], parts[1], place

    def _category_part(self, column: int, weights: Floats) -> Floats:
        """The influence of each category on the cuts, summed with these weights; the last is a hole."""
        margin = self.layer.margins[column]
        return np.append(margin.cut_influence(margin.values, weights), 0.0)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Rows as categories and as standard variables, whichever suits a column."""

    codes: list[Codes | None]
    z: list[Floats | None]

    def category(self, column: int) -> Codes:
        found = self.codes[column]
        assert found is not None
        return found

    def behind(self, column: int) -> Floats:
        found = self.z[column]
        assert found is not None
        return found


def with_weights(layer: Layer, values: Floats, weights: Floats, n: float) -> Layer:
    """The layer with means over n rows in the place of expectations, n - 1 for n, and weights of its covariances."""
    p, w = len(layer.names), weights / weights.sum()
    found, spread = (
        replace(layer, moves=moves_of(layer, values, weights), larger=float(np.sqrt(n / (n - 1.0)))),
        np.zeros((p, p)),
    )
    i, j = np.triu_indices(p)
    spread[i, j] = spread[j, i] = w @ RowInfluence(found).products(values, np.arange(p)) ** 2
    return replace(found, spread=spread)
