"""How one row moves an answer: a quadratic form in the row, by implicit differentiation of the fit.

In a district ``F(theta; G)`` is linear in the second moments G, so that a row z adds ``z z' - G`` to them and moves the
maximum by ``-H^-1`` times the gradient of ``F(theta; z z')``. Along a direction v, with K the inverse of Omega:

    v' grad F(theta; z z') = z' (A dK A' + A K dA' + dA K A') z + constant,    dK = -K dOmega K
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.district.block import directions, fisher
from halftrek.estimation.plan import PAD, make_plan
from halftrek.inference.checks.edges.scores import RowForms
from halftrek.inference.information.information import FLAT, DistrictInformation, district_information, solved
from halftrek.inference.standard_errors.delta import with_intercepts
from halftrek.queries.gradients import Gradient

FEW = 64  # forms up to which each multiplies the rows by itself
PRODUCTS = 4_000_000  # products of columns that are held at a time, where forms are more


class Scores(RowForms, Protocol):
    """Functions of a row whose moments are known where rows are normal."""

    def parts(self, mean: Floats) -> Iterator[tuple[float, Forms]]:
        """Shares of the rows, and the forms of each, for rows with this mean, less that of the fit's moments."""

    def normal_spread(self, other: Self, mean: Floats, cov: Floats) -> Floats:
        """Mean squares of the first form, and of the first less another's, over normal rows with these moments."""


@dataclass(frozen=True, eq=False)
class Forms:
    """Several functions ``l'x + x'Qx - tr(Q S)`` of a centred row, over the columns ``at``; nan where undetermined."""

    at: Ints
    linear: Floats
    square: Floats

    def __len__(self) -> int:
        return len(self.linear)

    def values(self, centred: Floats, cov: Floats) -> Floats:
        """One column for each form; ``centred`` and ``cov`` have all columns of the model."""
        X, S = centred[:, self.at], cov[np.ix_(self.at, self.at)]
        found = X @ self.linear.T - np.tensordot(self.square, S, axes=((1, 2), (0, 1)))
        if len(self) <= FEW:  # one product of matrices each; no table of all products of columns
            for k, Q in enumerate(self.square):
                found[:, k] += ((X @ Q) * X).sum(axis=1)
            return np.asarray(found)
        i, j = np.triu_indices(len(self.at))
        weights = (self.square[:, i, j] * np.where(i == j, 1.0, 2.0)).T
        for first in range(0, len(X), step := max(1, PRODUCTS // max(1, len(i)))):
            some = X[first : first + step]
            found[first : first + step] += (some[:, i] * some[:, j]) @ weights
        return np.asarray(found)

    def parts(self, mean: Floats) -> Iterator[tuple[float, Forms]]:  # noqa: ARG002 (complete rows are about their own)
        """All rows are alike."""
        yield 1.0, self

    def normal_spread(self, other: Forms, mean: Floats, cov: Floats) -> Floats:  # noqa: ARG002 (as above)
        """Mean squares of the first form, and of it less that of others, over normal rows with this covariance."""
        V = forms_covariance([self, other], cov)
        return np.array([V[0, 0], V[0, 0] + V[len(self), len(self)] - 2.0 * V[0, len(self)]])

    def normal_variances(self, cov: Floats) -> Floats:
        """Variance of each form under normal rows with this covariance."""
        S = cov[np.ix_(self.at, self.at)]
        QS = self.square @ S
        return np.asarray(((self.linear @ S) * self.linear).sum(axis=1) + 2.0 * np.einsum("kij,kji->k", QS, QS))

    def normal_moments(self, cov: Floats) -> tuple[Floats, Floats]:
        """Variance and third moment of each form under normal rows with this covariance."""
        S = cov[np.ix_(self.at, self.at)]
        QS = self.square @ S
        slope = self.linear
        bent = (((slope @ S)[:, None] @ QS)[:, 0] * slope).sum(axis=1)
        third = 8.0 * np.einsum("kij,kji->k", QS @ QS, QS) + 6.0 * bent
        return self.normal_variances(cov), np.asarray(third)


def whole_forms(scores: Scores) -> Forms:
    """The forms of complete rows, which are all alike."""
    assert isinstance(scores, Forms)  # asked for only where moments suffice
    return scores


def forms_covariance(parts: Sequence[Forms], cov: Floats) -> Floats:
    """Covariances of forms (all parts one after the other) under normal rows with this covariance."""
    p = len(cov)
    linear, square = np.zeros((0, p)), np.zeros((0, p, p))
    for forms in parts:
        wide, full = np.zeros((len(forms), p)), np.zeros((len(forms), p, p))
        wide[:, forms.at] = forms.linear
        full[:, forms.at] = forms.square @ cov[forms.at]  # all columns: other forms are about other variables
        linear, square = np.concatenate([linear, wide]), np.concatenate([square, full])
    turned = square.transpose(0, 2, 1).reshape(len(square), -1)
    return np.asarray(linear @ cov @ linear.T + 2.0 * square.reshape(len(square), -1) @ turned.T)


def influence(fit: Fitted, gradients: tuple[Gradient, ...]) -> Forms:
    """How a row, times n, moves numbers with these gradients; nan where data do not determine them."""
    p = len(fit.model.names)
    linear, square = np.zeros((len(gradients), p)), np.zeros((len(gradients), p, p))
    pulled = [with_intercepts(fit, g) for g in gradients]
    used = np.zeros(p, dtype=bool)
    for k, (g, intercepts) in enumerate(pulled):
        linear[k] = g.mean
        used |= g.T.any(axis=0) | g.omega.any(axis=0) | (intercepts != 0.0)
    for block in district_information(fit, "observed", touching=used):
        along = np.stack([direction(block, block.pull(g, intercepts)) for g, intercepts in pulled])
        forms = score_forms(fit, block, -along)
        linear[:, forms.at] += forms.linear
        square[:, forms.at[:, None], forms.at] += forms.square
    at = np.flatnonzero(linear.any(axis=0) | square.any(axis=(0, 1)))
    return Forms(at, linear[:, at], square[:, at][:, :, at])


def direction(block: DistrictInformation, pulled: Floats) -> Floats:
    """``I^-1 g`` for the information of a district; nan if g needs what data do not determine."""
    return solved(block.matrix, *informed(block), pulled) if pulled.any() else np.zeros_like(pulled)


def informed(block: DistrictInformation) -> tuple[Floats, Floats]:
    """Directions of the free parameters that data say something of, and those of which they say nothing.

    Read from the Fisher information: along a curve of equal likelihood the Hessian is zero only to rounding.
    """
    matrix = 0.5 * fisher(block.state)[0]
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    informative = values > FLAT * values[-1]
    return vectors[:, informative] / scale[:, None], vectors[:, ~informative] / scale[:, None]


def score_forms(fit: Fitted, block: DistrictInformation, along: Floats, mean: Floats | None = None) -> Forms:
    """Half the gradient of F at one row, along directions of the district's free parameters (one a line).

    The row is moved from the mean of the data to ``mean`` first, if one is given.
    """
    shape, state, m = block.task.shape, block.state, block.task.shape.slots
    link = state.problem.link
    full = along if link is None else along @ link[0].T
    T, K = state.T[0], state.K[0]
    A = np.concatenate([-T, np.eye(shape.size)])
    dA = np.zeros((len(full), *A.shape))
    dA[:, np.arange(m), shape.at.column] = -full[:, :m]
    half = np.zeros((len(full), shape.size, shape.size))
    U = directions(state)[0]
    for a, j in enumerate(shape.at.target[m:]):
        half[:, :, j] += full[:, m + a, None] * U[a]
    dK = -K @ (half + half.transpose(0, 2, 1)) @ K
    bend = dA @ K @ A.T
    square = 0.5 * (A @ dK @ A.T + bend + bend.transpose(0, 2, 1))
    L, constant = _sources(fit, block, fit.moments.mean if mean is None else mean)
    at = np.flatnonzero(L.any(axis=0))
    L = L[:, at]
    return Forms(at, 2.0 * constant @ square @ L, L.T @ square @ L)


def _sources(fit: Fitted, block: DistrictInformation, mean: Floats) -> tuple[Floats, Floats]:
    """Slots and members of a district as ``L (x - mean) + constant``."""
    task, names = block.task, fit.model.names
    p = len(names)
    plan = make_plan(fit.graph, names, fit.options, raw=bool(fit.options.intercepts))
    mixing = np.eye(p + 1) if plan.mixing is None else plan.mixing
    where = [*task.slots, *task.members]
    L = np.zeros((len(where), p))
    constant = np.zeros(len(where))
    full = np.append(mean, 1.0)
    for s, source in enumerate(where):
        if source != PAD:
            L[s] = mixing[:p, source] / block.scale[s]
            constant[s] = full @ mixing[:, source] / block.scale[s] if task.about_origin else 0.0
    return L, constant
