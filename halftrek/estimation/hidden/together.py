"""Several data sets at once, each with a model of its own, whose models have parameters in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.data import Moments, Patterns
from halftrek.errors import DataError
from halftrek.estimation.given.options import Options, resolve_options
from halftrek.estimation.hidden.opening import opened_data
from halftrek.estimation.hidden.problem import Several, Single
from halftrek.estimation.hidden.search import Ended, climb
from halftrek.estimation.hidden.whole import FLOOR, NEAR_FLOOR, fit_whole
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Edge, Graph
from halftrek.models import CGLSCM

STEPS = 200

# what an entry of a model is called across groups; entries of one name are one parameter. None: its group's own
Named = Callable[[Graph, str, int, int], str | None]


@dataclass(frozen=True, eq=False)
class Together:
    """The models at the maximum; ``owner[g]`` says which of all parameters each parameter of the g-th space is."""

    graphs: tuple[Graph, ...]
    problem: Several
    ended: Ended
    models: tuple[CGLSCM, ...]
    lower: Floats

    @property
    def theta(self) -> Floats:
        """All parameters."""
        return self.ended.point.theta

    @property
    def loglik(self) -> float:
        """The log-likelihood of all groups."""
        return self.ended.point.value

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The parameters of each group."""
        return tuple(part.space for part in self.problem.parts)

    @property
    def owner(self) -> tuple[Ints, ...]:
        """Which of all parameters each parameter of a group is."""
        return self.problem.owner

    def at_zero(self) -> list[tuple[int, str]]:
        """Groups, by their places, and variables in them whose error variance ended at zero."""
        return [
            (g, space.names[i])
            for g, (space, own) in enumerate(zip(self.spaces, self.owner, strict=True))
            for i, j, a in space.W_at
            if i == j and self.theta[own[a]] <= NEAR_FLOOR * self.lower[own[a]]
        ]


def free_options(graph: Graph) -> Options:
    """Nothing fixed but what the graph fixes."""
    return resolve_options(graph.opened, "free", "free")


def labels_at(graph: Graph, space: Space) -> Iterator[tuple[str, int]]:
    """Every label of a graph with the parameter of its space that has it."""
    names = space.names
    for i, j, a in space.T_at:
        label = graph.known.get(Edge(names[i], "->", names[j]))
        if isinstance(label, str):
            yield label, int(a)
    for i, j, a in space.W_at:
        edge = Edge(names[i], "<->", names[j])
        label = graph.variances.get(names[i]) if i == j else graph.known.get(edge, graph.known.get(edge.turned))
        if isinstance(label, str) and label != f"variance of {names[i]}":
            yield label, int(a)
    for k, j, a in space.C_at:
        label = graph.known.get(Edge(tuple(graph.latents)[space.latents[k]], "->", names[j]))
        if isinstance(label, str):
            yield label, int(a)
    for i, _, a in space.mu_at:
        label = graph.intercepts.get(names[i])
        if isinstance(label, str) and label != f"intercept of {names[i]}":
            yield label, int(a)


def shared_parameters(graphs: Sequence[Graph], spaces: Sequence[Space], named: Named) -> tuple[tuple[Ints, ...], int]:
    """Which of all parameters each parameter of each group is, and how many there are.

    Parameters of one label are one; those without a label are if they have one name.
    """
    home: dict[tuple[str, str], int] = {}
    owners: list[Ints] = []
    into: list[int] = []  # of each parameter met so far, the one that it is

    def joined(first: int, second: int) -> None:
        first, second = root(first), root(second)
        into[max(first, second)] = min(first, second)

    def root(a: int) -> int:
        while into[a] != a:
            a = into[a]
        return a

    for graph, space in zip(graphs, spaces, strict=True):
        start = len(into)
        into += range(start, start + space.size)
        labelled = set()
        for label, a in labels_at(graph, space):
            labelled.add(a)
            joined(start + a, home.setdefault(("label", label), start + a))
        for kind, at in (("T", space.T_at), ("W", space.W_at), ("C", space.C_at), ("mu", space.mu_at)):
            for i, j, a in at:
                name = None if a in labelled else named(graph, kind, int(i), int(j))
                if name is not None:
                    joined(start + a, home.setdefault(("name", name), start + a))
        owners.append(np.arange(start, start + space.size))
    roots = np.array([root(a) for a in range(len(into))], dtype=np.intp)
    kept, numbered = np.unique(roots, return_inverse=True)
    return tuple(numbered[own] for own in owners), len(kept)


def fit_shared(graphs: Sequence[Graph], groups: Sequence[Moments | Patterns], named: Named) -> Together:
    """The models of highest likelihood: begun where the first graph fits all rows, and where each fits its own."""
    spaces = [make_space(one, one.nodes, free_options(one)) for one in graphs]
    owner, size = shared_parameters(graphs, spaces, named)
    found: list[Together] = []
    for starts in _starts(graphs, groups):
        one = climbed(graphs, groups, spaces, owner, size, starts)
        found += [] if one is None else [one]
        if one is not None and one.ended.converged and not one.ended.pinned.any() and not one.ended.flat:
            break
    if not found:
        raise DataError(
            "no search for the best values of all groups could begin: what is held equal is too far from any of them. "
            "Hold less equal, or look at each group on its own first"
        )
    return max(found, key=lambda one: (one.loglik, one.ended.converged))


def _starts(graphs: Sequence[Graph], groups: Sequence[Moments | Patterns]) -> Iterator[list[CGLSCM]]:
    pooled = fit_whole(graphs[0], _pooled(groups), free_options(graphs[0])).model
    yield [pooled] * len(graphs)
    yield [fit_whole(g, data, free_options(g)).model for g, data in zip(graphs, groups, strict=True)]


def _pooled(groups: Sequence[Moments | Patterns]) -> Moments:
    """Moments of all rows about the means of their groups."""
    parts = [data if isinstance(data, Moments) else data.warm for data in groups]
    n = np.array([part.n for part in parts])
    share = n / n.sum()
    cov = sum(w * part.cov for w, part in zip(share, parts, strict=True))
    mean = sum(w * part.mean for w, part in zip(share, parts, strict=True))
    return Moments(parts[0].names, float(n.sum()), np.asarray(mean), np.asarray(cov), has_mean=parts[0].has_mean)


def climbed(
    graphs: Sequence[Graph],
    groups: Sequence[Moments | Patterns],
    spaces: Sequence[Space],
    owner: tuple[Ints, ...],
    size: int,
    starts: Sequence[CGLSCM],
) -> Together | None:
    """The maximum above the average of some models; None if that is no model."""
    theta, count = np.zeros(size), np.zeros(size)
    lower = np.full(size, -np.inf)
    for space, own, start in zip(spaces, owner, starts, strict=True):
        np.add.at(theta, own, space.vector(start))
        np.add.at(count, own, 1.0)
        for i, j, a in space.W_at:
            if i == j:
                lower[own[a]] = FLOOR * float(start.cov[i, i])
    theta = _with_means(spaces, groups, owner, theta / count)
    parts = tuple(
        Single(space, opened_data(data, graph.hidden))
        for space, data, graph in zip(spaces, groups, graphs, strict=True)
    )
    problem = Several(parts, owner, size)
    ended = climb(problem, theta, lower, STEPS)
    if ended is None:
        return None
    made = zip(graphs, spaces, owner, strict=True)
    models = tuple(_model(one, space, ended.point.theta[own]) for one, space, own in made)
    return Together(tuple(graphs), problem, ended, models, lower)


def _with_means(
    spaces: Sequence[Space], groups: Sequence[Moments | Patterns], owner: Sequence[Ints], theta: Floats
) -> Floats:
    """The point with intercepts that bring the means of all groups as near to those of the data as they can be."""
    at = np.unique(np.concatenate([own[space.mu_at[:, 2]] for space, own in zip(spaces, owner, strict=True)]))
    others = [own[np.concatenate([s.T_at, s.W_at, s.C_at])[:, 2]] for s, own in zip(spaces, owner, strict=True)]
    at = np.setdiff1d(at, np.concatenate(others))  # an intercept may have the label of a coefficient
    if not len(at):
        return theta
    slopes, gaps = [], []
    for space, own, data in zip(spaces, owner, groups, strict=True):
        mean = (data if isinstance(data, Moments) else data.warm).mean
        slope = np.zeros((len(theta), len(mean)))
        np.add.at(slope, own, space.jacobian(theta[own])[0][:, : len(mean)])
        slopes.append(slope[at])
        gaps.append(mean - space.moments(theta[own])[0][: len(mean)])
    moved = theta.copy()
    moved[at] += np.linalg.lstsq(np.hstack(slopes).T, np.concatenate(gaps), rcond=None)[0]
    return moved


def _model(graph: Graph, space: Space, theta: Floats) -> CGLSCM:
    T, W, C, mu = space.arrays(theta)
    loadings: Floats = np.zeros((len(graph.latents), len(space.names)))
    loadings[list(space.latents)] = C
    return CGLSCM(space.names, T, loadings, mu, W, tuple(graph.latents), graph)
