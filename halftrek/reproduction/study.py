"""Simulate the paper's experiments, fit them the paper's way and ours, and repeat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Mask
from halftrek.data import Moments
from halftrek.errors import InputError
from halftrek.estimation import fit, fit_batch
from halftrek.estimation.reference import CGLGoResult, cgl_go
from halftrek.examples import catalog
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.reproduction.accuracy import accuracy_of
from halftrek.reproduction.bound import Noise
from halftrek.reproduction.comparisons import Models, answer, compare_answers, compare_parameters, questions
from halftrek.reproduction.printed import EXPERIMENTS, PrintedExperiment, PrintedQuery
from halftrek.reproduction.results import Accuracy, ExperimentResult, Reproduction, Start

Progress = Callable[[int, int], None]
STARTS = 5
_CHUNK = 20  # samples that are fitted together, between two words to the progress bar
_MASKS: tuple[Mask, ...] = ("edge", "ancestor")
_NOISES: tuple[Noise, ...] = ("free", "unit")
# Under the paper's mask the likelihood is flat near its top, and EM crawls there without end.
_TOLERANCE: dict[Mask, float] = {"edge": 1e-7, "ancestor": 1e-5}


def run(
    random_state: int = 0, rows: int = 10_000, replicates: int = 200, progress: Progress | None = None
) -> Reproduction:
    """Both experiments of the paper on samples of ``rows`` rows, and ``replicates`` further samples of each.

    ``progress`` is called as ``progress(done, total)``.
    """
    if rows < 10:
        raise InputError(f"rows must be at least 10, not {rows}")
    if replicates < 2:
        raise InputError(f"replicates must be at least 2, not {replicates}")
    per_experiment = len(_MASKS) * STARTS + 1 + replicates
    counter = _Counter(progress, per_experiment * len(EXPERIMENTS))
    streams = np.random.default_rng(random_state).spawn(len(EXPERIMENTS))
    results = [
        _experiment(printed, rng, rows, replicates, counter) for printed, rng in zip(EXPERIMENTS, streams, strict=True)
    ]
    return Reproduction(random_state, rows, replicates, tuple(results))


class _Counter:
    """Counts finished pieces of work for whoever watches."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def advance(self, pieces: int = 1) -> None:
        self._done += pieces
        if self._progress is not None:
            self._progress(self._done, self._total)


def _experiment(
    printed: PrintedExperiment, rng: np.random.Generator, rows: int, replicates: int, counter: _Counter
) -> ExperimentResult:
    entry = catalog(printed.name)
    original = entry.model
    sample = moments_of(original, rows, rng)
    exact_unit = fit(entry.graph, sample, noise="unit").model
    exact = fit(entry.graph, sample, noise="free").model
    counter.advance()
    runs = {mask: _runs(entry.graph, sample, mask, counter) for mask in _MASKS}
    models = Models(original, runs["edge"][0].model, exact_unit, exact)
    starts = [_start(k, result, printed) for mask in _MASKS for k, result in enumerate(runs[mask])]
    return ExperimentResult(
        name=printed.name,
        title=entry.title,
        table=printed.table,
        original=original,
        answers=tuple(compare_answers(printed, models)),
        parameters=tuple(compare_parameters(printed, models)),
        starts=tuple(starts),
        accuracy=tuple(_study(printed, original, rng, rows, replicates, counter)),
    )


def moments_of(model: CGLSCM, rows: int, rng: np.random.Generator) -> Moments:
    """The moments of a sample."""
    values = np.asarray(model.sample(rows, rng))
    mean = values.mean(axis=0)
    return Moments(model.names, rows, mean, (values - mean).T @ (values - mean) / rows)


def _runs(graph: Graph, sample: Moments, mask: Mask, counter: _Counter) -> list[CGLGoResult]:
    results = []
    for k in range(STARTS):
        results.append(cgl_go(graph, sample, mask=mask, random_state=k, tol=_TOLERANCE[mask]))
        counter.advance()
    return results


def _start(k: int, result: CGLGoResult, printed: PrintedExperiment) -> Start:
    answers = tuple((questions(q)[0], answer(result.model, q)[0]) for q in printed.queries)
    return Start(result.mask, k, result.loglik, result.iterations, result.converged, answers)


def _study(
    printed: PrintedExperiment,
    original: CGLSCM,
    rng: np.random.Generator,
    rows: int,
    replicates: int,
    counter: _Counter,
) -> list[Accuracy]:
    """Estimates of every answer from new samples, with free and with unit noise variances."""
    estimates: dict[Noise, list[Floats]] = {noise: [] for noise in _NOISES}
    for first in range(0, replicates, _CHUNK):
        count = min(_CHUNK, replicates - first)
        samples = [moments_of(original, rows, rng) for _ in range(count)]
        for noise in _NOISES:
            fitted = fit_batch(original.graph, samples, noise=noise)
            answers = [_batch_answers(fitted.T, fitted.omega, fitted.mu, original.names, q) for q in printed.queries]
            answers_now = np.concatenate(answers, axis=1)
            answers_now[~fitted.converged] = np.nan
            estimates[noise].append(answers_now)
        counter.advance(count)
    labels = [(query, part) for query in printed.queries for part in (0, 1)]
    return [
        accuracy_of(original, noise, {query.cause: 1.0}, query.outcome, part, questions(query)[part], column, rows)
        for noise in _NOISES
        for (query, part), column in zip(labels, np.concatenate(estimates[noise]).T, strict=True)
    ]


def _batch_answers(T: Floats, omega: Floats, mu: Floats, names: tuple[str, ...], query: PrintedQuery) -> Floats:
    """``answer`` for a batch of models: arrays of (mean, variance)."""
    x, y = names.index(query.cause), names.index(query.outcome)
    T, omega, mu = T.copy(), omega.copy(), mu.copy()
    T[:, :, x] = 0.0
    omega[:, x, :] = omega[:, :, x] = 0.0
    mu[:, x] = 1.0
    into_y = np.linalg.inv(np.eye(len(names)) - T)[:, :, y]
    return np.stack([np.sum(into_y * mu, axis=1), np.einsum("bi,bij,bj->b", into_y, omega, into_y)], axis=1)
