"""The free parameters of a whole model as one vector, in the units of the data.

Where the likelihood splits into districts nothing here is needed. It is for what does not split: missing values,
profiles of an answer, edges that are not in the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from halftrek.bottom.arrays import Array, Flags, Floats, Ints
from halftrek.estimation.given.options import Options
from halftrek.estimation.plan import PAD, Plan, Task, make_plan
from halftrek.graphs import Graph
from halftrek.graphs.as_written import Written
from halftrek.models import CGLSCM, total_effects
from halftrek.queries.gradients import Gradient

Numbers = Array  # real, or complex for derivatives by a complex step


@dataclass(frozen=True, eq=False)
class Space:
    """Where every free parameter stands: in T, in the error covariances beside explicit loadings, in C, in mu.

    Each of ``T_at``, ``W_at``, ``C_at``, ``mu_at`` holds ``(row, column, parameter)``, one line an entry; parameters
    that share a label appear in several lines. Hidden causes of two children count as an error covariance; ``latents``
    are the places of those with loadings of their own.
    """

    names: tuple[str, ...]
    latents: tuple[int, ...]
    size: int
    T_at: Ints
    W_at: Ints
    C_at: Ints
    mu_at: Ints
    T0: Floats
    W0: Floats
    C0: Floats
    mu0: Floats

    @cached_property
    def noisy(self) -> Ints:
        """The variables that have an error: all but those whose variance is held at zero."""
        free = {int(i) for i, j, _ in self.W_at if i == j}
        return np.array([i for i in range(len(self.names)) if i in free or self.W0[i, i] != 0.0], dtype=np.intp)

    @cached_property
    def elsewhere(self) -> frozenset[int]:
        """Intercepts that are other parameters too: a coefficient or a covariance of the same label."""
        others = np.concatenate([self.T_at[:, 2], self.W_at[:, 2], self.C_at[:, 2]])
        return frozenset(np.intersect1d(self.mu_at[:, 2], others).tolist())

    @cached_property
    def districts(self) -> tuple[Ints, ...]:
        """Variables whose errors covary, by entries that are free or held."""
        errors, loads = self._entries(self.W0, self.W_at), self._entries(self.C0, self.C_at)
        wider = np.eye(len(self.names), dtype=bool) | errors | errors.T | (loads.T @ loads)
        own = np.zeros_like(wider)
        while not np.array_equal(own, wider):
            own, wider = wider, wider @ wider
        first = own.argmax(axis=1)
        return tuple(np.flatnonzero(first == i) for i in np.unique(first))

    @cached_property
    def near(self) -> Flags:
        """Pairs of variables that may have an entry in the inverse covariance, ``(I - T) E (I - T)'``.

        E, the inverse covariance of errors, has entries within districts.
        """
        into = np.asarray(self._entries(self.T0, self.T_at) | np.eye(len(self.names), dtype=bool))
        found = np.zeros_like(into)
        for district in self.districts:
            beside = np.asarray(into[:, district].any(axis=1))
            found |= beside & beside[:, None]
        return found

    @cached_property
    def acyclic(self) -> bool:
        """Whether no variable is a cause of itself."""
        power, steps = self._entries(self.T0, self.T_at), 1
        while power.any() and steps < len(power):
            power, steps = power @ power, 2 * steps
        return not power.any()

    @property
    def linear(self) -> bool:
        """Whether mean and covariance move along lines: no coefficient or loading is free."""
        return not len(self.T_at) and not len(self.C_at)

    def _entries(self, held: Floats, at: Ints) -> Flags:
        found = np.asarray(held != 0.0)
        found[at[:, 0], at[:, 1]] = True
        return found

    def errors(self, theta: Numbers) -> Numbers:
        """The covariance of the errors that there are, beside explicit loadings."""
        return np.asarray(self.arrays(theta)[1][np.ix_(self.noisy, self.noisy)])

    def arrays(self, theta: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """``T, W, C, mu`` at a point; Omega is ``W + C'C``. A complex point gives complex arrays."""
        T, W, C, mu = (x.astype(theta.dtype) for x in (self.T0, self.W0, self.C0, self.mu0))
        T[self.T_at[:, 0], self.T_at[:, 1]] = theta[self.T_at[:, 2]]
        W[self.W_at[:, 0], self.W_at[:, 1]] = theta[self.W_at[:, 2]]
        W[self.W_at[:, 1], self.W_at[:, 0]] = theta[self.W_at[:, 2]]
        C[self.C_at[:, 0], self.C_at[:, 1]] = theta[self.C_at[:, 2]]
        mu[self.mu_at[:, 0]] = theta[self.mu_at[:, 2]]
        return T, W, C, mu

    def moments(self, theta: Numbers) -> tuple[Numbers, Numbers]:
        """Implied mean and covariance."""
        T, W, C, mu = self.arrays(theta)
        B = total_effects(T)
        return mu @ B, B.T @ (W + C.T @ C) @ B

    def vector(self, model: CGLSCM) -> Floats:
        """The point of a model of this graph."""
        explicit = model.C[list(self.latents)]
        theta = np.zeros(self.size)
        inside = model.omega - explicit.T @ explicit
        for at, values in ((self.T_at, model.T), (self.W_at, inside), (self.C_at, explicit), (self.mu_at, model.mu)):
            theta[at[:, 2]] = values[at[:, 0]] if values.ndim == 1 else values[at[:, 0], at[:, 1]]
        return theta

    def pull(self, gradient: Gradient, theta: Floats) -> Floats:
        """A gradient in coefficients, error covariances and means as one in the parameters."""
        T, _, C, mu = self.arrays(theta)
        B = total_effects(T)
        slope = B @ gradient.mean
        return self.collect(gradient.T + np.outer(mu @ B, slope), gradient.omega, slope, C)

    def collect(self, T: Numbers, omega: Numbers, mu: Numbers, C: Numbers) -> Numbers:
        """Derivatives in the entries of T, Omega (symmetric) and mu, summed up by parameter."""
        found = np.zeros(self.size, dtype=np.result_type(T, omega, mu))
        np.add.at(found, self.T_at[:, 2], T[self.T_at[:, 0], self.T_at[:, 1]])
        twice = np.where(self.W_at[:, 0] == self.W_at[:, 1], 1.0, 2.0)
        np.add.at(found, self.W_at[:, 2], twice * omega[self.W_at[:, 0], self.W_at[:, 1]])
        np.add.at(found, self.C_at[:, 2], 2.0 * (C @ omega)[self.C_at[:, 0], self.C_at[:, 1]])
        np.add.at(found, self.mu_at[:, 2], mu[self.mu_at[:, 0]])
        return found

    def jacobian(self, theta: Floats) -> tuple[Floats, Floats]:
        """Derivatives of the implied mean ``(size, p)`` and covariance ``(size, p, p)``."""
        T, W, C, mu = self.arrays(theta)
        B = total_effects(T)
        cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
        p = len(self.names)
        dmean, half = np.zeros((self.size, p)), np.zeros((self.size, p, p))
        u, v, a = self.T_at.T
        np.add.at(dmean, a, mean[u, None] * B[v])
        np.add.at(half, a, cov[u][:, :, None] * B[v][:, None, :])
        i, j, a = self.W_at.T
        share = np.where(i == j, 0.5, 1.0)[:, None, None]
        np.add.at(half, a, share * B[i][:, :, None] * B[j][:, None, :])
        k, j, a = self.C_at.T
        np.add.at(half, a, (C @ B)[k][:, :, None] * B[j][:, None, :])
        j, _, a = self.mu_at.T
        np.add.at(dmean, a, B[j])
        return dmean, half + half.transpose(0, 2, 1)

    def moved(self, theta: Floats, along: Floats) -> tuple[Floats, Floats]:
        """How the implied mean and covariance move along directions of the parameters, one a line."""
        T, W, C, mu = self.arrays(theta)
        B = total_effects(T)
        cov, mean = B.T @ (W + C.T @ C) @ B, mu @ B
        k, p = len(along), len(self.names)
        dT, dW, dC, dmu = np.zeros((k, p, p)), np.zeros((k, p, p)), np.zeros((k, *C.shape)), np.zeros((k, p))
        dT[:, self.T_at[:, 0], self.T_at[:, 1]] = along[:, self.T_at[:, 2]]
        share = np.where(self.W_at[:, 0] == self.W_at[:, 1], 0.5, 1.0)
        dW[:, self.W_at[:, 0], self.W_at[:, 1]] = share * along[:, self.W_at[:, 2]]
        dC[:, self.C_at[:, 0], self.C_at[:, 1]] = along[:, self.C_at[:, 2]]
        dmu[:, self.mu_at[:, 0]] = along[:, self.mu_at[:, 2]]
        half = (B.T @ (dW + C.T @ dC) + cov @ dT) @ B
        return (mean @ dT + dmu) @ B, half + half.transpose(0, 2, 1)


def make_space(graph: Graph, names: tuple[str, ...], options: Options) -> Space:
    """The parameters of a graph's model, with what is fixed and what is equal."""
    return _made(Written(graph), names, options)


@lru_cache(maxsize=32)
def _made(written: Written, names: tuple[str, ...], options: Options) -> Space:
    graph = written.graph.opened
    plan = make_plan(graph, names, options, raw=True)
    tasks = list(plan.every_task)
    explicit = tuple(dict.fromkeys(k for task in tasks for k in task.latents))
    p = len(names)
    T0 = plan.fixed_T.copy() if plan.fixed_T.size else np.zeros((p, p))
    W0, C0, mu0 = np.zeros((p, p)), np.zeros((len(explicit), p)), np.zeros(p)
    for v, held in plan.fixed_noise.items():
        W0[v, v] = held
    for v, held in plan.fixed_mu.items():
        mu0[v] = held
    entries: dict[str, list[tuple[int, int, int]]] = {"T": [], "W": [], "C": [], "mu": []}
    constants = {"T": T0, "C": C0, "W": W0}
    labels: dict[str, int] = {}
    size = 0
    for task in tasks:
        for i, j, held in task.fixed_pairs:
            W0[task.variables[i], task.variables[j]] = W0[task.variables[j], task.variables[i]] = held
        for (kind, row, column), tie in zip(_places(plan, task, explicit), _ties(task), strict=True):
            if kind == "pad":
                continue
            if isinstance(tie, float):
                constants[kind][row, column] = tie
                continue
            a = size if tie is None else labels.setdefault(tie, size)
            size = max(size, a + 1)
            entries[kind].append((row, column, a))
    at = {kind: np.array(found, dtype=np.intp).reshape(-1, 3) for kind, found in entries.items()}
    if graph.variances or graph.intercepts:
        size = _tie_equations(graph, names, at, {**_alone(graph, names, explicit, at), **labels}, size)
    return Space(names, explicit, size, at["T"], at["W"], at["C"], at["mu"], T0, W0, C0, mu0)


def _alone(graph: Graph, names: tuple[str, ...], explicit: tuple[int, ...], at: dict[str, Ints]) -> dict[str, int]:
    """Labels of edges with their parameters; among edges a label that one alone has ties nothing."""
    place = {v: i for i, v in enumerate(names)}
    causes = list(graph.latents)
    found = {}
    for (u, kind, v), label in graph.known.items():
        part, row = ("W" if kind == "<->" else "T", place[u]) if u in place else ("C", causes.index(u))
        rows = at[part][:, 0] if part != "C" else np.array(explicit, dtype=np.intp)[at["C"][:, 0]]
        here = (rows == row) & (at[part][:, 1] == place[v])
        if part == "W":
            here |= (rows == place[v]) & (at[part][:, 1] == row)
        if isinstance(label, str) and here.any():
            found[label] = int(at[part][here][0, 2])
    return found


def _tie_equations(graph: Graph, names: tuple[str, ...], at: dict[str, Ints], labels: dict[str, int], size: int) -> int:
    """Error variances and intercepts of one label are one parameter; how many parameters are left."""
    place = {v: i for i, v in enumerate(names)}
    into = np.arange(size)
    for kind, part in (("W", graph.variances), ("mu", graph.intercepts)):
        for v, label in part.items():
            own = [a for i, j, a in at[kind] if i == place[v] and (kind == "mu" or i == j)]
            if isinstance(label, str) and own:
                into[own[0]] = labels.setdefault(label, own[0])
    kept, numbered = np.unique(into, return_inverse=True)
    for entries in at.values():
        entries[:, 2] = numbered[entries[:, 2]]
    return len(kept)


def _ties(task: Task) -> tuple[float | str | None, ...]:
    return (None,) * task.shape.parameters if task.ties is None else task.ties


def _places(plan: Plan, task: Task, explicit: tuple[int, ...]) -> list[tuple[str, int, int]]:
    """What each parameter of a task is, in the order of its shape."""
    shape, who = task.shape, task.variables
    places: list[tuple[str, int, int]] = []
    for slot, j in zip(task.slots, shape.column, strict=True):
        if slot == PAD:
            places.append(("pad", 0, 0))
        else:
            places.append(("mu", who[j], 0) if slot == plan.constant else ("T", slot, who[j]))
    places += [("W", who[i], who[j]) for i, j in shape.pairs]
    places += [("W", who[j], who[j]) for j in shape.noisy]
    places += [("C", explicit.index(task.latents[k]), who[j]) for k, j in shape.loadings]
    return places
