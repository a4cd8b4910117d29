"""Gaussian linear structural causal models: the general form and the centralized one of the paper."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from halftrek import upward
from halftrek.bottom.arrays import Floats
from halftrek.bottom.portable import Portable
from halftrek.errors import ModelError, QueryError
from halftrek.graphs import Graph, did_you_mean
from halftrek.models.gaussian import Gaussian, frozen, spread_units
from halftrek.models.rows import Rows
from halftrek.upward import Faces

if TYPE_CHECKING:
    from halftrek.queries import Query
    from halftrek.results.answers import Answer


WIDE = 500  # variables; from here on a sweep along the edges is quicker than products of whole matrices


@dataclass(frozen=True, eq=False, repr=False)
class CGLSCM(Portable, Faces):
    """A centralized Gaussian linear SCM: ``x_j = Σ T[i,j] x_i + Σ C[k,j] u_k + mu_j + eps_j``.

    Hidden causes ``u ~ N(0, I)``; errors ``eps ~ N(0, W)`` where ``W`` has the noise variances ``psi`` on its diagonal
    and the free error covariances of bidirected edges elsewhere. With ``B = (I - T)^-1`` and ``Omega = C'C + W``:
    ``x ~ N(B'mu, B' Omega B)``. Arrays are read-only, in the order of ``names`` (rows of ``C``: of ``latents``).
    """

    names: tuple[str, ...]
    T: Floats
    C: Floats
    mu: Floats
    W: Floats
    latents: tuple[str, ...] = ()
    graph: Graph = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        p, q = len(self.names), len(self.latents)
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "latents", tuple(self.latents))
        for attribute, shape in (("T", (p, p)), ("C", (q, p)), ("mu", (p,)), ("W", (p, p))):
            array = frozen(getattr(self, attribute))
            if array.size == 0 and attribute == "C":
                array = frozen(np.zeros(shape))
            if array.shape != shape:
                raise ModelError(
                    f"{attribute} must have the shape {shape} for {p} variables and {q} latents, not {array.shape}"
                )
            if not np.isfinite(array.sum()) and not np.isfinite(array).all():
                raise ModelError(f"{attribute} holds a value that is not finite")
            object.__setattr__(self, attribute, array)
        if self.graph is None:
            object.__setattr__(self, "graph", _graph_of(self.names, self.T, self.C, self.W, self.latents))

    @staticmethod
    def from_parameters(
        *,
        names: Sequence[str],
        T: ArrayLike,
        C: ArrayLike | None = None,
        mu: ArrayLike | None = None,
        psi: ArrayLike | None = None,
        latents: Sequence[str] | None = None,
        omega: Mapping[tuple[str, str], float] | ArrayLike | None = None,
        graph: Graph | None = None,
    ) -> CGLSCM:
        """A known model. Left out: no hidden causes, zero intercepts, unit noise variances.

        ``omega`` gives the error covariances of bidirected edges, as ``{("x", "y"): 0.3}`` or as a matrix whose
        off-diagonal entries count. Without ``graph`` the edges are the entries that are not zero.
        """
        p = len(names)
        direct = np.asarray(T, dtype=float)
        loadings = np.zeros((0, p)) if C is None else np.atleast_2d(np.asarray(C, dtype=float))
        hidden = [f"U{k + 1}" for k in range(len(loadings))] if latents is None else list(latents)
        noise = np.ones(p) if psi is None else np.asarray(psi, dtype=float)
        if direct.shape != (p, p):
            raise ModelError(f"T must have the shape {(p, p)} for {p} names, not {direct.shape}")
        if noise.shape != (p,):
            raise ModelError(f"psi must have one entry for each of the {p} names, not the shape {noise.shape}")
        if (noise < 0).any() or not np.isfinite(noise).all():
            bad = names[int(np.argmax(~(noise >= 0)))]
            raise ModelError(f"the noise variance (psi) of {bad!r} must be a number that is not negative")
        W = np.diag(noise)
        for (i, j), value in _pairs_of(omega, list(names)).items():
            W[i, j] = W[j, i] = value
        units = np.sqrt(np.where(noise > 0.0, noise, 1.0))
        if np.linalg.eigvalsh(W / np.outer(units, units))[0] < -1e-10 or W[noise == 0.0].any():
            raise ModelError(
                "the error covariances are too large for the noise variances: their matrix is not positive definite"
            )
        means = np.zeros(p) if mu is None else np.asarray(mu, dtype=float)
        return CGLSCM(tuple(names), direct, loadings, means, W, tuple(hidden), graph)  # type: ignore[arg-type]

    # -- what follows from the parameters --------------------------------------------------------

    @property
    def psi(self) -> Floats:
        """Noise variances."""
        return frozen(np.diag(self.W))

    @cached_property
    def memory(self) -> dict[Hashable, Any]:
        """What questions came to; it stays behind when the model travels."""
        return {}

    @cached_property
    def B(self) -> Floats:
        """Total effects, ``(I - T)^-1``."""
        if len(self.names) < WIDE:
            return frozen(total_effects(self.T))
        return frozen(self._swept(np.eye(len(self.names))).T)

    @cached_property
    def omega(self) -> Floats:
        """Covariance of the error terms with the hidden causes in them, ``C'C + W``."""
        return frozen(self.C.T @ self.C + self.W)

    @cached_property
    def mean(self) -> Floats:
        """Implied means of the observed variables."""
        return frozen(self.B.T @ self.mu)

    @cached_property
    def cov(self) -> Floats:
        """Implied covariance of the observed variables."""
        if len(self.names) < WIDE:
            return frozen(self.B.T @ self.omega @ self.B)
        found = self._swept(self._swept(self.omega).T)
        return frozen(0.5 * (found + found.T))

    def _swept(self, rows: Floats) -> Floats:
        """``B'`` times some rows, one for each variable, from causes to effects: as quick as T is sparse."""
        place = {v: i for i, v in enumerate(self.names)}
        order = [place[v] for v in self.graph.topological_order]
        effects, causes = np.nonzero(self.T.T)
        rank = np.argsort(order)
        if not (rank[causes] < rank[effects]).all():  # T goes beyond the graph
            return np.asarray(total_effects(self.T).T @ rows)
        weights = self.T[causes, effects]
        ends = np.searchsorted(effects, np.arange(len(order) + 1)).tolist()
        found = rows.copy()
        for j in order:
            own = slice(ends[j], ends[j + 1])
            if own.start < own.stop:
                found[j] += weights[own] @ found[causes[own]]
        return found

    @property
    def joint(self) -> Gaussian:
        """Distribution of the observed variables."""
        return Gaussian(self.names, self.mean, self.cov)

    def distribution(self, names: str | Iterable[str]) -> Gaussian:
        """Distribution of some observed variables."""
        return self.joint.marginal(names)

    # -- what can be done with it ----------------------------------------------------------------

    def do(self, values: Mapping[str, float]) -> CGLSCM:
        """The model in which some variables are held at values: their equations are replaced by constants."""
        at = [self._place(v) for v in values]
        T, C, W, mu = self.T.copy(), self.C.copy(), self.W.copy(), self.mu.copy()
        T[:, at] = 0.0
        C[:, at] = 0.0
        W[at, :] = 0.0
        W[:, at] = 0.0
        for i, (v, x) in zip(at, values.items(), strict=True):
            if not np.isfinite(float(x)):
                raise QueryError(f"do({v}={x}): the value must be a finite number")
            mu[i] = float(x)
        return CGLSCM(self.names, T, C, mu, W, self.latents, _cut(self.graph, set(values)))

    def total_effect(self, cause: str, effect: str) -> float:
        """Change of ``effect`` when ``cause`` is raised by one by intervention."""
        return float(self.B[self._place(cause), self._place(effect)])

    def sample(self, n: int, random_state: int | np.random.Generator | None = None) -> Rows:
        """``n`` rows drawn equation by equation from the errors upwards, columns in the order of ``names``.

        Hidden variables have no column.
        """
        rng = np.random.default_rng(random_state)
        p, q = len(self.names), len(self.latents)
        draws = rng.standard_normal((n, q + p))
        errors = draws[:, :q] @ self.C + draws[:, q:] @ _root(self.W).T
        rows = (self.mu + errors) @ self.B
        if not self.graph.hidden:
            return Rows(rows, self.names)
        seen = [v for v in self.names if v not in self.graph.hidden]
        return Rows(rows[:, [self.names.index(v) for v in seen]], tuple(seen))

    def query(self, question: str | Query) -> Answer:
        """The exact answer of this model to a question in text, for instance ``"P(y | do(x=1))"``."""
        return upward.answer(self, question)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the model as JSON; ``ht.load`` gives it back to the last bit."""
        return upward.save(self, path, overwrite=overwrite)

    def counterfactual(self, rows: object, do: Mapping[str, object], outcome: str | Sequence[str]) -> Any:
        """What the outcome would have been for each unit: mean and ``noise_sd``, exact; see ``Fit.counterfactual``."""
        return upward.counterfactual(self, rows, do, outcome)

    def __repr__(self) -> str:
        hidden = f", hidden: {len(self.latents)}" if self.latents else ""
        return f"<CGLSCM of {len(self.names)} variables{hidden}>"

    def reorder(self, names: Sequence[str]) -> CGLSCM:
        """The same model with its variables in another order."""
        at = [self._place(v) for v in names]
        if sorted(at) != list(range(len(self.names))):
            raise ModelError("reorder takes every variable of the model once")
        grid = np.ix_(at, at)
        return CGLSCM(tuple(names), self.T[grid], self.C[:, at], self.mu[at], self.W[grid], self.latents, self.graph)

    def _place(self, variable: str) -> int:
        try:
            return self.names.index(variable)
        except ValueError:
            raise QueryError(f"the model has no variable {variable!r}.{did_you_mean(variable, self.names)}") from None


@dataclass(frozen=True, eq=False, repr=False)
class GLSCM(Portable, Faces):
    """A Gaussian linear SCM before centralization (Definition 2.1): hidden causes and errors have means and spreads.

    ``x_j = Σ T[i,j] x_i + Σ C[k,j] u'_k + mu_j + eps'_j`` with ``u'_k ~ N(latent_mean[k], latent_var[k])`` and
    ``eps'_j ~ N(noise_mean[j], psi[j])``. All spreads are variances.
    """

    names: tuple[str, ...]
    T: Floats
    C: Floats
    mu: Floats
    psi: Floats
    latents: tuple[str, ...] = ()
    latent_mean: Floats | None = None
    latent_var: Floats | None = None
    noise_mean: Floats | None = None

    def __repr__(self) -> str:
        hidden = f", hidden: {len(self.latents)}" if self.latents else ""
        return f"<GLSCM of {len(self.names)} variables{hidden}>"

    def centralize(self) -> CGLSCM:
        """The CGL-SCM with the same graph, observational and interventional distributions (Theorem 2.3).

        ``c = c' * sd(U')`` (the paper prints the variance), ``mu = mu' + C' E[U'] + E[eps']``.
        """
        p, q = len(self.names), len(self.latents)
        C = np.asarray(self.C, dtype=float).reshape(q, p)
        means = np.zeros(q) if self.latent_mean is None else np.asarray(self.latent_mean, dtype=float)
        variances = np.ones(q) if self.latent_var is None else np.asarray(self.latent_var, dtype=float)
        shift = np.zeros(p) if self.noise_mean is None else np.asarray(self.noise_mean, dtype=float)
        if means.shape != (q,) or variances.shape != (q,) or shift.shape != (p,):
            raise ModelError("latent_mean and latent_var need one entry per latent, noise_mean one per variable")
        if (variances < 0).any():
            raise ModelError(f"the variance of {self.latents[int(np.argmin(variances))]!r} is negative")
        return CGLSCM.from_parameters(
            names=self.names,
            T=self.T,
            C=np.sqrt(variances)[:, None] * C,
            mu=np.asarray(self.mu, dtype=float) + means @ C + shift,
            psi=self.psi,
            latents=self.latents,
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the model as JSON; ``ht.load`` gives it back to the last bit."""
        return upward.save(self, path, overwrite=overwrite)


def total_effects(T: ArrayLike) -> Floats:
    """``B = I + T + T² + … = (I - T)^-1``, of one matrix or of a stack of them.

    For an acyclic T the sum ends, and ``(I + T)(I + T²)(I + T⁴) …`` has all of it in a few products. Every entry is a
    sum over paths, so its digits do not depend on the units of other variables, as those of an inverse do.
    """
    power = np.asarray(T)
    power = power if power.dtype.kind == "c" else power.astype(float, copy=False)
    size = power.shape[-1]
    identity = np.eye(size)
    total, steps = identity + power, 2
    while steps < 2 * size:
        power = power @ power
        if not power.any():
            return np.asarray(total)
        total = total + total @ power
        steps *= 2
    return np.asarray(np.linalg.inv(identity - np.asarray(T)))  # a cycle


def direct_effects(B: ArrayLike) -> Floats:
    """``T = I - B^-1``, for a B that is the inverse of some ``I - T``."""
    total = np.asarray(B, dtype=float)
    return np.asarray(np.eye(len(total)) - np.linalg.inv(total))


def cgl_edge(B: ArrayLike, graph: Graph, names: Sequence[str] | None = None) -> Floats:
    """Edge weights from total effects (Algorithm 2, CGL-Edge), for any B, also one that no T gives exactly.

    For each variable i, its children k in causal order: ``t_ik = b_ik - Σ_{children j before k} t_ij b_jk``.
    """
    total = np.asarray(B, dtype=float)
    order = tuple(graph.observed if names is None else names)
    place = {v: i for i, v in enumerate(order)}
    rank = {v: i for i, v in enumerate(graph.topological_order)}
    T = np.zeros_like(total)
    for v in order:
        done: list[int] = []
        for child in sorted(graph.children(v), key=rank.__getitem__):
            i, k = place[v], place[child]
            T[i, k] = total[i, k] - sum(T[i, j] * total[j, k] for j in done)
            done.append(k)
    return T


def _root(W: Floats) -> Floats:
    if not np.count_nonzero(W - np.diag(np.diag(W))):
        return np.asarray(np.diag(np.sqrt(np.maximum(np.diag(W), 0.0))))
    units = spread_units(np.diag(W))
    values, vectors = np.linalg.eigh(W / np.outer(units, units))
    return np.asarray(units[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _places_of(pair: object, names: list[str]) -> tuple[int, int]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise ModelError(f"omega has {pair!r} where a pair of variables belongs, such as ({names[0]!r}, {names[-1]!r})")
    for v in pair:
        if v not in names:
            raise ModelError(f"omega names {v!r}, which the model does not have.{did_you_mean(str(v), names)}")
    return names.index(pair[0]), names.index(pair[1])


def _covariance_of(pair: tuple[str, str], value: SupportsFloat) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"omega has {value!r} for the pair {pair!r}; give a number") from None


def _pairs_of(omega: object, names: list[str]) -> dict[tuple[int, int], float]:
    if omega is None:
        return {}
    if isinstance(omega, Mapping):
        return {_places_of(pair, names): _covariance_of(pair, v) for pair, v in omega.items()}
    matrix = np.asarray(omega, dtype=float)
    p = len(names)
    if matrix.shape != (p, p) or not np.allclose(matrix, matrix.T, rtol=1e-5, atol=0.0):
        raise ModelError(f"omega must be a symmetric matrix of the shape {(p, p)}")
    return {(i, j): float(matrix[i, j]) for i in range(p) for j in range(i) if matrix[i, j] != 0.0}


def _graph_of(names: tuple[str, ...], T: Floats, C: Floats, W: Floats, latents: tuple[str, ...]) -> Graph:
    arrows = [(names[i], names[j]) for i, j in np.argwhere(T != 0.0)]
    arcs = [(names[j], names[i]) for i, j in np.argwhere(np.tril(W, -1) != 0.0)]
    hidden = {u: [names[j] for j in np.flatnonzero(row)] for u, row in zip(latents, C, strict=True)}
    return Graph(arrows, arcs, hidden, names)


def _cut(graph: Graph, held: set[str]) -> Graph:
    arrows = [(u, v) for u, v in graph.directed if v not in held]
    arcs = [(u, v) for u, v in graph.bidirected if u not in held and v not in held]
    hidden = {u: [c for c in kids if c not in held] for u, kids in graph.latents.items()}
    return graph.with_(directed=arrows, bidirected=arcs, latents=hidden)
