"""In which order the weights of a graph follow from a covariance, and which of them stay free.

(T, C) with hidden causes has the covariance Sigma exactly if the columns ``a_j = e_j - t_j`` of ``I - T`` obey
``a_i' Sigma a_j = c_i' c_j + w_ij`` for all pairs, where w_ij is free if ``i <-> j``, held if it is known, else zero.
Given the columns that came before, the equations of one column are linear in its weights and loadings. So columns are
taken one after another; what their equations leave open are the free coordinates of the fibre. With hidden causes as
further variables of variance -1, ``a_i' Sigma a_j - c_i' c_j`` is one bilinear form, and the same code does both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from halftrek.bottom.arrays import Floats, Ints
from halftrek.errors import GraphError
from halftrek.graphs import Edge, Graph

_SMALL = 1e-9  # of a pivot beside the largest: the equations do not tell this weight
_ORDERS = 40  # orders of the columns that are tried


class Coordinate(NamedTuple):
    """A free weight or loading: ``unit`` is about one standard deviation of the effect per one of the cause."""

    cause: str
    effect: str
    unit: float
    loading: bool = False

    def __str__(self) -> str:
        return f"{self.cause} -> {self.effect}"


class Column(NamedTuple):
    """How the weights into one variable follow: places among all variables, hidden causes last."""

    at: int
    solved: tuple[int, ...]  # causes whose weights the equations tell
    rows: tuple[int, ...]  # columns whose equations with this one tell them
    free: tuple[tuple[int, int], ...]  # causes with the number of their coordinate
    held: tuple[tuple[int, float], ...]  # causes with known weights
    tied: tuple[tuple[int, int, int], ...]  # causes whose weight is that of another edge (cause, effect)
    left: tuple[int, ...]  # columns whose equations with this one remain to be obeyed


@dataclass(frozen=True, eq=False)
class Plan:
    """Columns in order, free coordinates, and pairs whose equations remain (``left``)."""

    graph: Graph
    names: tuple[str, ...]
    form: Floats  # Sigma, with -1 for each hidden cause
    latents: tuple[str, ...]
    columns: tuple[Column, ...]
    coordinates: tuple[Coordinate, ...]
    known: Floats  # error covariances that are held; nan where they are free
    left: tuple[tuple[int, int], ...]
    implied: int = 0  # equations that hold wherever the others do: each says something of Sigma


class _Unknowns(NamedTuple):
    causes: tuple[int, ...]
    held: tuple[tuple[int, float], ...]
    labels: tuple[str, ...]  # of each cause, "" for none


def plan_of(graph: Graph, Sigma: Floats, names: Sequence[str] | None = None, prefer: Iterable[str] = ()) -> Plan:
    """The plan for a covariance; edges in ``prefer`` ("x -> y") become coordinates where they can."""
    order = tuple(graph.observed if names is None else names)
    builder = _Builder(graph, order, np.asarray(Sigma, dtype=float), set(prefer))
    best = builder.build(None)
    tried, fewest = 1, len(best.coordinates) - builder.least_dimension(best)
    for first in range(len(order)):
        if not best.left or tried >= _ORDERS or fewest <= 0:
            break
        other = builder.build(first)
        tried += 1
        if (len(other.coordinates), len(other.left)) < (len(best.coordinates), len(best.left)):
            best = other
    return best


class _Builder:
    def __init__(self, graph: Graph, names: tuple[str, ...], sigma: Floats, prefer: Collection[str]) -> None:
        self.graph, self.names, self.prefer = graph, names, prefer
        self.latents = tuple(graph.latents)
        p, q = len(names), len(self.latents)
        self.size = p + q
        self.form = np.zeros((p + q, p + q))
        self.form[:p, :p] = sigma
        self.form[p:, p:] = -np.eye(q)
        self.sd = np.sqrt(np.concatenate([np.diag(sigma), np.ones(q)]))
        self.place = {v: i for i, v in enumerate((*names, *self.latents))}
        self.known = self._known_covariances(p)
        self.unknowns = {j: self._unknowns(j) for j in range(p)}
        self.sizes = np.zeros(p)  # of the terms that an equation with a column is a sum of
        self.drawn = np.random.default_rng(20)

    def _known_covariances(self, p: int) -> Floats:
        known = np.zeros((p, p))
        for u, v in self.graph.bidirected:
            i, j = self.place[u], self.place[v]
            value = self.graph.known.get(Edge(u, "<->", v), self.graph.known.get(Edge(v, "<->", u)))
            if isinstance(value, str) and value in self._repeated():
                raise GraphError(
                    f"the covariances of errors with the label {value!r} are equal; sets of values are not computed "
                    f"under equal error covariances. Give them labels of their own, or a number"
                )
            known[i, j] = known[j, i] = value if isinstance(value, float) else np.nan
        return known

    def _repeated(self) -> set[str]:
        labels = [x for x in self.graph.restrictions.values() if isinstance(x, str)]
        return set(labels)

    def _unknowns(self, j: int) -> _Unknowns:
        name = self.names[j]
        causes, held, labels = [], [], []
        for u in (*self.graph.parents(name), *self.graph.latent_parents(name)):
            value = self.graph.known.get(Edge(u, "->", name))
            if isinstance(value, float | int):
                held.append((self.place[u], float(value)))
                continue
            causes.append(self.place[u])
            labels.append(value if isinstance(value, str) and value in self._repeated() else "")
        return _Unknowns(tuple(causes), tuple(held), tuple(labels))

    def build(self, first: int | None) -> Plan:
        """Columns one after another: those that their equations tell at once before those that they leave open."""
        p = len(self.names)
        carried = np.zeros((p, self.size))  # form a_i of the columns done, at a random point
        done: list[int] = []
        columns: list[Column] = []
        coordinates: list[Coordinate] = []
        values: dict[tuple[int, int], float] = {}
        labelled: dict[str, tuple[int, int]] = {}
        remaining = sorted(range(p), key=lambda j: (j != first, len(self.unknowns[j].causes)))
        while remaining:
            best, chosen = None, None
            for j in remaining:
                column = self._column(j, done, carried, labelled)
                score = (j != first, len(column.free), len(column.left), -len(column.rows), len(column.solved))
                if best is None or score < best:
                    best, chosen = score, column
                if score[1] == score[2] == 0 and (first is None or j == first):
                    break
            assert chosen is not None
            remaining.remove(chosen.at)
            numbered = []
            for i, _ in chosen.free:
                numbered.append((i, len(coordinates)))
                unit = float(self.sd[chosen.at] / self.sd[i])
                names = (*self.names, *self.latents)
                coordinates.append(Coordinate(names[i], names[chosen.at], unit, i >= p))
            chosen = chosen._replace(free=tuple(numbered))
            columns.append(chosen)
            self._settle(chosen, coordinates, carried, values)
            for i, label in zip(self.unknowns[chosen.at].causes, self.unknowns[chosen.at].labels, strict=True):
                if label:
                    labelled.setdefault(label, (i, chosen.at))
            done.append(chosen.at)
        left = tuple((i, c.at) for c in columns for i in c.left)
        plan = Plan(
            self.graph, self.names, self.form, self.latents, tuple(columns), tuple(coordinates), self.known, left
        )
        return self._without_implied(plan)

    def _column(self, j: int, done: list[int], carried: Floats, labelled: dict[str, tuple[int, int]]) -> Column:
        """Which weights of a column the equations with the columns done tell, by elimination at the random point."""
        unknown = self.unknowns[j]
        tied, own = [], []
        mine: dict[str, int] = {}
        for i, label in zip(unknown.causes, unknown.labels, strict=True):
            if label and label in labelled:
                tied.append((i, *labelled[label]))
            elif label and label in mine:
                tied.append((i, mine[label], j))
            else:
                own.append(i)
                if label:
                    mine[label] = i
        rows = [i for i in done if not np.isnan(self.known[i, j])]
        ahead = [i for i in own if self._text(i, j) not in self.prefer]
        order = [*ahead, *(i for i in own if self._text(i, j) in self.prefer)]
        shared = {i: [a for a, b, c in tied if c == j and b == i] for i in order}
        matrix = np.array(
            [[carried[k, [i, *shared[i]]].sum() * self.sd[i] for i in order] for k in rows], dtype=float
        ).reshape(len(rows), len(order))
        solved, used = eliminated(matrix / np.maximum(self.sizes[rows, None], 1e-300))
        free = tuple((i, -1) for k, i in enumerate(order) if k not in solved)
        return Column(
            j,
            tuple(order[k] for k in solved),
            tuple(rows[k] for k in used),
            free,
            unknown.held,
            tuple(tied),
            tuple(i for k, i in enumerate(rows) if k not in used),
        )

    def _text(self, i: int, j: int) -> str:
        names = (*self.names, *self.latents)
        return f"{names[i]} -> {names[j]}"

    def _settle(
        self, column: Column, coordinates: list[Coordinate], carried: Floats, values: dict[tuple[int, int], float]
    ) -> None:
        """The column at the random point."""
        a = np.zeros(self.size)
        a[column.at] = 1.0
        for i, k in column.free:
            a[i] -= self.drawn.uniform(0.3, 0.9) * self.drawn.choice([-1.0, 1.0]) * coordinates[k].unit
        for i, value in column.held:
            a[i] -= value
        for i, u, v in column.tied:
            if v != column.at:
                a[i] -= values[u, v]
        shared = {i: [t for t, u, v in column.tied if v == column.at and u == i] for i in column.solved}
        for i, _ in column.free:
            for t, u, v in column.tied:
                if v == column.at and u == i:
                    a[t] = a[i]
        if column.solved:
            matrix = np.array([[carried[k, [i, *shared[i]]].sum() for i in column.solved] for k in column.rows])
            target = [self.known[k, column.at] for k in column.rows]
            right = carried[list(column.rows)] @ a - target
            for i, weight in zip(column.solved, np.linalg.solve(matrix, right), strict=True):
                a[[i, *shared[i]]] -= weight
        for i in self.unknowns[column.at].causes:
            values[i, column.at] = -a[i]
        carried[column.at] = self.form @ a
        self.sizes[column.at] = (np.abs(self.form) @ np.abs(a) * self.sd).max()

    def _without_implied(self, plan: Plan) -> Plan:
        """Leave out equations that hold wherever the others do: they say something of Sigma, not of the weights."""
        if not plan.left:
            return plan
        from halftrek.partial.fibre.points import Fibre

        fibre = Fibre(plan, np.zeros(len(plan.names)))
        u = self.drawn.uniform(-1.2, 1.2, (4, len(plan.coordinates))) * fibre.units
        left, _ = fibre.leftover(u)
        models = fibre.at(u)
        sizes = np.sqrt(np.einsum("nii->ni", models.omega))
        pairs = np.array(plan.left, dtype=np.intp)
        shares = np.abs(left) / (sizes[:, pairs[:, 0]] * sizes[:, pairs[:, 1]])
        kept = tuple(pair for pair, share in zip(plan.left, shares.T, strict=True) if share.max() > 1e-7)
        columns = tuple(c._replace(left=tuple(i for i in c.left if (i, c.at) in kept)) for c in plan.columns)
        return replace(plan, columns=columns, left=kept, implied=len(plan.left) - len(kept))

    def least_dimension(self, plan: Plan) -> int:
        """How many free coordinates the equations that remain leave at least."""
        return max(0, len(plan.coordinates) - len(plan.left))


def eliminated(matrix: Floats) -> tuple[list[int], list[int]]:
    """Columns, earliest first, and as many rows of a matrix that together can be solved; each row the best there is.

    A row is a sum of terms of size one, so that rounding is told from what is there.
    """
    work = np.array(matrix, dtype=float)
    columns: list[int] = []
    rows: list[int] = []
    open_rows = list(range(len(work)))
    for j in range(work.shape[1]):
        if not open_rows:
            break
        pivot = max(open_rows, key=lambda k: abs(work[k, j]))
        if abs(work[pivot, j]) <= _SMALL:
            continue
        columns.append(j)
        rows.append(pivot)
        open_rows.remove(pivot)
        for k in open_rows:
            work[k] -= work[pivot] * (work[k, j] / work[pivot, j])
    return columns, rows


def places_of(pairs: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Firsts and seconds."""
    return np.array([i for i, _ in pairs], dtype=np.intp), np.array([j for _, j in pairs], dtype=np.intp)
