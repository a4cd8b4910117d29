"""Data sets drawn like one whose columns have normal variables behind them: cuts and moments of each, and its fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Redraw
from halftrek.data import RowBlock
from halftrek.data.layers import all_rows
from halftrek.errors import DataError, InputError
from halftrek.estimation import BatchFit, Fitted, fit_batch
from halftrek.estimation.dwls import fit_dwls
from halftrek.estimation.given.options import needs_whole
from halftrek.estimation.many.batch import joined
from halftrek.inference.draws.bootstrap import Replicates
from halftrek.inference.draws.hidden_draws import AT_ONCE, refitted, stacked
from halftrek.inference.draws.resample import Progress
from halftrek.inference.information.robust import cluster_correction, rows_needed
from halftrek.layer import Layer, layer_of, with_weights


def layer_replicates(
    fit: Fitted, kind: Redraw, replicates: int, random_state: int, progress: Progress | None
) -> Replicates:
    """Fits of rows (or clusters) drawn again, each with cuts of its own."""
    if kind == "parametric":
        raise InputError(
            'interval="parametric" is not known where columns are ordered or ranked; ask for interval="influence" or '
            'interval="bootstrap"'
        )
    layer = fit.moments.layer
    assert layer is not None  # this kind of data
    source = rows_needed(fit, f'interval="{kind}"')
    rows, sampling = all_rows(source.select(layer.names)), source.sampling is not None
    kinds = {v: m.kind for v, m in zip(layer.names, layer.margins, strict=True)}
    found: list[Layer] = []
    drawn = 0
    total = replicates if kind == "bootstrap" else int(_clusters(rows).max()) + 1
    for times in row_times(rows, kind, total, sampling, np.random.default_rng(random_state)):
        drawn += 1
        there = times > 0.0
        with suppress(DataError):  # an empty cell: a data set without a fit
            one = layer_of(layer.names, rows.values[there], kinds, times[there], strict=False)
            weighted = fit.method == "dwls"
            found.append(with_weights(one, rows.values[there], times[there], fit.n) if weighted else one)
        if progress is not None:
            progress(drawn, total)
    if not found:
        raise DataError("no data set drawn from these rows has a fit: categories are too rare. Merge some of them")
    if fit.method == "dwls":
        return _weighted(fit, found, drawn, kind)
    mean, cov = np.stack([one.mean for one in found]), np.stack([one.cov for one in found])
    n = np.full(len(found), fit.n)
    if needs_whole(fit.graph):
        parts = [refitted(fit, stacked(fit, mean[some], cov[some], n[some])) for some in _portions(len(found))]
        kept = np.concatenate([flags for _, flags in parts])
        layers = tuple(found[i] for i in np.flatnonzero(kept))
        return Replicates(joined([batch for batch, _ in parts]), drawn, kind, layers)
    batch = fit_batch(fit.graph, cov=cov, mean=mean, n=n, starts=1, start=fit.model.T)
    good = np.flatnonzero(batch.converged)
    return Replicates(batch.take(good), drawn, kind, tuple(found[i] for i in good))


def _weighted(fit: Fitted, layers: list[Layer], drawn: int, kind: Redraw) -> Replicates:
    """Fits by weighted least squares, each with weights of its own, from where the fit of all rows ended."""
    models, kept = [], []
    for layer in layers:
        found = fit_dwls(replace(fit, moments=replace(fit.moments, mean=layer.mean, cov=layer.cov, layer=layer)))
        if found.converged:
            models.append(found.model)
            kept.append(layer)
    if not models:
        raise DataError("weighted least squares of no data set drawn from these rows came to an end")
    one, code = models[0], np.full(len(models), "converged", dtype="<U17")
    T, C, W, mu = (np.stack([getattr(m, name) for m in models]) for name in ("T", "C", "W", "mu"))
    batch = BatchFit(fit.graph, one.names, one.latents, T, C, W, mu, np.full(len(models), fit.loglik), code)
    return Replicates(batch, drawn, kind, tuple(kept))


def _portions(count: int) -> list[slice]:
    return [slice(first, first + AT_ONCE) for first in range(0, count, AT_ONCE)]


def _clusters(rows: RowBlock) -> Floats:
    if rows.cluster is None:
        raise InputError('interval="jackknife" leaves out one cluster at a time: say with cluster= which rows are one')
    return rows.cluster


def row_times(rows: RowBlock, kind: Redraw, total: int, sampling: bool, rng: np.random.Generator) -> Iterator[Floats]:
    """For each data set how often each row is in it, times its sampling weight."""
    own = np.ones(len(rows)) if rows.weights is None else rows.weights
    units = None if rows.cluster is None else int(rows.cluster.max()) + 1
    if units is not None:
        cluster_correction(units)
    for k in range(total):
        if rows.cluster is not None and units is not None:
            by_cluster = np.ones(units)
            if kind == "jackknife":
                by_cluster[k] = 0.0
            else:
                by_cluster = rng.multinomial(units, np.full(units, 1.0 / units)).astype(float)
            yield own * by_cluster[rows.cluster]
        elif sampling:
            yield own * rng.multinomial(len(own), np.full(len(own), 1.0 / len(own)))
        else:
            yield rng.multinomial(round(float(own.sum())), own / own.sum()).astype(float)
