"""Maximum likelihood from rows with holes.

The outer E-step fills the holes with what the model expects, the inner step is the fit of complete moments. EM crawls
where much is missing, so Newton steps on the likelihood of the observed values go in between; the last word has the
inner fit, which knows the boundaries of the model and tries several starts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.data import Moments, Patterns
from halftrek.data.check import flat
from halftrek.data.missing.curvature import quick
from halftrek.data.missing.descent import descend
from halftrek.data.missing.likelihood import completed, loglik
from halftrek.errors import DataError
from halftrek.estimation.district.district import Settings
from halftrek.estimation.given.checks import refuse_dependent, refuse_far_means, well_posed
from halftrek.estimation.given.options import Options
from halftrek.estimation.missing.incomplete import Point, complete_information, evaluate, information, metric
from halftrek.estimation.plan import Plan, make_plan
from halftrek.estimation.solve import Solution, solve_plan
from halftrek.estimation.space import Space, make_space
from halftrek.graphs import Edge, Graph, written
from halftrek.models import CGLSCM

ROUNDS = 10  # of Newton steps and inner fit; two are the rule
LAST_ROUNDS = 4  # at a boundary, where each inner fit is long and little is left to gain
EM_STEPS = 500  # where Newton has no place
FEASIBLE = 1e-6  # a lower log-likelihood than Newton's by more than this: Newton has left the model
SETTLED = 1e-8  # derivative per row, in units of each parameter's information
SETTLED_CRAWLING = 1e-6  # the same where there is no Hessian: a step that shows in no digit of a likelihood
FLAT = 1e-9  # eigenvalue of the scaled information that counts as none
HEAVY = 5e8  # patterns x entries squared x variables from which on a Hessian costs more than many gradients
FAR = 1e3  # standard deviations from zero of a mean from which on it is taken off before the search
COPY = 1e-11  # distance of a correlation from one that is rounding
FLOOR = 1e-10  # of a noise variance, as a share of the variable's variance


@dataclass(frozen=True, eq=False)
class Incomplete:
    """Where it ended: the inner solution, the moments that complete rows are expected to have, the likelihood."""

    solution: Solution
    model: CGLSCM
    moments: Moments
    loglik: float
    converged: bool
    flat: int  # directions of all parameters that the observed values do not determine
    path: tuple[float, ...]  # log-likelihoods on the way, none lower than the one before


def fit_incomplete(graph: Graph, plan: Plan, patterns: Patterns, options: Options, settings: Settings) -> Incomplete:
    """The model of highest likelihood of the observed values."""
    less = _far_off(patterns, options)
    if less is None:
        return _fit_incomplete(graph, plan, patterns, options, settings)
    found = _fit_incomplete(graph, plan, patterns.less(less), options, settings)
    mu = found.solution.mu + less - less @ found.solution.T
    moments = replace(found.moments, mean=found.moments.mean + less)
    return replace(found, solution=replace(found.solution, mu=mu), model=_moved(found.model, less), moments=moments)


def _far_off(patterns: Patterns, options: Options) -> Floats | None:
    """What to take off columns whose mean is so large that its own rounding would show in the likelihood."""
    mean, variance = patterns.available
    far = np.abs(mean) > FAR * np.sqrt(variance)
    return np.where(far, mean, 0.0) if far.any() and not options.intercepts else None


def _moved(model: CGLSCM, more: Floats) -> CGLSCM:
    """The model of variables that are larger by a constant each."""
    mu = model.mu + more - more @ model.T
    return CGLSCM(model.names, model.T, model.C, mu, model.W, model.latents, model.graph)


def _fit_incomplete(graph: Graph, plan: Plan, patterns: Patterns, options: Options, settings: Settings) -> Incomplete:
    _refuse_dependent(patterns, graph)
    first = patterns.warm
    if not well_posed(first.cov[None], first.n)[0]:
        refuse_dependent(first, graph)
    if options.intercepts:
        refuse_far_means(first, graph, {v for v, _ in options.intercepts})
    try:
        found = _Search(graph, plan, patterns, make_space(graph, plan.names, options), settings).run(first)
        if found is None:  # no hidden causes of two have these covariances: search among loadings
            wider = with_loadings(graph)
            wide_plan, space = make_plan(wider, plan.names, options), make_space(wider, plan.names, options)
            found = _Search(graph, wide_plan, patterns, space, settings, last=True).run(first)
    except np.linalg.LinAlgError:
        found = None
    if found is None:
        raise DataError(
            "with these missing values the likelihood has no maximum: some variable is almost a linear function of "
            "others in the rows that have all of them. Take it out of the graph, or get more complete rows"
        )
    if not well_posed(found.moments.cov[None], found.moments.n)[0]:
        refuse_dependent(found.moments, graph)
    return found


def refit_incomplete(
    graph: Graph, plan: Plan, patterns: Patterns, options: Options, start: CGLSCM, bend: Floats | None = None
) -> tuple[CGLSCM, float] | None:
    """The maximum next to a known model, for rows like those that it was fitted to, and its log-likelihood.

    ``bend``: the information of a row there, if it is known, spares that of these rows where they have many patterns.
    """
    if not patterns.observed.any(axis=0).all():
        return None
    less = _far_off(patterns, options)
    if less is not None:
        found = refit_incomplete(graph, plan, patterns.less(less), options, _moved(start, -less), bend)
        return None if found is None else (_moved(found[0], less), found[1])
    settings = Settings(starts=1, start=start.T)
    space = make_space(graph, plan.names, options)
    known = None if bend is None else patterns.total * bend
    search = _Search(graph, plan, patterns, space, settings, enough=1e-16, known=known)
    try:
        _refuse_dependent(patterns, graph)
        top = search.climb(start)
        model = None if top is None else search.arrived(top)
        if top is not None and model is not None:
            return (model, top.value) if well_posed(model.cov[None], patterns.total)[0] else None
        ended = fit_incomplete(graph, plan, patterns, options, settings)
    except (DataError, np.linalg.LinAlgError):
        return None
    return (ended.model, ended.loglik) if ended.converged else None


@dataclass(frozen=True, eq=False)
class _Search:
    graph: Graph
    plan: Plan
    patterns: Patterns
    space: Space
    settings: Settings
    last: bool = False
    enough: float = 1e-19  # rise of the likelihood per row that a step must promise
    known: Floats | None = None  # about the information, where it need not be worked out

    def run(self, first: Moments) -> Incomplete | None:
        """None if the maximum lies where the model of the plan, but not that of the space, has a boundary."""
        solution, model, value = self.inner(first, None)
        path = [value]
        settled = newton = False
        rounds = LAST_ROUNDS if self.last else ROUNDS
        for _ in range(rounds if self.settings.finish else 0):
            top = self.climb(model)
            if top is None or top.value < value - FEASIBLE:
                break
            mean, cov = self.space.moments(top.theta)
            filled = completed(self.patterns, mean, cov)
            T = self.space.arrays(top.theta)[0]
            step = self.inner(filled, T)
            if step[2] < top.value - FEASIBLE and not self.last:
                return None
            if step[2] < value - FEASIBLE:
                break
            newton, gain = True, step[2] - top.value
            solution, model, value = step
            path.append(value)
            if gain < 1e-9:
                settled = True
                break
        if not newton:
            solution, model, value, settled = self.em(solution, model, value, path)
        return self.ended(solution, model, value, settled, tuple(path))

    def inner(self, moments: Moments, T: Floats | None, *, quick: bool = False) -> tuple[Solution, CGLSCM, float]:
        """The fit of complete moments, from the usual starts and from coefficients that are known to be good."""
        # later moments are the model's own in part: falling short of them says nothing
        settings = self.settings if T is None else replace(self.settings, start=T, rows=None)
        if quick:
            settings = replace(settings, starts=1)
        solution = solve_plan(self.plan, moments.cov[None], moments.mean[None], settings)
        plan = self.plan
        model = CGLSCM(
            plan.names, solution.T[0], solution.C[0], solution.mu[0], solution.W[0], plan.latents, self.graph
        )
        return solution, model, loglik(self.patterns, model.mean, model.cov)

    def climb(self, model: CGLSCM) -> Point | None:
        """Newton steps to the maximum; None if the model lies on a boundary where there is no derivative."""
        theta = self.space.vector(model)
        lower = self._floors()
        point = evaluate(self.space, self.patterns, np.maximum(theta, lower))
        if self.heavy and point is not None:
            return self._crawl(point, lower)
        for _ in range(self.settings.max_iter):
            if point is None:
                return None
            moved = self._step(point, lower)
            if moved is None:
                return point
            point = moved
        return point

    @property
    def heavy(self) -> bool:
        """True if Hessians cost too much."""
        p, size = len(self.plan.names), self.space.size
        return len(self.patterns) * min(size**2 * p, p**4) > HEAVY

    def _crawl(self, point: Point, lower: Floats) -> Point:
        """Quasi-Newton steps, on the scale of the information that complete rows would have."""
        from scipy.optimize import minimize

        matrix, n = self._metric(point), self.patterns.total
        scale = _scale(matrix)
        values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
        known = values > FLAT
        root = vectors[:, known] / np.sqrt(values[known]) / scale[:, None]  # a unit step is one standard error

        def objective(x: Floats) -> tuple[float, Floats]:
            found = evaluate(self.space, self.patterns, np.maximum(point.theta + root @ x, lower))
            if found is None:
                return 1e3 * n - point.value, np.zeros_like(x)  # so high that the search turns back
            return -found.value, -(root.T @ found.gradient)

        start, gtol = np.zeros(int(known.sum())), SETTLED / 10.0 * np.sqrt(n)
        x = start
        if self.at_once(point):
            x, _ = descend(objective, start, enough=gtol, steps=self.settings.max_iter)
        else:
            patience = {"maxiter": self.settings.max_iter, "ftol": 0.0, "gtol": gtol, "maxcor": 20}
            with np.errstate(all="ignore"):
                x = minimize(objective, start, jac=True, method="L-BFGS-B", options=patience).x
        best = evaluate(self.space, self.patterns, np.maximum(point.theta + root @ x, lower))
        return point if best is None or best.value < point.value else best

    def _metric(self, point: Point) -> Floats:
        """What steps are measured in: about the information."""
        if self.known is not None:
            return self.known
        if not self.at_once(point):
            return complete_information(self.space, self.patterns.total, point)
        return metric(self.space, self.patterns, point)

    def at_once(self, point: Point) -> bool:
        """True if the information costs little, since all patterns are worked on at once."""
        return quick(self.patterns, self.space.moments(point.theta)[1])

    def _floors(self) -> Floats:
        """Lower bounds: those of noise variances."""
        lower = np.full(self.space.size, -np.inf)
        variance = self.patterns.available[1]
        for i, j, a in self.space.W_at:
            if i == j:
                lower[a] = FLOOR * variance[i]
        return lower

    def _step(self, point: Point, lower: Floats) -> Point | None:
        """The next point, or None where no step promises or brings a rise of the likelihood."""
        n = self.patterns.total
        pinned = (point.theta <= lower * (1.0 + 1e-6)) & (point.gradient < 0.0)
        move, gain = _direction(information(self.space, self.patterns, point), point.gradient, pinned)
        if move is None:
            expected = information(self.space, self.patterns, point, "expected")
            move, gain = _direction(expected, point.gradient, pinned, definite=True)
        if move is None or gain < self.enough * n:
            return None
        share = 1.0
        for _ in range(30):
            trial = evaluate(self.space, self.patterns, np.maximum(point.theta + share * move, lower))
            if trial is not None:
                rise = trial.value - point.value
                if rise >= 1e-4 * share * gain:
                    return trial
                if gain < 1e-12 * n and rise >= -_rounding(point.value):  # too small to show in the value
                    calmer = np.abs(trial.gradient[~pinned]).max() < np.abs(point.gradient[~pinned]).max()
                    return trial if calmer else None
            share /= 3.0
        return None

    def em(
        self, solution: Solution, model: CGLSCM, value: float, path: list[float]
    ) -> tuple[Solution, CGLSCM, float, bool]:
        """Plain EM, until the likelihood no longer rises."""
        for _ in range(EM_STEPS if self.settings.finish else self.settings.max_iter):
            filled = completed(self.patterns, model.mean, model.cov)
            step = self.inner(filled, model.T, quick=True)
            gain = step[2] - value
            if gain < -_rounding(value):
                return solution, model, value, False
            solution, model, value = step
            path.append(value)
            if gain < 1e-12 * self.patterns.total:
                return solution, model, value, True
        return solution, model, value, False

    def ended(
        self, solution: Solution, model: CGLSCM, value: float, settled: bool, path: tuple[float, ...]
    ) -> Incomplete:
        """What was found, with how much of the likelihood is left to climb and how flat it is."""
        moments = completed(self.patterns, model.mean, model.cov)
        flat = 0
        point = evaluate(self.space, self.patterns, self.space.vector(model)) if self.settings.finish else None
        if point is not None:
            matrix = self._matrix(point)
            settled = self.left(point, matrix) < (SETTLED_CRAWLING if self.heavy else SETTLED)
            if not self.heavy or self.at_once(point):
                scale = _scale(matrix)
                inside = _free(matrix / np.outer(scale, scale), self._at_floor(point))
                flat = int((np.linalg.eigvalsh(inside) < FLAT).sum())
        return Incomplete(solution, model, moments, value, settled, flat, path)

    def _matrix(self, point: Point) -> Floats:
        """The information; where it is too much work, that of as many complete rows."""
        if self.known is not None and self.heavy:
            return self.known
        if self.heavy and not self.at_once(point):
            return complete_information(self.space, self.patterns.total, point)
        return information(self.space, self.patterns, point)

    def left(self, point: Point, matrix: Floats) -> float:
        """Largest derivative per row, in units of each parameter's information."""
        slope = np.abs(point.gradient / _scale(matrix))[~self._at_floor(point)]
        return float(slope.max(initial=0.0) / np.sqrt(self.patterns.total))

    def _at_floor(self, point: Point) -> Flags:
        return np.asarray((point.theta <= self._floors() * (1.0 + 1e4)) & (point.gradient < 0.0))

    def arrived(self, point: Point) -> CGLSCM | None:
        """The model at the end of Newton steps; None if it is no maximum, or if no hidden causes of two are like it."""
        if not self.left(point, self._matrix(point)) < SETTLED_CRAWLING:
            return None
        T, W, C, mu = self.space.arrays(point.theta)
        plan = self.plan
        if any(task.pair_latents for task in plan.tasks):
            mean, cov = self.space.moments(point.theta)
            _, model, value = self.inner(completed(self.patterns, mean, cov), T, quick=True)
            return model if value > point.value - FEASIBLE else None
        loadings = np.zeros((len(plan.latents), len(plan.names)))
        loadings[list(self.space.latents)] = C
        return CGLSCM(plan.names, T, loadings, mu, W, plan.latents, self.graph)


def with_loadings(graph: Graph) -> Graph:
    """The same graph with a label of its own on each loading of a hidden cause of two, so that it is a parameter."""
    known = dict(graph.known)
    for cause, children in graph.latents.items():
        if len(children) == 2 and not any(Edge(cause, "->", c) in known for c in children):
            known |= {Edge(cause, "->", c): f"loading of {cause} on {c}" for c in children}
    return graph.with_(coefficients=written(known))


def _refuse_dependent(patterns: Patterns, graph: Graph) -> None:
    """Raise a DataError that names the variables if one is constant, a copy, or a linear function of others."""
    mean, variance = patterns.available
    constant = flat(mean, variance)
    if constant.any():
        culprit = patterns.names[int(np.argmax(constant))]
        raise DataError(f"{culprit!r} is constant, so it has no effect and no cause here; take it out of the graph")
    r = np.triu(np.abs(patterns.pairwise), 1)
    i, j = np.unravel_index(int(np.argmax(r)), r.shape)
    if r[i, j] > 1.0 - COPY:
        raise DataError(
            f"{patterns.names[i]!r} and {patterns.names[j]!r} are perfectly correlated where both are observed: one is "
            f"a copy of the other up to scale. Take one of them out of the graph"
        )
    if patterns.observed[0].all() and patterns.rows[0] > 2 * len(patterns.names):
        whole = Moments(patterns.names, patterns.n[0], patterns.mean[0], patterns.cov[0])
        if not well_posed(whole.cov[None], whole.n)[0]:
            refuse_dependent(whole, graph)


def _direction(
    matrix: Floats, gradient: Floats, pinned: Flags, *, definite: bool = False
) -> tuple[Floats | None, float]:
    """The step that a quadratic with this curvature asks for, and its promise; None if it bends the wrong way."""
    scale = _scale(matrix)
    values, vectors = np.linalg.eigh(_free(matrix / np.outer(scale, scale), pinned))
    slope = np.where(pinned, 0.0, gradient / scale)
    if values[0] < -1e-10 and not definite:
        return None, 0.0
    known = values > 1e-11
    along = vectors[:, known].T @ slope
    step = vectors[:, known] @ (along / values[known])
    return step / scale, float(0.5 * along @ (along / values[known]))


def _scale(matrix: Floats) -> Floats:
    diagonal = np.abs(np.diag(matrix))
    return np.asarray(np.sqrt(np.maximum(diagonal, 1e-300)))


def _free(matrix: Floats, pinned: Flags) -> Floats:
    """The matrix with rows and columns of pinned parameters replaced by those of the identity."""
    free = ~pinned
    return np.where(free[:, None] & free[None, :], matrix, np.eye(len(matrix)))


def _rounding(value: float) -> float:
    return 1e-11 * (1.0 + abs(value))
