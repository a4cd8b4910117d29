"""What a fit leaves of an answer that the graph does not determine: its set, and two models that fit alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halftrek.errors import HalftrekError
from halftrek.estimation import Fitted
from halftrek.identification import Witness
from halftrek.layer import Layer
from halftrek.models import CGLSCM, Gaussian
from halftrek.partial.bounding import bounds_of
from halftrek.partial.fibre import Fibre, fibre_of
from halftrek.partial.hidden.counted import counted, held_beside, on_scale
from halftrek.queries import Query, evaluate
from halftrek.queries.observed.values import observed
from halftrek.results.sets.bounds import OUTER, Bounds

VARIABLES = 12  # up to so many ...
FREE = 2  # ... and so many free weights the set takes no time that one would notice
DRAWN = 40  # models with the fitted covariance, of which two are shown
APART = 1e-6  # relative difference of two answers that can be seen


@dataclass(frozen=True, eq=False)
class Left:
    """``bounds``: all values, where they are quickly had. ``witness``: two models with the fitted covariance."""

    bounds: Bounds | None = None
    witness: Witness | None = None


def left_of(fit: Fitted, query: Query) -> Left:
    """What can be said of a refused question with the data of a fit; parts that cannot be had are None."""
    if fit.graph.hidden:
        return _with_hidden(fit, query)
    try:
        fibre = fibre_of(fit.graph, fit.model.cov, fit.model.mean, fit.model.names)
    except (HalftrekError, np.linalg.LinAlgError):
        return Left()
    bounds = _bounds(fit, query, fibre, len(fit.graph))
    return Left(bounds, _witness(query, fibre, fit.moments.layer) or _ends(bounds))


def _with_hidden(fit: Fitted, query: Query) -> Left:
    """The same where hidden variables have causes, if the graph that sets are computed on is small."""
    seen = counted(fit.graph, query, held=held_beside(fit)[1])
    graph = fit.graph.project() if seen.why_not else seen.graph
    p = len(graph)
    try:
        fibre = fibre_of(graph, fit.model.cov[:p, :p], fit.model.mean[:p], fit.model.names[:p])
    except (HalftrekError, np.linalg.LinAlgError):
        return Left()
    bounds = _bounds(fit, query, fibre, p)
    drawn = None if seen.why_not else _witness(query, fibre, None)
    if drawn is None:
        return Left(bounds, _ends(bounds) if bounds is not None and bounds.certificate != OUTER else None)
    first, second = (on_scale(model, fit.graph, seen.loose) for model in drawn.models)
    return Left(bounds, replace(drawn, models=(first, second)))


def _ends(found: Bounds | None) -> Witness | None:
    """The two models at the ends of a set, where none can be drawn: of a question with finitely many values."""
    if found is None or found.question is None or found.model_low is None or found.model_high is None:
        return None
    if abs(found.high - found.low) <= APART * max(abs(found.low), abs(found.high)):
        return None
    return Witness((found.model_low, found.model_high), str(found.question), (found.low, found.high))


def _bounds(fit: Fitted, query: Query, fibre: Fibre, variables: int) -> Bounds | None:
    if variables > VARIABLES or fibre.dimension > FREE:
        return None
    try:
        return bounds_of(fit, query)
    except (HalftrekError, np.linalg.LinAlgError):  # several outcomes, an outcome that is 0 or 1: no set of one number
        return None


def _witness(query: Query, fibre: Fibre, layer: Layer | None) -> Witness | None:
    """Two models in the middle of what is drawn; None if none differ, or if a draw does not stay on the fibre."""
    if not fibre.dimension or fibre.left:
        return None
    drawn = np.random.default_rng(0).normal(size=(DRAWN, fibre.dimension)) * fibre.units
    with np.errstate(all="ignore"):
        models = fibre.at(drawn)
        sound = np.isfinite(models.T).all(axis=(-2, -1)) & (models.noise > 0.0).all(axis=-1)
    answers = [
        (answer, model) for k in np.flatnonzero(sound) if (answer := _one(query, model := models.one(int(k)), layer))
    ]
    if len(answers) < 2:
        return None
    answers.sort(key=lambda pair: pair[0][1])
    (first, low), (second, high) = answers[len(answers) // 4], answers[(3 * len(answers)) // 4]
    if abs(second[1] - first[1]) <= APART * max(abs(first[1]), abs(second[1])):
        return None
    return Witness((low, high), first[0], (first[1], second[1]))


def _one(query: Query, model: CGLSCM, layer: Layer | None) -> tuple[str, float] | None:
    """What the question comes to in a model, by name; None if it is not one number or not finite."""
    try:
        found = evaluate(query, model) if layer is None else observed(query, model, layer, slopes=False).result
    except (HalftrekError, np.linalg.LinAlgError):
        return None
    if isinstance(found, Gaussian):
        if len(found.names) != 1:
            return None
        found = float(found.mean[0])
        return (f"the mean in {query}", found) if np.isfinite(found) else None
    return (str(query), float(found)) if np.isfinite(found) else None
