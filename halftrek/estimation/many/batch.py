"""Many moment sets of one graph, fitted in one array program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.bottom.choices import Intercepts, Noise
from halftrek.bottom.portable import Portable
from halftrek.data import Moments
from halftrek.errors import DataError, GraphError
from halftrek.estimation.district.district import Settings
from halftrek.estimation.fit import LOG_2PI, MAX_ITER, select
from halftrek.estimation.given.checks import well_posed
from halftrek.estimation.given.options import needs_whole, resolve_options
from halftrek.estimation.plan import make_plan
from halftrek.estimation.solve import Solution, solve_plan
from halftrek.estimation.status import WORSE, Code
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, total_effects
from halftrek.upward import Faces

_BY_DATA_SET = ("T", "C", "W", "mu", "loglik", "code")


@dataclass(frozen=True, eq=False, repr=False)
class BatchFit(Portable, Faces):
    """Fitted parameters of many data sets, arrays with a leading batch axis.

    ``code`` has a status code for each; "failed" where the moments were unusable, with NaN for every parameter.
    """

    graph: Graph
    names: tuple[str, ...]
    latents: tuple[str, ...]
    T: Floats
    C: Floats
    W: Floats
    mu: Floats
    loglik: Floats
    code: NDArray[np.str_]

    @property
    def converged(self) -> Flags:
        """Where a maximum was reached."""
        return np.isin(self.code, ("converged", "boundary", "flat"))

    @cached_property
    def omega(self) -> Floats:
        """Covariances of the error terms with hidden causes in them."""
        return np.asarray(self.C.transpose(0, 2, 1) @ self.C + self.W)

    @cached_property
    def B(self) -> Floats:
        """Total effects."""
        failed = np.asarray(np.isnan(self.T).any(axis=(1, 2)))
        safe = np.where(failed[:, None, None], 0.0, self.T)
        total = total_effects(safe)
        total[failed] = np.nan
        return total

    @cached_property
    def cov(self) -> Floats:
        """Implied covariances of the observed variables."""
        return np.asarray(self.B.transpose(0, 2, 1) @ self.omega @ self.B)

    @cached_property
    def mean(self) -> Floats:
        """Implied means of the observed variables."""
        return np.asarray((self.mu[:, None, :] @ self.B)[:, 0])

    def take(self, rows: Ints) -> BatchFit:
        """Some of the data sets."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _BY_DATA_SET})

    def total_effect(self, cause: str, effect: str) -> Floats:
        """The total effect in each data set."""
        return np.asarray(self.B[:, self.names.index(cause), self.names.index(effect)])

    def model(self, i: int) -> CGLSCM:
        """The fitted model of one data set."""
        if self.code[i] == "failed":
            raise DataError(f"data set {i} could not be fitted: its covariance is not positive definite")
        return CGLSCM(self.names, self.T[i], self.C[i], self.mu[i], self.W[i], self.latents, self.graph)

    def __len__(self) -> int:
        return len(self.loglik)

    def __iter__(self) -> Iterator[CGLSCM]:
        return (self.model(i) for i in range(len(self)))

    def __repr__(self) -> str:
        return (
            f"<BatchFit of {len(self)} data sets, {len(self.names)} variables: {int(self.converged.sum())} converged>"
        )


def joined(parts: Sequence[BatchFit]) -> BatchFit:
    """Fits of the same graph to several batches as one."""
    if len(parts) == 1:
        return parts[0]
    whole: dict[str, Any] = {name: np.concatenate([getattr(p, name) for p in parts]) for name in _BY_DATA_SET}
    return replace(parts[0], **whole)


def collected(parts: Iterable[BatchFit], most: int) -> BatchFit:
    """As :func:`joined`, for parts that come one after the other and need not be held beside their sum."""
    whole: dict[str, Any] = {}
    done, known = 0, None
    for part in parts:
        if known is None:
            known = part
            whole = {n: np.empty((most, *getattr(part, n).shape[1:]), getattr(part, n).dtype) for n in _BY_DATA_SET}
        for name, array in whole.items():
            array[done : done + len(part)] = getattr(part, name)
        done += len(part)
    if known is None:
        raise DataError("there is no moment set to fit")
    return replace(known, **{name: array[:done] for name, array in whole.items()})


def fit_batch(
    graph: Graph,
    moments: Sequence[Moments] | None = None,
    *,
    cov: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    n: ArrayLike | None = None,
    noise: Noise = "free",
    intercepts: Intercepts = "free",
    starts: int | None = None,
    max_iter: int = MAX_ITER,
    start: Floats | None = None,
    few_rows: bool = False,
) -> BatchFit:
    """Fit a graph to many moment sets: a list of ``Moments``, or arrays ``cov (b, p, p)``, ``mean (b, p)``, ``n``.

    Arrays are in the order of ``graph.observed``; ``start`` holds coefficients to begin one more start with. Data sets
    that reject the graph are searched again from elsewhere, unless ``starts=1``; one that falls short of its moments
    though the graph does not restrict them counts as "not converged". ``few_rows``: all have so few that districts
    without bows are fitted from several starts, too.
    """
    if needs_whole(graph):
        raise GraphError(
            "many data sets at once are fitted district by district, which hidden variables with causes and equal "
            "variances or intercepts do not allow; fit one after the other, or groups with ht.fit(graph, data, by=...)"
        )
    names = graph.observed
    S, m, rows = _arrays(graph, moments, cov, mean, n)
    plan = make_plan(graph, names, resolve_options(graph, noise, intercepts))
    good = np.flatnonzero(well_posed(S, rows))
    code = np.full(len(S), "failed", dtype="<U17")
    settings = Settings(starts, max_iter, few_rows=few_rows, start=start, rows=rows[good], again=starts != 1)
    part = solve_plan(plan, S[good], m[good], settings) if len(good) else None
    parameters = {k: _spread(getattr(part, k, None), good, len(S), shape) for k, shape in _shapes(plan.latents, names)}
    loglik = np.full(len(S), np.nan)
    if part is not None:
        loglik[good] = -0.5 * rows[good] * (len(names) * LOG_2PI + part.value)
        code[good] = _codes(part, len(good))
    return BatchFit(graph, names, plan.latents, **parameters, loglik=loglik, code=code)


def _arrays(
    graph: Graph,
    moments: Sequence[Moments] | None,
    cov: ArrayLike | None,
    mean: ArrayLike | None,
    n: ArrayLike | None,
) -> tuple[Floats, Floats, Floats]:
    p = len(graph.observed)
    if moments is not None:
        if cov is not None or mean is not None or n is not None:
            raise DataError("a list of moments brings cov, mean and n: leave these out")
        if not len(moments):
            raise DataError("there is no moment set to fit")
        chosen = [select(m, graph) for m in moments]
        return (
            np.stack([m.cov for m in chosen]),
            np.stack([m.mean for m in chosen]),
            np.array([m.n for m in chosen], float),
        )
    if cov is None or n is None:
        raise DataError("give a list of moments, or cov of the shape (b, p, p) with n")
    S = np.asarray(cov, dtype=float)
    if S.ndim != 3 or S.shape[1:] != (p, p):
        raise DataError(f"cov must have the shape (b, {p}, {p}), in the order {graph.observed}, not {S.shape}")
    m = np.zeros((len(S), p)) if mean is None else np.asarray(mean, dtype=float)
    if m.shape != (len(S), p):
        raise DataError(f"mean must have the shape {(len(S), p)}, not {m.shape}")
    return S, m, np.broadcast_to(np.asarray(n, dtype=float), (len(S),))


def _shapes(latents: tuple[str, ...], names: tuple[str, ...]) -> list[tuple[str, tuple[int, ...]]]:
    p, q = len(names), len(latents)
    return [("T", (p, p)), ("C", (q, p)), ("W", (p, p)), ("mu", (p,))]


def _spread(values: Floats | None, rows: Ints, b: int, shape: tuple[int, ...]) -> Floats:
    if values is not None and len(rows) == b:
        return values
    full = np.full((b, *shape), np.nan)
    if values is not None:
        full[rows] = values
    return full


def _codes(solution: Solution, b: int) -> NDArray[np.str_]:
    """The worst code over the districts, for each member of the batch."""
    code = np.full(b, "converged", dtype="<U17")
    for _, rows, piece in solution.pieces:
        found: dict[Code, Flags] = {  # as in WORSE
            "flat": piece.flat[rows] > 0,
            "boundary": piece.boundary[rows],
            "no finite maximum": piece.ridge[rows],
            "not converged": ~piece.converged[rows] & ~piece.ridge[rows] | piece.unexplained[rows],
        }
        for level, word in enumerate(found, start=1):
            code[found[word] & np.isin(code, WORSE[:level])] = word
    return code
