"""Every direction in which a fitted model's covariance can move, district by district.

A parameter a of T, Omega or C moves the covariance of the errors by ``D_a = x_a e_j' + e_j x_a'`` (its T moves counted
in), with K x_a a column of B for a coefficient, of K for an error covariance, ``K c`` for a loading. Per row of data

    I_ab = 1/2 tr(K D_a K D_b) = (K x_a)[j_b] (K x_b)[j_a] + (x_a' K x_b) K[j_a, j_b]

and, where intercepts are held, ``w_a w_b K[j_a, j_b]`` for the means, w the mean of the cause (1 for an intercept).
Coefficients that are not in the graph have directions of the same form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.estimation import Fitted
from halftrek.estimation.plan import make_plan
from halftrek.estimation.space import Space, make_space
from halftrek.inference.information.information import FLAT, refuse_missing


@dataclass(frozen=True, eq=False)
class Part:
    """The entries of one district's parameters: ``X`` (rows K x), targets ``at``, mean weights ``w``.

    ``owner`` says which free parameter an entry belongs to; entries that share a label have one owner. ``parameters``
    are the places of the free parameters in the model's space.
    """

    variables: Ints
    parameters: Ints
    X: Floats
    at: Ints
    w: Floats
    owner: Ints
    information: Floats

    def sum_up(self, entries: Floats) -> Floats:
        """Sums over the entries of each free parameter (first axis)."""
        total = np.zeros((len(self.information), *entries.shape[1:]))
        np.add.at(total, self.owner, entries)
        return total

    def directions(self) -> tuple[Floats, Floats]:
        """Combinations of the free parameters that data tell about, and the information on each."""
        scale = np.sqrt(np.maximum(np.diag(self.information), 1e-300))
        values, vectors = np.linalg.eigh(self.information / np.outer(scale, scale))
        informative = values > FLAT * max(float(values[-1]), 1e-300) if len(values) else values > 0.0
        return vectors[:, informative] / scale[:, None], values[informative]


@dataclass(frozen=True, eq=False)
class Tangent:
    """A fitted model's matrices and the parts of its tangent space. ``means``: intercepts are held, so means count."""

    B: Floats
    K: Floats
    omega: Floats
    cov: Floats
    W: Floats
    C: Floats
    mean: Floats
    means: bool
    parts: tuple[Part, ...]


def error_variances(fit: Fitted) -> Floats:
    """Variances of the errors, without hidden causes that have loadings."""
    space = make_space(fit.graph, fit.model.names, fit.options)
    explicit = fit.model.C[list(space.latents)]
    return np.asarray(np.diag(fit.model.omega - explicit.T @ explicit))


def tangent(fit: Fitted) -> Tangent:
    """The tangent space of a fit at its estimates."""
    refuse_missing(fit)
    model = fit.model
    space = make_space(fit.graph, model.names, fit.options)
    explicit = model.C[list(space.latents)]
    omega = model.omega
    K = np.linalg.inv(omega)
    means = bool(fit.options.intercepts)
    X, at, w, owner = entries_of(space, model.B, K, explicit, model.mean, means)
    plan = make_plan(fit.graph, model.names, fit.options, raw=True)
    home = np.zeros(len(model.names), dtype=np.intp)
    members = [np.array(task.variables, dtype=np.intp) for task in plan.every_task]
    for d, variables in enumerate(members):
        home[variables] = d
    by_home = np.argsort(home[at], kind="stable")
    edges = np.searchsorted(home[at][by_home], np.arange(len(members) + 1))
    parts = []
    for d, variables in enumerate(members):
        rows = by_home[edges[d] : edges[d + 1]]
        own, short = np.unique(owner[rows], return_inverse=True)
        parts.append(_part(variables, own, X[rows], at[rows], w[rows], short, omega, K))
    return Tangent(
        model.B, K, omega, model.cov, omega - explicit.T @ explicit, explicit, model.mean, means, tuple(parts)
    )


def entries_of(
    space: Space, B: Floats, K: Floats, C: Floats, mean: Floats, means: bool
) -> tuple[Floats, Ints, Floats, Ints]:
    """One line for each entry of T, W, C (and mu): K x, target, mean weight, parameter."""
    p = len(space.names)
    (u, v, a), (i, j, b), (k, c, d) = space.T_at.T, space.W_at.T, space.C_at.T
    half = np.where(i == j, 0.5, 1.0)[:, None]
    X = [B[:, u].T, K[i] * half, (C @ K)[k]]
    at, owner = [v, j, c], [a, b, d]
    w = [mean[u] if means else np.zeros(len(u)), np.zeros(len(i) + len(k))]
    if means:
        free, _, e = space.mu_at.T
        X.append(np.zeros((len(free), p)))
        at.append(free)
        owner.append(e)
        w.append(np.ones(len(free)))
    return np.concatenate(X), np.concatenate(at), np.concatenate(w), np.concatenate(owner)


def _part(
    variables: Ints, parameters: Ints, X: Floats, at: Ints, w: Floats, owner: Ints, omega: Floats, K: Floats
) -> Part:
    return Part(variables, parameters, X, at, w, owner, information_of(X, at, w, owner, len(parameters), omega, K))


def information_of(X: Floats, at: Ints, w: Floats, owner: Ints, free: int, omega: Floats, K: Floats) -> Floats:
    """The information of a row about free parameters, from the entries of each."""
    cross = X[:, at]
    entries = cross * cross.T + (X @ omega @ X.T + np.outer(w, w)) * K[np.ix_(at, at)]
    information = np.zeros((free, free))
    np.add.at(information, (owner[:, None], owner[None, :]), entries)
    return information
