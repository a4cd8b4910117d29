"""Moments that no maximum likelihood can be computed from, found before the fit and explained."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.words import listed
from halftrek.data import Moments
from halftrek.data.check import flat
from halftrek.errors import DataError
from halftrek.graphs import Graph
from halftrek.models.kernels import quiet, share_left, shares_left

FAR = 1e3  # standard deviations; beyond, moments about zero lose too many digits
WIDE = 300  # variables, from which factoring the whole covariance is no longer cheap
SINGULAR = 1e-10  # share of a variable's variance that the others must leave unexplained


def well_posed(cov: Floats, n: float | Floats) -> Flags:
    """For each covariance: is it safely positive definite?"""
    b, p = cov.shape[:2]
    if b == 1 and cov[0].trace() < np.inf:  # the usual case, without the care for others in the batch
        try:
            with quiet():
                return np.asarray((np.asarray(n) > p) & (share_left(cov[0]) > SINGULAR)).reshape(1)
        except np.linalg.LinAlgError:
            return np.zeros(1, dtype=bool)
    enough = np.broadcast_to(np.asarray(n) > p, (b,))
    if not enough.any():
        return np.zeros(b, dtype=bool)
    with np.errstate(invalid="ignore"):
        good = np.asarray((np.diagonal(cov, axis1=1, axis2=2) > 0.0).all(axis=1))
        if not good.all():
            cov = np.where(good[:, None, None], cov, np.eye(p))
        return np.asarray(enough & good & (shares_left(cov) > SINGULAR))


def well_posed_in_parts(graph: Graph, moments: Moments) -> bool:
    """True if each district with its parents is safely positive definite, which is all that a fit needs.

    In a wide graph this costs a small part of what factoring the whole covariance does. False says nothing.
    """
    p = len(moments.names)
    if p < WIDE or moments.names != graph.observed:
        return False
    parts = _neighbourhoods(graph, moments.names)
    if sum(len(at) * at.shape[1] ** 2 for at in parts) > p * p // 4:  # a giant district
        return False
    return all(_all_posed(moments.cov, at, moments.n) for at in parts)


def _all_posed(cov: Floats, at: Ints, n: float) -> bool:
    """Whether each stretch of places has a safely positive definite covariance; a place repeated is none."""
    spare = np.zeros(at.shape, dtype=bool)
    spare[:, 1:] = at[:, 1:] == at[:, :-1]
    parts = np.where(spare[:, :, None] | spare[:, None, :], np.eye(at.shape[1]), cov[at[:, :, None], at[:, None, :]])
    return bool(n > at.shape[1] and (shares_left(parts) > 1e2 * SINGULAR).all())


@lru_cache(maxsize=16)
def _neighbourhoods(graph: Graph, names: tuple[str, ...]) -> tuple[Ints, ...]:
    """Places of the members and parents of each district, districts of about the same size in one array."""
    place = {v: i for i, v in enumerate(names)}
    by_width: dict[int, list[list[int]]] = {}
    for members in graph.districts:
        local = sorted({place[u] for v in members for u in (v, *graph.parents(v))})
        width = 1 << (len(local) - 1).bit_length()
        by_width.setdefault(width, []).append(local + local[-1:] * (width - len(local)))
    return tuple(np.array(rows, dtype=np.intp) for rows in by_width.values())


def refuse_far_means(moments: Moments, graph: Graph, fixed: set[str]) -> None:
    """Raise if a fixed intercept has to be reached over a mean that is too many standard deviations away from zero."""
    near = {w for v in fixed for member in graph.district(v) for w in (member, *graph.parents(member))}
    for v in sorted(near, key=moments.names.index):
        i = moments.names.index(v)
        sd = float(np.sqrt(moments.cov[i, i]))
        if abs(moments.mean[i]) > FAR * sd:
            raise DataError(
                f"the mean of {v!r} is {abs(moments.mean[i]) / sd:.1g} standard deviations from zero, too far to fit "
                f"with the fixed intercept of {listed(sorted(fixed), 3)}. Shift {v!r} nearer to zero"
            )


def refuse_dependent(moments: Moments, graph: Graph) -> None:
    """Raise a DataError that names the variables, unless every district can still be fitted.

    With fewer rows than variables the covariance is singular, but districts and their parents may be small enough.
    """
    names, cov = moments.names, moments.cov
    at = {v: i for i, v in enumerate(names)}
    if not np.isfinite(cov).all():
        bad = names[int(np.argmax(~np.isfinite(cov).all(axis=0)))]
        raise DataError(f"the covariance of {bad!r} is not finite; remove or repair its missing and infinite values")
    for v, constant in zip(names, flat(moments.mean, np.diag(cov)), strict=True):
        if constant:
            raise DataError(f"{v!r} is constant, so it has no effect and no cause here; take it out of the graph")
    for members in graph.districts:
        local = [*members, *(u for v in members for u in graph.parents(v))]
        local = list(dict.fromkeys(local))
        if moments.n <= len(local):
            raise DataError(
                f"{moments.n:g} rows are too few to fit {listed(members, 4)} with "
                f"{len(local)} variables in their equations; get more rows or a smaller graph"
            )
        grid = [at[v] for v in local]
        sub = cov[np.ix_(grid, grid)]
        scale = np.sqrt(np.diag(sub))
        values, vectors = np.linalg.eigh(sub / np.outer(scale, scale))
        if values[0] <= SINGULAR:
            heavy = [v for v, weight in zip(local, vectors[:, 0], strict=True) if abs(weight) > 1e-3][:6]
            if values[0] < -1e-8:
                raise DataError(
                    f"the covariance is not positive definite: see {listed(heavy)}. Check for typing "
                    f"errors, rounding, or correlations computed on different rows"
                )
            if len(heavy) == 2:
                raise DataError(
                    f"{heavy[0]!r} and {heavy[1]!r} are perfectly correlated: one is a copy of the other up to scale. "
                    f"Take one of them out of the graph"
                )
            raise DataError(
                f"{listed(heavy)} are collinear: one is an exact linear function of the others. "
                f"Take one of them out of the graph"
            )
