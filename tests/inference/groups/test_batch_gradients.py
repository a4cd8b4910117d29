"""Answers of many models at once are those of each model, and so are their gradients."""

from __future__ import annotations

import numpy as np
import pytest

from halftrek.data import Moments
from halftrek.estimation import fit_batch
from halftrek.inference.groups.batch_gradients import answers
from halftrek.models import Gaussian
from halftrek.queries import (
    Counterfactual,
    DirectEffect,
    ErrorCovariance,
    Interventional,
    PathEffect,
    Query,
    ThroughEffect,
    TotalEffect,
    evaluate,
)
from halftrek.queries.gradients import linearize
from halftrek.queries.types import Potential
from halftrek.simulation import random_model
from halftrek.syntax import parse_graph

GRAPH = parse_graph("a -> b -> c -> d; a -> c; a -> d; b <-> d")


@pytest.mark.parametrize(
    "query",
    [
        DirectEffect("a", "d"),
        TotalEffect("a", "d"),
        TotalEffect("b", "d"),
        PathEffect(("a", "b", "c")),
        ThroughEffect(("a", "c", "d")),
        ErrorCovariance("b", "d"),
        Interventional(("d",), {"b": 1.5}),
        Interventional(("d", "c"), {"b": 1.5}, {"a": 0.5}),
        Interventional(("d",), {}, {"a": 0.5, "c": -1.0}),
        Counterfactual((Potential("d", {"b": 1.0}),), {Potential("b", {}): 0.0}),
    ],
    ids=str,
)
def test_answers_of_all_models_are_those_of_each(query: Query) -> None:
    model = random_model(GRAPH, random_state=2)
    samples = [np.asarray(model.sample(200, random_state=seed)) + np.arange(4.0) for seed in range(3)]
    moments = [Moments(model.names, 200, rows.mean(axis=0), np.cov(rows.T, bias=True)) for rows in samples]
    batch = fit_batch(GRAPH, moments)
    found = answers(batch, query)
    looked = 0
    for b, one in enumerate(batch):
        value, slopes = evaluate(query, one), linearize(query, one)
        if isinstance(value, Gaussian):
            np.testing.assert_allclose(found.values[b], value.mean, rtol=1e-9)
            np.testing.assert_allclose(found.variances[b], value.variance, rtol=1e-9)
        else:
            assert found.values[b] == pytest.approx([value], rel=1e-9)
            assert found.variances[b].size == 0
        several = [*zip(found.value_slopes, slopes.values, strict=True)]
        several += zip(found.variance_slopes, slopes.variances, strict=True)
        for mine, alone in several:
            np.testing.assert_allclose(mine.T[b], alone.T, atol=1e-9)
            np.testing.assert_allclose(mine.omega[b], alone.omega, atol=1e-9)
            np.testing.assert_allclose(mine.mean[b], alone.mean, atol=1e-9)
            looked += 1
    assert looked >= 3
