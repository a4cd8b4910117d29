"""Answers across worlds as elements of the algebra of the finitely many models with one covariance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from flint import nmod_mat

from halftrek.identification.criteria.bench import Bench
from halftrek.queries.kinds.variants import Variant
from halftrek.queries.types import Distribution

Differences = list[tuple[str, nmod_mat]]


@dataclass(frozen=True, eq=False)
class AlgebraRing:
    """Functions on the finitely many models with one covariance, as commuting matrices."""

    one: nmod_mat
    bench: Bench
    effect: Callable[[str, str, Sequence[str]], nmod_mat]  # of a cause on a variable, while others are held

    def number(self, value: float) -> nmod_mat:
        """A constant."""
        return self.one * self.bench.field.number(value)

    def add(self, a: nmod_mat, b: nmod_mat) -> nmod_mat:
        """Sum."""
        return a + b

    def multiply(self, a: nmod_mat, b: nmod_mat) -> nmod_mat:
        """Product."""
        return a * b

    def inverse(self, matrix: list[list[nmod_mat]]) -> list[list[nmod_mat]] | None:
        """Inverse of a square matrix, None if it is singular."""
        p, size = self.bench.field.p, self.one.nrows()
        lines = [zip(*(block.tolist() for block in row), strict=True) for row in matrix]
        try:
            found = nmod_mat([list(chain(*parts)) for line in lines for parts in line], p).inv().tolist()
        except ZeroDivisionError:
            return None
        cuts = [slice(i * size, (i + 1) * size) for i in range(len(matrix))]
        return [[nmod_mat([line[j] for line in found[i]], p) for j in cuts] for i in cuts]

    def covariance(self, a: Variant, b: Variant) -> nmod_mat:
        """Covariance of two variables in worlds of their own."""
        return self._cross(self._difference(a), self._difference(b))

    def weight(self, cause: str, effect: str) -> nmod_mat:
        """Weight of an edge: its effect while the other causes are held."""
        return self.effect(cause, effect, [u for u in self._parents(effect) if u != cause])

    def error_covariance(self, first: str, second: str) -> nmod_mat | None:
        """Covariance of two error terms, None if the graph says that it is zero."""
        if first != second and second not in self.bench.point.parameters.graph.spouses(first):
            return None
        left, right = ([(v, self.one), *((u, -self.weight(u, v)) for u in self._parents(v))] for v in (first, second))
        return self._cross(left, right)

    def _parents(self, v: str) -> tuple[str, ...]:
        return self.bench.point.parameters.graph.parents(v)

    def _cross(self, left: Differences, right: Differences) -> nmod_mat:
        sigma, place = self.bench.sigma, self.bench.place
        total = self.one * 0
        for u, e in left:
            for v, f in right:
                total += e * f * int(sigma[place[u], place[v]])
        return total

    def _difference(self, potential: Variant) -> Differences:
        effects = [
            (x, -self.effect(x, potential.variable, [w for w in potential.held if w != x])) for x in potential.held
        ]
        return [(potential.variable, self.one), *effects]


def conditional_parts(query: Distribution, ring: AlgebraRing) -> list[nmod_mat] | None:
    """Slopes, spread and effects of a conditional distribution after do, in the order of ``functionals``.

    None if the condition has no spread in some of the models.
    """
    outcomes, given = ([Variant(v, query.case.do) for v in names] for names in (query.names, query.seen))
    inverse = ring.inverse([[ring.covariance(a, b) for b in given] for a in given])
    if inverse is None:
        return None
    zero = ring.number(0)
    columns = list(zip(*inverse, strict=True))
    slopes = []
    for y in outcomes:
        cross = [ring.covariance(y, z) for z in given]
        slopes.append([sum((a * b for a, b in zip(cross, column, strict=True)), start=zero) for column in columns])
    parts = [slope for row in slopes for slope in row]
    for i, y in enumerate(outcomes):
        for w in outcomes[: i + 1]:
            taken = (slope * ring.covariance(z, w) for slope, z in zip(slopes[i], given, strict=True))
            parts.append(ring.covariance(y, w) - sum(taken, start=zero))
    for x in query.do:
        others = [w for w in query.do if w != x]
        on = {v: ring.effect(x, v, others) for v in (*query.names, *query.seen)}
        for name, row in zip(query.names, slopes, strict=True):
            taken = (slope * on[v] for slope, v in zip(row, query.seen, strict=True))
            parts.append(on[name] - sum(taken, start=zero))
    return parts
