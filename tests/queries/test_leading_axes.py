"""Models with leading axes: values and gradients of many at once are those of each, whatever is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.models import CGLSCM, Gaussian
from halftrek.queries import evaluate
from halftrek.queries.evaluate import values_of
from halftrek.queries.gradients import gradients_of, linearize
from halftrek.queries.kinds import statistics
from halftrek.simulation import random_model
from halftrek.syntax import parse_graph, parse_question
from tests.narrow import some

GRAPH = parse_graph("a -> b -> c -> d; a -> c; a -> d; b <-> d; latent U; U -> {a, c}; d -> e")

QUESTIONS = [
    "a -> d",
    "a ~> d",
    "e ~> a",
    "a -> b -> c",
    "a ~> c ~> d",
    "b <-> d",
    "P(d | do(b=1.5))",
    "P(d, c | do(b=1.5), a=0.5)",
    "P(d | a=0.5, c=-1)",
    "P(d_{b=1}, c_{b=0} | b=0, d=2)",
    "P(d | do(b += 1))",
    "P(d | do(b *= 2))",
    "P(d, b | do(b ~ N(0.5, 2)))",
    "P(d_{b=1, c_{b=0}} | a=1)",
    "P(d_{b -> c = 1} - 2 * d)",
    "E[d | do(b=1)]",
    "E[d | b > 0]",
    "Var[d | do(b=1), a=1]",
    "Var[d | b > 0, c=1]",
    "SD[d | do(b=1)]",
    "Cov[d, c | do(b=1)]",
    "Corr[d, c]",
    "P(d > 1 | do(b=1))",
    "P(0 < d < 1, c > 0 | do(b=1), a > 0)",
    "Q(0.9, d | do(b=1))",
    "std(a ~> d)",
    "E[d | do(b=1)] - E[d | do(b=0)]",
    "2 * (a ~> c) / (std(b -> c) + 1)",
]


@dataclass(frozen=True, eq=False)
class Stack:
    """Models of one graph, in an array of any shape."""

    graph: Graph
    each: np.ndarray

    def _stacked(self, name: str) -> np.ndarray:
        arrays = np.stack([getattr(model, name) for model in self.each.ravel()])
        return arrays.reshape(*self.each.shape, *arrays.shape[1:])

    @property
    def names(self) -> tuple[str, ...]:
        return self.graph.observed

    @property
    def T(self) -> np.ndarray:
        return self._stacked("T")

    @property
    def C(self) -> np.ndarray:
        return self._stacked("C")

    @property
    def W(self) -> np.ndarray:
        return self._stacked("W")

    @property
    def mu(self) -> np.ndarray:
        return self._stacked("mu")

    @property
    def B(self) -> np.ndarray:
        return self._stacked("B")

    @property
    def omega(self) -> np.ndarray:
        return self._stacked("omega")

    @property
    def mean(self) -> np.ndarray:
        return self._stacked("mean")

    @property
    def cov(self) -> np.ndarray:
        return self._stacked("cov")


def stack(graph: Graph, models: list[CGLSCM], shape: tuple[int, ...]) -> Stack:
    each = np.empty(len(models), dtype=object)
    each[:] = models
    return Stack(graph, each.reshape(shape))


MODELS = [
    CGLSCM(m.names, m.T, m.C, m.mu + np.arange(5.0), m.W, m.latents, GRAPH)
    for m in (random_model(GRAPH, random_state=seed) for seed in range(6))
]


@pytest.mark.parametrize("shape", [(6,), (2, 3)], ids=str)
@pytest.mark.parametrize("question", QUESTIONS)
def test_values_of_many_are_those_of_each(question: str, shape: tuple[int, ...]) -> None:
    query = parse_question(question)
    values, variances = values_of(query, stack(GRAPH, MODELS, shape))
    assert values.shape[:-1] == variances.shape[:-1] == shape
    for k, model in some(enumerate(MODELS)):
        at, result = np.unravel_index(k, shape), evaluate(query, model)
        if isinstance(result, Gaussian):
            np.testing.assert_allclose(values[at], result.mean, rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(variances[at], result.variance, rtol=1e-12, atol=1e-14)
        else:
            np.testing.assert_allclose(values[at], [result], rtol=1e-12, atol=1e-14)
            assert variances[at].size == 0


@pytest.mark.parametrize("shape", [(6,), (2, 3)], ids=str)
@pytest.mark.parametrize("question", QUESTIONS)
def test_gradients_of_many_are_those_of_each(
    question: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    query = parse_question(question)
    with monkeypatch.context() as patch:
        if len(shape) > 1:
            patch.setattr(statistics, "SMALL", 0)  # one gradient after the other, as of large models
        many = gradients_of(query, stack(GRAPH, MODELS, shape))
    for k, model in some(enumerate(MODELS)):
        at, one = np.unravel_index(k, shape), linearize(query, model)
        assert (len(many.values), len(many.variances), many.scale) == (len(one.values), len(one.variances), one.scale)
        for mine, alone in some(zip((*many.values, *many.variances), (*one.values, *one.variances), strict=True)):
            for part in ("T", "omega", "mean"):
                assert getattr(mine, part).shape[: len(shape)] == shape
                np.testing.assert_allclose(getattr(mine, part)[at], getattr(alone, part), rtol=1e-9, atol=1e-12)


SURE = parse_graph("x -> y")


@pytest.mark.parametrize(
    ("question", "words"),
    [("E[y] / (x -> y)", "divisor is zero"), ("Corr[x, y]", "does not vary"), ("P(y | x=1)", "cannot have this value")],
)
def test_a_model_without_an_answer_is_nan_among_many_and_an_error_alone(question: str, words: str) -> None:
    query = parse_question(question)
    usual = CGLSCM.from_parameters(names="xy", T=[[0, 1], [0, 0]], mu=[0, 3], graph=SURE)
    odd = CGLSCM.from_parameters(names="xy", T=[[0, 0], [0, 0]], psi=[0, 1], graph=SURE)
    values, _ = values_of(query, stack(SURE, [usual, odd], (2,)))
    assert np.isfinite(values[0]).all()
    assert np.isnan(values[1]).all()
    with pytest.raises(QueryError, match=words):
        evaluate(query, odd)
