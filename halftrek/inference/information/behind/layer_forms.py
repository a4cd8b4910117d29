"""Functions of a row where normal variables are behind columns: what the row adds to cuts and moments, in its place.

A form ``l'x + x'Qx - tr(QS)`` says how a row moves a number through the mean and the covariance. Behind ordered and
ranked columns there is no x; the row moves the number by ``l'IF_mean + tr(Q IF_S)``, and through the cuts besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.layer import Layer, RowInfluence

if TYPE_CHECKING:
    from halftrek.queries.observed.values import Seen

ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class LayerForms:
    """Several such functions of a row as it was read, less the means of plain columns.

    ``cuts`` has, by column, weights of its cuts: a line for each function.
    """

    layer: Layer
    linear: Floats
    square: Floats
    cuts: Mapping[str, Floats] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.linear)

    @property
    def at(self) -> Ints:
        """All columns."""
        return np.arange(len(self.layer.names))

    @cached_property
    def _influence(self) -> RowInfluence:
        return RowInfluence(self.layer)

    @property
    def _used(self) -> Ints:
        return np.flatnonzero(self.square.any(axis=(0, 1)))

    def values(self, centred: Floats, cov: Floats) -> Floats:  # noqa: ARG002 (that of the layer is its own)
        """One column for each form."""
        rows, used = centred + self.layer.mean, self._used
        i, j = np.triu_indices(len(used))
        weights = self.square[:, used[i], used[j]] * np.where(i == j, 1.0, 2.0)
        found = self._influence.products(rows, used) @ weights.T
        found += self._influence.means(rows) @ self.linear.T
        for name, lines in self.cuts.items():
            column = self.layer.names.index(name)
            for k, line in enumerate(lines):
                if line.any():
                    found[:, k] += self._influence.cuts(rows, column, line)
        return np.asarray(found)


def as_read(fit: Fitted, forms: Sequence[RowForms]) -> Sequence[RowForms]:
    """The same forms for the rows of a fit as they were read: others only where a layer is behind these."""
    layer = fit.moments.layer
    if layer is None:
        return forms
    return [form if isinstance(form, LayerForms) else layer_form(layer, form) for form in forms]


def layer_form(layer: Layer, form: RowForms, cuts: Mapping[str, Floats] | None = None) -> LayerForms:
    """A form of the variables behind as one of the columns; its coefficients are what it makes of unit rows."""
    p, scale = len(layer.names), layer.scale
    unit = np.eye(p)
    i, j = np.triu_indices(p, 1)
    probes = np.concatenate([np.zeros((1, p)), unit, -unit, unit[i] + unit[j]])
    found = form.values(probes * scale, layer.cov)
    nothing, up, down, both = found[0], found[1 : p + 1], found[p + 1 : 2 * p + 1], found[2 * p + 1 :]
    linear, square = ((up - down) / 2.0).T / scale, np.zeros((len(form), p, p))
    at = np.arange(p)
    square[:, at, at] = ((up + down) / 2.0 - nothing).T
    square[:, i, j] = square[:, j, i] = ((both - up[i] - up[j] + nothing) / 2.0).T
    size = np.maximum(np.abs(linear * scale).max(axis=1), np.abs(square).max(axis=(1, 2)))
    square = np.where(np.abs(square) < ROUNDING * size[:, None, None], 0.0, square)
    return LayerForms(layer, linear, square / np.outer(scale, scale), {} if cuts is None else cuts)


def answer_form(layer: Layer, seen: Sequence[Seen], form: RowForms) -> LayerForms:
    """How a row moves numbers on the scale of the columns; ``form`` is how it moves them through the moments."""
    columns = dict.fromkeys(v for one in seen for v in one.cuts)
    cuts = {v: np.stack([_line(one.cuts.get(v), layer, v) for one in seen]) for v in columns}
    return layer_form(layer, form, cuts)


def _line(weights: Floats | None, layer: Layer, name: str) -> Floats:
    return np.zeros(len(layer.margins[layer.names.index(name)].cuts)) if weights is None else weights
