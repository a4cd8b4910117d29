"""A fit with some edges varied: on the models of its covariance where data leave them free, else by refits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halftrek import identification
from halftrek.bottom.arrays import Flags, Floats
from halftrek.errors import InputError, NotIdentifiedError, QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import refit
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Edge, Graph
from halftrek.identification import Verdict
from halftrek.identification.local.jacobian import jacobian_test
from halftrek.inference import How
from halftrek.partial.hidden.counted import as_observed, counted, held_beside, without_errors
from halftrek.partial.hidden.marked import unmarked
from halftrek.partial.varied.engine.edges import held, plain, relaxed
from halftrek.partial.varied.engine.equations import Equations, Scale, make_equations, start_of
from halftrek.partial.varied.engine.points import Points, points_of, stacked
from halftrek.partial.varied.engine.walk import (
    free_given_covariance,
    orientation,
    others,
    settled,
    undetermined,
    walk,
)
from halftrek.partial.varied.engine.within import districts_of, is_large, within
from halftrek.queries import Query, check_query, evaluate
from halftrek.queries.evaluate import values_of
from halftrek.queries.observed.values import behind_question
from halftrek.queries.types import DirectEffect, ErrorCovariance
from halftrek.results.given.reading import asked_of
from halftrek.trust.judge import SURE, Judged, judge_line, rests_of
from halftrek.trust.strength import weakest_step

HANGS = 1e-5  # share by which what data tell may differ between models of one covariance
UNTRIED = 0.1234567  # a value of no meaning, at which it is decided whether holding the edge gives an answer


@dataclass(frozen=True, eq=False)
class Family:
    """The fit, the question, and the edges that take other values."""

    fitted: Fitted
    query: Query
    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        check_query(self.query, self.fitted.graph)
        one_number(self.fitted, self.behind)

    @cached_property
    def behind(self) -> Query:
        """The question that models answer: about the variables behind columns that are ordered or ranked."""
        layer = self.fitted.moments.layer
        return self.query if layer is None else behind_question(self.query, layer)

    @cached_property
    def graph(self) -> Graph:
        """The graph with the edges in it, and free."""
        return relaxed(plain(self.fitted.graph), self.edges)

    @cached_property
    def _space(self) -> Space:
        return make_space(self.graph, self.fitted.model.names, self.fitted.options)

    @property
    def equations(self) -> Equations:
        """What the models of the fitted covariance have to fulfil."""
        return self._system[0]

    @property
    def start(self) -> Floats:
        """The fitted model among them."""
        return self._system[1]

    @cached_property
    def _system(self) -> tuple[Equations, Floats]:
        """Both, of all districts, or where these are many of the ones that the edges touch."""
        whole = make_equations(self._space, self.fitted.model.cov, self.edges)
        start = start_of(whole, self._space, self._space.vector(self.fitted.model))
        if self.graph.hidden or not is_large(whole):
            return whole, start
        ours = districts_of(self.graph, self._space.names, whole)
        touched = [at for edge, (_, *ends) in zip(self.edges, whole.varied, strict=True)
                   for at in (ends if edge.kind == "<->" else ends[1:])]  # fmt: skip
        return within(whole, start, np.isin(ours, ours[touched]))

    @cached_property
    def direct(self) -> bool:
        """True if data leave the edges free: their values can be changed and the fitted covariance stays.

        Hidden variables with causes have to count as observed then, or each value is fitted. A scale that the edges
        would move is no scale at which the covariance stays.
        """
        held = held_beside(self.fitted)[1]
        if self.graph.hidden:
            seen = counted(self.graph, held=held)
            if seen.why_not or seen.loose or without_errors(self.fitted.model):
                return False
        return not held and free_given_covariance(self.equations, self.start)

    @cached_property
    def told(self) -> bool:
        """True if data tell the edges, so that they speak against other values than those of the fit.

        Beside hidden variables there are edges that data leave free and whose values each have to be fitted.
        """
        if self.direct or not self.graph.hidden or self.graph.intercepts or held_beside(self.fitted)[1]:
            return not self.direct
        numbers = [
            DirectEffect(e.first, e.second) if e.kind == "->" else ErrorCovariance(e.first, e.second)
            for e in self.edges
        ]
        return any(jacobian_test(self.graph, number) for number in numbers)

    @cached_property
    def without_share(self) -> Flags:
        """For each edge, True if its values have no correlation that data tell.

        Those are arcs one end of which has an error variance that other models of the same covariance have not.
        """
        if self.fitted.graph.hidden and not self.direct:
            return np.zeros(len(self.edges), dtype=bool)
        here, value = self.start[None], self.equations.at(self.start[None])[2]
        there = next(others(self.equations, self.start, value), None)
        moved = np.zeros(len(self.equations.sigma), dtype=bool)
        if there is not None:
            moved = ~np.isclose(self._noise(there)[0], self._noise(here)[0], rtol=HANGS, atol=0.0)
        return np.array([e.kind == "<->" and bool(moved[i] or moved[j])
                         for e, (_, i, j) in zip(self.edges, self.equations.varied, strict=True)])  # fmt: skip

    def _noise(self, z: Floats) -> Floats:
        """Error variances, one line for each solution."""
        T, C = self.equations.T.put(self.equations.T0, z), self.equations.C.put(self.equations.C0, z)
        return np.diagonal(self.equations.errors(T, C)[0], axis1=1, axis2=2)

    @property
    def by_share(self) -> bool:
        """True if correlations, and weights in standard deviations, can be given, and the fitted covariance stays."""
        return self.direct and not self.without_share.any()

    def shares(self, points: Points) -> Floats:
        """Those of models, one column for each edge; nan where data tell none."""
        return np.where(self.without_share, np.nan, points.shares(self.edges))

    @cached_property
    def verdict(self) -> Verdict:
        """Whether the question has an answer once the edges are held."""
        found = self._verdict_at(np.full(len(self.edges), UNTRIED))
        if not (found.answerable or found.status == "finite"):
            raise NotIdentifiedError(found.explain(), found)
        return found

    @property
    def answered(self) -> bool:
        """True if the question has an answer once the edges are held."""
        try:
            return bool(self.verdict)
        except NotIdentifiedError:
            return False

    @cached_property
    def _weak(self) -> Verdict | None:
        """How the graph as it is answers, if by instruments that are not strong: holding edges makes none stronger."""
        if self.fitted.moments.layer is not None:  # its judge asks each model
            return None
        query, verdict = asked_of(self.fitted.graph, self.query)
        if not verdict.identified or verdict.recipe is None:
            return None
        error = float(np.sqrt(rests_of(self.fitted, query).variance.sum(axis=1))[0])
        weakest = weakest_step(self.fitted, query, verdict, error)
        return verdict if weakest is not None and weakest.F < SURE else None

    def _verdict_at(self, values: Floats) -> Verdict:
        graph = self._held(values)
        if not (graph.hidden and self.direct):
            return identification.identify(graph, self.query, witness=False)
        found = identification.identify(as_observed(graph), self.query, witness=False)  # signs are those of the fit
        return replace(found, graph=graph, scope="linear", recipe=None)

    def _held(self, values: Floats) -> Graph:
        return held(plain(self.fitted.graph), self.edges, values.tolist())

    @property
    def standing(self) -> Floats:
        """What the edges are in the fitted model: weights and covariances."""
        if self.fitted.graph.hidden:
            return np.asarray(stacked([self.fitted], self.graph, self.fitted.model.names).values(self.edges)[0])
        return np.asarray(points_of(self.equations, self.start[None], self.fitted, self.graph).values(self.edges)[0])

    @property
    def units(self) -> Floats:
        """What one standard deviation is on the scale of each edge."""
        if self.fitted.graph.hidden:
            model = self.fitted.model
            one = dict(zip(model.names, np.sqrt(np.diag(model.cov)).tolist(), strict=True))
            return np.array(
                [one[e.second] / one[e.first] if e.kind == "->" else one[e.first] * one[e.second] for e in self.edges]
            )
        sd = self.equations.sd
        return np.array(
            [sd[j] / sd[i] if scale == "weight" else sd[i] * sd[j] for scale, i, j in self.equations.varied]
        )

    def at(self, values: Floats) -> Points:
        """The models with these weights and covariances, one line for each."""
        if not self.direct:
            fits = [self._inside(self._refit(line)) for line in values]
            return stacked(fits, self.graph, self.fitted.model.names)
        solutions = walk(self.equations, self.start, values / self.units)
        points = points_of(self.equations, solutions, self.fitted, self.graph)
        for edge, (_, i, j), column in zip(self.edges, self.equations.varied, values.T, strict=True):
            matrix = points.matrix(edge)
            there = np.isfinite(matrix[:, i, j])
            matrix[there, i, j] = column[there]  # to the last digit: a zero is a zero
            if edge.kind == "<->":
                matrix[there, j, i] = column[there]
        return points

    @cached_property
    def _in_shares(self) -> Equations:
        scales: list[Scale] = ["weight" if e.kind == "->" else "correlation" for e in self.edges]
        return self.equations.on(*scales)

    def at_shares(self, shares: Floats) -> Points:
        """The models with these correlations of errors, and weights in standard deviations; only where ``by_share``."""
        solutions = walk(self._in_shares, self.start, shares)
        return points_of(self._in_shares, solutions, self.fitted, self.graph)

    def near(self, shares: Floats, solutions: Floats) -> Points:
        """The same, from solutions nearby; where these are not near enough, from the fitted model."""
        found = settled(self._in_shares, solutions, shares, self._flat)
        far = np.isnan(found).any(axis=1)
        found[far] = walk(self._in_shares, self.start, shares[far])
        return points_of(self._in_shares, found, self.fitted, self.graph)

    @cached_property
    def _flat(self) -> bool:
        return undetermined(self.equations, self.start)

    def turns(self, points: Points) -> Floats:
        """A number for each model that changes its sign from one side of a pole to the other; nan where unknown."""
        found = np.full(len(points), np.nan)
        here = np.flatnonzero(points.there)
        if points.solutions is not None and len(here):
            found[here] = orientation(self.equations, self.start, points.solutions[here])
        return found

    def _refit(self, values: Floats) -> Fitted | None:
        """None if no model of the data has these values, or none was reached."""
        options = self.fitted.options
        try:
            with np.errstate(all="ignore"):  # far from what the data allow
                found = refit(
                    self.fitted, self._held(values), noise=dict(options.noise), intercepts=dict(options.intercepts)
                )
        except InputError:
            return None
        return found if found.converged else None

    def _inside(self, found: Fitted | None) -> Fitted | None:
        """None for a fit that would need negative variances: where an error ends at none that has some in the fit."""
        if found is None or not self.graph.hidden:
            return found
        return found if set(without_errors(found.model)) <= set(without_errors(self.fitted.model)) else None

    def deviance(self, value: float) -> float | None:
        """How much twice the log-likelihood falls where one edge is held at a value; None if no model has it."""
        if self.fitted.moments.layer is not None:  # rows have no normal likelihood
            return None
        found = self._refit(np.array([value]))
        return None if found is None else max(0.0, 2.0 * (self.fitted.loglik - found.loglik))

    def judged(self, points: Points, at: int, how: How) -> Judged:
        """The answer of one of the models with its interval, which comes from ``trust`` like every other."""
        values = points.values(self.edges)[at]
        there = points.fits[at] if points.fits else None
        if there is None:
            graph = self._held(values)
            there = replace(self.fitted, graph=graph, model=points.model(at, graph))
        verdict = self._weak or (self.verdict if self.verdict.recipe is None else self._verdict_at(values))
        return judge_line(there, self.query, evaluate(self.behind, there.model), verdict, how)


def drawn_value(family: Family, value: float, drawn: Graph) -> float:
    """The value of one edge on the scales of a graph, from that on the scales of items."""
    points = family.at(np.array([[value]]))
    noise = np.diagonal(points.W, axis1=1, axis2=2)
    return float(unmarked(family.edges[0], np.array([value]), noise, points.names, drawn)[0])


def one_number(fitted: Fitted, query: Query) -> float:
    """The fitted model's answer, if it is one number."""
    found = values_of(query, fitted.model)[0]
    if found.shape[-1] != 1:
        raise QueryError(f"{query} has several outcomes; ask for one")
    return float(found[0])
