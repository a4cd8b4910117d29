"""CGL-Go (Algorithm 1 of the paper), line by line, on the moments of the rows.

The algorithm loops over training examples, but its E-step is affine in each row and its M-step objective quadratic, so
every sum over rows depends on them only through their number, means and covariance. The gradient is taken over all rows
at once instead of one after the other; the stationary points are the same, and the step may be checked to go uphill.

The paper's letters: ``T`` direct effects, ``B = (I - T)^-1`` total effects, ``C`` effects of the hidden causes, ``mu``
intercepts; the noise variances are held at one, as in the paper. ``A = B^-1``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Mask
from halftrek.errors import DataError, GraphError, InputError
from halftrek.graphs import Graph, did_you_mean
from halftrek.models import CGLSCM, cgl_edge, frozen

if TYPE_CHECKING:
    from halftrek.data import Moments

MAX_ROUNDS = 5_000


@dataclass(frozen=True, eq=False)
class CGLGoResult:
    """What Algorithm 1 found, and the edge weights that Algorithm 2 reads off it.

    ``loglik`` is the log-likelihood of the observed rows under this ``B``, ``C``, ``mu``. With ``mask="ancestor"`` no
    ``T`` gives exactly this ``B``, so ``model``, which is built from ``T`` as in the paper, has another likelihood.
    """

    graph: Graph
    mask: Mask
    B: Floats
    C: Floats
    mu: Floats
    T: Floats
    loglik: float
    iterations: int
    converged: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The observed variables, in the order of the arrays."""
        return self.graph.observed

    @property
    def latents(self) -> tuple[str, ...]:
        """The hidden causes, in the order of the rows of ``C``."""
        return tuple(self.graph.latents)

    @property
    def model(self) -> CGLSCM:
        """The model with the edge weights ``T`` of Algorithm 2, from which the paper answers its queries."""
        return CGLSCM(self.names, self.T, self.C, self.mu, np.eye(len(self.names)), self.latents, self.graph)


class HiddenMoments(NamedTuple):
    """What the E-step leaves: averages over rows of the hidden causes given each row."""

    mean: Floats  # average of E[U|x]
    with_x: Floats  # covariance over rows of x with E[U|x], p × q
    square: Floats  # average of Cov[U|x], plus the covariance over rows of E[U|x], q × q


def cgl_go(
    graph: Graph,
    moments: Moments,
    *,
    mask: Mask = "edge",
    random_state: int | np.random.Generator = 0,
    max_iter: int = MAX_ROUNDS,
    tol: float = 1e-6,
) -> CGLGoResult:
    """Fit a CGL-SCM with unit noise variances by the paper's EM with a gradient M-step.

    ``mask="ancestor"`` is the paper's: every pair of an ancestor and a descendant has a free entry in ``B``.
    ``mask="edge"`` keeps ``B = (I - T)^-1`` with one free weight for each edge. Stops when no
    parameter moves by more than ``tol``.
    """
    _refuse_what_the_paper_does_not_know(graph, moments, mask)
    if max_iter < 1:
        raise InputError(f"max_iter must be at least 1, not {max_iter}")
    data = moments.select(graph.observed)
    T_mask, B_mask, C_mask = masks(graph)
    rng = np.random.default_rng(random_state)
    p, q = C_mask.shape[1], C_mask.shape[0]
    free = 0.5 * rng.standard_normal((p, p)) * (T_mask if mask == "edge" else B_mask)
    C = 0.5 * rng.standard_normal((q, p)) * C_mask
    mu = 0.5 * rng.standard_normal((p,))
    B = total(free, mask)
    steps = [0.5, 0.5]
    for iteration in range(1, max_iter + 1):  # noqa: B007 (reported below)
        before = (B, C, mu)
        hidden = e_step(data, B, C, mu)
        free, steps[0] = _update_B(data, hidden, free, C, mu, mask, T_mask if mask == "edge" else B_mask, steps[0])
        B = total(free, mask)
        C, steps[1] = _update_C(data, hidden, B, C, mu, C_mask, steps[1])
        mu = np.linalg.inv(B).T @ data.mean - C.T @ hidden.mean
        moved = max(float(np.abs(new - old).max(initial=0.0)) for new, old in zip((B, C, mu), before, strict=True))
        if moved < tol:
            break
    return CGLGoResult(
        graph=graph,
        mask=mask,
        B=frozen(B),
        C=frozen(C),
        mu=frozen(mu),
        T=frozen(cgl_edge(B, graph)),
        loglik=observed_loglik(data, B, C, mu),
        iterations=iteration,
        converged=moved < tol,
    )


def masks(graph: Graph) -> tuple[Floats, Floats, Floats]:
    """``T_m``, ``B_m`` and ``C_m``: ones where an edge, a directed path, an edge out of a hidden cause exists."""
    names, latents = graph.observed, tuple(graph.latents)
    at = {v: i for i, v in enumerate(names)}
    T_mask = np.zeros((len(names), len(names)))
    B_mask, C_mask = np.zeros_like(T_mask), np.zeros((len(latents), len(names)))
    for u, v in graph.directed:
        T_mask[at[u], at[v]] = 1.0
    for v in names:
        for w in graph.descendants(v) - {v}:
            B_mask[at[v], at[w]] = 1.0
    for k, u in enumerate(latents):
        for c in graph.latents[u]:
            C_mask[k, at[c]] = 1.0
    return T_mask, B_mask, C_mask


def total(free: Floats, mask: Mask) -> Floats:
    """``B`` from what is free: ``(I - T)^-1`` under the edge mask, ``I`` plus the free entries under the paper's."""
    eye = np.eye(len(free))
    return np.asarray(np.linalg.inv(eye - free)) if mask == "edge" else eye + free


def e_step(data: Moments, B: Floats, C: Floats, mu: Floats) -> HiddenMoments:
    """E-step: ``U|x ~ N(G (x - B'mu), I - G (CB)')`` with ``G = CB ((CB)'CB + B'B)^-1``, averaged over the rows."""
    CB = C @ B
    G = np.linalg.solve(CB.T @ CB + B.T @ B, CB.T).T
    spread = np.eye(len(C)) - G @ CB.T
    return HiddenMoments(G @ (data.mean - B.T @ mu), data.cov @ G.T, spread + G @ data.cov @ G.T)


def objective(data: Moments, hidden: HiddenMoments, B: Floats, C: Floats, mu: Floats) -> float:
    """The M-step's ``l(B, C, mu) / n = -E|r|²`` with ``r = A'x - mu - C'U``.

    The paper's term ``-log|B'B|`` is left out: it is zero for every acyclic graph, and so is its masked gradient.
    """
    A = np.linalg.inv(B)
    gap = A.T @ data.mean - mu - C.T @ hidden.mean
    cross = np.vdot(A, hidden.with_x @ C)
    spread = np.vdot(A, data.cov @ A) - 2.0 * cross + np.vdot(C, hidden.square @ C)
    return -float(spread + gap @ gap)


def gradient_B(data: Moments, hidden: HiddenMoments, B: Floats, C: Floats, mu: Floats) -> Floats:
    """``dl/dB / n = 2 A' E[x r'] A'``."""
    A = np.linalg.inv(B)
    gap = A.T @ data.mean - mu - C.T @ hidden.mean
    x_r = data.cov @ A - hidden.with_x @ C + np.outer(data.mean, gap)
    return np.asarray(2.0 * A.T @ x_r @ A.T)


def gradient_T(data: Moments, hidden: HiddenMoments, B: Floats, C: Floats, mu: Floats) -> Floats:
    """``dl/dT / n = B' (dl/dB) B' / n``, because ``dB = B dT B``."""
    return np.asarray(B.T @ gradient_B(data, hidden, B, C, mu) @ B.T)


def gradient_C(data: Moments, hidden: HiddenMoments, B: Floats, C: Floats, mu: Floats) -> Floats:
    """``dl/dC / n = 2 E[U r']``."""
    A = np.linalg.inv(B)
    gap = A.T @ data.mean - mu - C.T @ hidden.mean
    return np.asarray(2.0 * (hidden.with_x.T @ A - hidden.square @ C + np.outer(hidden.mean, gap)))


def observed_loglik(data: Moments, B: Floats, C: Floats, mu: Floats) -> float:
    """Log-likelihood of the rows under ``x ~ N(B'mu, B'(C'C + I)B)``, for any ``B``."""
    cov = B.T @ (C.T @ C + np.eye(len(B))) @ B
    gap = data.mean - B.T @ mu
    fit = np.trace(np.linalg.solve(cov, data.cov)) + gap @ np.linalg.solve(cov, gap)
    return -0.5 * data.n * float(len(B) * np.log(2.0 * np.pi) + np.linalg.slogdet(cov)[1] + fit)


def _update_B(
    data: Moments,
    hidden: HiddenMoments,
    free: Floats,
    C: Floats,
    mu: Floats,
    mask: Mask,
    allowed: Floats,
    step: float,
) -> tuple[Floats, float]:
    slope = gradient_T if mask == "edge" else gradient_B
    return ascend(
        lambda x: objective(data, hidden, total(x, mask), C, mu),
        lambda x: slope(data, hidden, total(x, mask), C, mu) * allowed,
        free,
        step,
    )


def _update_C(
    data: Moments, hidden: HiddenMoments, B: Floats, C: Floats, mu: Floats, allowed: Floats, step: float
) -> tuple[Floats, float]:
    return ascend(
        lambda x: objective(data, hidden, B, x, mu),
        lambda x: gradient_C(data, hidden, B, x, mu) * allowed,
        C,
        step,
    )


def ascend(
    value: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    start: Floats,
    step: float,
    *,
    max_steps: int = 50,
    tol: float = 1e-12,
) -> tuple[Floats, float]:
    """Gradient ascent until the gradient is a tenth of what it was; returns the place and the last step size.

    Each step starts with the length that fits the curvature seen in the last one (Barzilai and Borwein 1988) and is
    halved until the value rises enough, so the value never falls.
    """
    x, height, g = start, value(start), gradient(start)
    enough = max(tol, 0.1 * float(np.linalg.norm(g)))
    for _ in range(max_steps):
        steepness = float(np.vdot(g, g))
        if steepness <= enough**2:
            break
        while not (new := value(x + step * g)) >= height + 1e-4 * step * steepness:
            step /= 2.0
            if step * steepness < 1e-16 * (1.0 + abs(height)):  # nothing above rounding is left to gain
                return x, max(step, 1e-3)
        x, height, old = x + step * g, new, g
        g = gradient(x)
        bend = float(np.vdot(old, old - g))
        step = step * steepness / bend if bend > 0.0 else 2.0 * step
    return x, step


def _refuse_what_the_paper_does_not_know(graph: Graph, moments: Moments, mask: Mask) -> None:
    if mask not in ("edge", "ancestor"):
        raise InputError(f"mask must be 'edge' or 'ancestor' (the paper's own), not {mask!r}")
    if graph.bidirected:
        pair = " <-> ".join(graph.bidirected[0])
        raise GraphError(
            f"CGL-Go knows hidden causes only, and the graph has the bidirected edge {pair}. "
            f"Use graph.canonical(), which gives each such edge a hidden cause, or another method"
        )
    if graph.restrictions:
        key = next(iter(graph.restrictions))
        raise GraphError(f"CGL-Go cannot hold {key!r} fixed or equal to others. Use method='em', or leave it free")
    for v in graph.observed:
        if v not in moments.names:
            raise DataError(f"the data have no column {v!r} of the graph.{did_you_mean(v, moments.names)}")
