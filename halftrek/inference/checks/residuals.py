"""What the model leaves unexplained: R² of each equation, residual correlations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.given.options import needs_whole
from halftrek.estimation.space import make_space
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.dimension import information_rank
from halftrek.inference.information.influence import Forms
from halftrek.inference.information.information import DistrictInformation, district_information
from halftrek.inference.information.robust import cluster_correction, counts_units, unit_squares
from halftrek.inference.information.tangent import Part, Tangent, error_variances, tangent
from halftrek.queries.gradients import Gradient
from halftrek.simulation import random_model

LARGE = 50_000_000  # numbers to hold; beyond, residuals have no z


@dataclass(frozen=True)
class Explained:
    """The share of a variable's variance that its equation explains; nan where data do not determine it."""

    variable: str
    r2: float
    error_variance: float
    variance: float
    note: str = ""


@dataclass(frozen=True)
class Residual:
    """Observed and implied correlation of a pair, their difference, and the standardised residual z.

    z is the residual covariance over its standard error; nan where the model reproduces any covariance of the pair.
    ``test``: "robust t" needs no normal data, and counts clusters; its z is Student's t.
    """

    lhs: str
    rhs: str
    observed: float
    implied: float
    residual: float
    z: float
    p: float
    test: Literal["z", "robust t"] = "z"


def explained(fit: Fitted) -> list[Explained]:
    """R² of every variable that has a cause: ``1 - error variance / variance`` of the fitted model.

    Hidden causes with loadings of their own explain; what a hidden cause of two variables, or a bidirected edge, adds
    is part of the error.
    """
    model = fit.model
    loaded = set(make_space(fit.graph, model.names, fit.options).C_at[:, 1].tolist())
    errors = error_variances(fit)
    if needs_whole(fit.graph):
        return _explained_as_one(fit, errors)
    # at the estimates R² may stand still along a direction that data leave open; at a random point it does not
    anywhere = replace(fit, model=random_model(fit.graph, noise=dict(fit.options.noise), random_state=1), patterns=None)
    unclear = [(at, d) for at in (replace(fit, patterns=None), anywhere) for d in _unclear(at)]
    rows = []
    for j, v in enumerate(model.names):
        if not fit.graph.parents(v) and j not in loaded:
            continue
        total = float(model.cov[j, j])
        if all(_determined(at, j, d) for at, d in unclear):
            rows.append(Explained(v, 1.0 - float(errors[j]) / total, float(errors[j]), total))
        else:
            nan = float("nan")
            rows.append(Explained(v, nan, nan, total, "not determined by data"))
    return rows


def _explained_as_one(fit: Fitted, errors: Floats) -> list[Explained]:
    """The same where all parameters are one block: hidden variables with causes."""
    model, p = fit.model, len(fit.model.names)
    rows = []
    for j, v in enumerate(model.names):
        if not fit.graph.parents(v) and not fit.graph.latent_parents(v):
            continue
        error, total, reach = float(errors[j]), float(model.cov[j, j]), model.B[:, j]
        own = np.zeros((p, p))
        own[j, j] = 1.0 / total
        share = error / total**2
        by_arrow, by_error = 2.0 * np.outer(model.cov[:, j], reach), np.outer(reach, reach)
        moved = Gradient(share * by_arrow, share * by_error - own, np.zeros(p))
        if np.isnan(kind_of_data(fit).variances(fit, (moved,), "expected")[0]):
            rows.append(Explained(v, float("nan"), float("nan"), total, "not determined by data"))
        else:
            rows.append(Explained(v, 1.0 - error / total, error, total))
    return rows


def _unclear(fit: Fitted) -> list[DistrictInformation]:
    """Districts with directions that data do not determine."""
    return [d for d in district_information(fit) if information_rank(d.matrix) < len(d.matrix)]


def _determined(fit: Fitted, j: int, block: DistrictInformation) -> bool:
    """Does R² use only such directions of a district's parameters as data determine?"""
    error = float(error_variances(fit)[j])
    model, p = fit.model, len(fit.model.names)
    reach, total = model.B[:, j], float(model.cov[j, j])
    moved = Gradient(2.0 * np.outer(model.cov[:, j], reach), np.outer(reach, reach), np.zeros(p))
    change = (error / total**2) * block.pull(moved, np.zeros(p))
    shape = block.task.shape
    if j in block.task.variables and block.task.variables.index(j) in shape.noisy:
        own = np.zeros(shape.parameters)
        member = block.task.variables.index(j)
        scale = block.scale[shape.slots :][member] ** 2
        own[shape.at.v.start + shape.noisy.index(member)] = error if shape.loadings else scale
        link = block.state.problem.link
        change = change - (own if link is None else own @ link[0]) / total
    return not np.isnan(block.spread(change))


def residuals(fit: Fitted, robust: bool | None = None) -> list[Residual]:
    """Residual correlations, largest misfit first.

    Correlations are compared each on its own scale (lavaan's "cor.bollen"); z is of the covariances (lavaan's
    "standardized"). Models of some hundred variables have no z (it needs too much room), nor have those with held
    intercepts, nor weighted least squares. Where values are missing the unrestricted maximum stands for the sample's
    covariances; pairs that no row has both of have none.

    ``robust``: errors from independent units (rows, or clusters), for data that are not normal; left out: for clusters.
    """
    from scipy.special import ndtr, stdtr

    by_units = counts_units(fit, robust, "residuals()")
    model, data = fit.implied, kind_of_data(fit)
    S = data.unrestricted(fit).cov
    observed, implied = np.where(data.known_pairs(fit), correlations(S), np.nan), correlations(model.cov)
    errors = data.residual_errors(fit)
    with np.errstate(invalid="ignore", divide="ignore"):
        restricted = errors > np.sqrt(data.residual_zero / fit.n * _size(S))
        if fit.method == "dwls":  # their errors are those of maximum likelihood
            restricted = np.zeros_like(restricted)
        errors, df = _unit_errors(fit, S, restricted) if by_units else (errors, np.inf)
        z = np.where(restricted, (S - model.cov) / errors, np.nan)
    rows: list[Residual] = []
    for i, lhs in enumerate(model.names):
        for j in range(i + 1, len(model.names)):
            here = float(z[i, j])
            gap = float(observed[i, j] - implied[i, j])
            p = 2.0 * float(stdtr(df, -abs(here)) if by_units else ndtr(-abs(here)))
            pair = float(observed[i, j]), float(implied[i, j])
            rows.append(Residual(lhs, model.names[j], *pair, gap, here, p, "robust t" if by_units else "z"))
    return sorted(rows, key=lambda r: -abs(r.residual) if r.residual == r.residual else 0.0)


def _unit_errors(fit: Fitted, S: Floats, restricted: Flags) -> tuple[Floats, float]:
    """Standard errors of residual covariances from independent units, and how many of these less one."""
    i, j = np.nonzero(np.triu(restricted))
    errors = np.full_like(S, np.nan)
    if not len(i):
        return errors, np.inf
    (squares,), units = unit_squares(fit, [kind_of_data(fit).residual_scores(fit, i, j)])
    errors[i, j] = errors[j, i] = np.sqrt(squares * cluster_correction(int(units)) / fit.n)
    return errors, units - 1.0


def district_scores(fit: Fitted, i: Ints, j: Ints) -> Forms:
    """What each row adds to the residual covariances of these pairs, where moments are complete."""
    directions, H = _followed(tangent(fit))
    p = len(fit.model.names)
    square = -np.einsum("ka,kij->aij", directions[:, i, j], H)
    each = np.arange(len(i))
    square[each, i, j] += 0.5
    square[each, j, i] += 0.5
    return Forms(np.arange(p), np.zeros((len(i), p)), square)


def _size(S: Floats) -> Floats:
    """The variance, times n, of each covariance of a sample."""
    return np.asarray(np.outer(np.diag(S), np.diag(S)) + S**2)


def district_errors(fit: Fitted) -> Floats:
    """Standard errors of residual covariances; nan if they need too much room, or if means count."""
    base, S = tangent(fit), fit.moments.cov
    size = sum(len(part.information) for part in base.parts) * len(S) ** 2
    if size >= LARGE or base.means:
        return np.full_like(S, np.nan)
    return np.asarray(np.sqrt(np.maximum(residual_variances(base, S), 0.0) / fit.n))


def residual_variances(base: Tangent, S: Floats) -> Floats:
    """Asymptotic variance, times n, of each residual covariance ``tr(M_ij E)``, E the sampling error of S.

    ``M_ij`` is the pair itself less what the parameters follow, ``sum_k d_k[i, j] H_k``, with ``d_k`` orthonormal
    directions of Sigma in the metric of the information, ``H_k = Sigma^-1 d_k Sigma^-1 / 2``; var tr(M E) = 2 tr(MSMS).
    A parameter's entry moves Sigma by ``l r' + r l'``, so that H and its traces need vectors only, and no matrices.
    """
    p, inverse, reach = len(S), np.linalg.inv(base.cov), base.B.T @ base.omega
    i, j = np.triu_indices(p)
    crossed = np.zeros(len(i))
    moved, mixing, q, s = [], [], [], []
    for part in base.parts:
        vectors, values = part.directions()
        mix = (vectors / np.sqrt(values))[part.owner]
        left, right = part.X @ reach.T, base.B[part.at]
        own_q, own_s = left @ inverse, right @ inverse
        moved.append(mix.T @ _pairs(left, right, i, j))
        crossed += (moved[-1] * (mix.T @ _pairs(own_q @ S, own_s @ S, i, j))).sum(axis=0)
        mixing.append(mix)
        q.append(own_q)
        s.append(own_s)
    Q, R, directions = np.concatenate(q), np.concatenate(s), np.concatenate(moved)
    QS, QR = Q @ S, Q @ S @ R.T
    traces = 0.5 * ((QS @ Q.T) * (R @ S @ R.T) + QR * QR.T)
    overlap = _mixed(mixing, _mixed(mixing, traces).T)
    twice = 2.0 * (directions * (overlap @ directions)).sum(axis=0)
    found = np.empty((p, p))
    found[i, j] = found[j, i] = twice - 2.0 * crossed
    return np.asarray(_size(S) + found)


def _pairs(left: Floats, right: Floats, i: Ints, j: Ints) -> Floats:
    """``l r' + r l'`` of each line, at some pairs."""
    return np.asarray(left[:, i] * right[:, j] + right[:, i] * left[:, j])


def _mixed(mixing: list[Floats], matrix: Floats) -> Floats:
    """A block-diagonal matrix, transposed, times another."""
    ends = np.cumsum([0, *(len(block) for block in mixing)])
    return np.concatenate([block.T @ matrix[a:b] for block, a, b in zip(mixing, ends, ends[1:], strict=False)])


def _followed(base: Tangent) -> tuple[Floats, Floats]:
    """Orthonormal directions ``d_k`` of the implied covariance, and ``H_k``, which tell how far it follows S."""
    reach = base.B.T @ base.omega
    directions = np.concatenate([_orthonormal(base, part, reach) for part in base.parts])
    inverse = np.linalg.inv(base.cov)
    return directions, 0.5 * (inverse @ directions @ inverse)


def _orthonormal(base: Tangent, part: Part, reach: Floats) -> Floats:
    """How a part's parameters move Sigma, as directions that carry one unit of information each; reach is B' Omega."""
    vectors, values = part.directions()
    left, right = reach @ part.X.T, base.B[part.at].T
    moved = part.sum_up(np.einsum("ia,ja->aij", left, right))
    moved = ((vectors / np.sqrt(values)).T @ moved.reshape(len(moved), len(reach) ** 2)).reshape(-1, *moved.shape[1:])
    return np.asarray(moved + moved.transpose(0, 2, 1))


def correlations(cov: Floats) -> Floats:
    """A covariance matrix on the scale of correlations."""
    sd = np.sqrt(np.diag(cov))
    return np.asarray(cov / np.outer(sd, sd))
