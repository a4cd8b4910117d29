"""Measurement models that cannot work, or hardly: each has its sentence, and no number that data do not tell."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import halftrek as ht

_RNG = np.random.default_rng(0)
_F = _RNG.normal(size=400)
DATA = pd.DataFrame({v: x * _F + _RNG.normal(size=400) for v, x in zip("abcde", (1, 0.8, 0.9, 0.7, 0.6), strict=True)})
DATA["y"] = 0.5 * _F + _RNG.normal(size=400)


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("latent F; F -> a; y -> F; variance F", "y ~> F", "F has one effect, a: its variance and the error of a"),
        ("latent F, G; F -> {a, b, c, d}; G -> {a, b, c, d}; F <-> G", "F ~> b", "F and G cause the same variables"),
        ("F =~ a + b + c + d; G =~ a + b + c + d", "F ~> b", "F and G cause the same variables"),
        ("latent F; F -> a [0]; F -> {b, c}; variance F; y -> F", "y ~> F", "fixed at zero and gives no scale"),
        ("latent F; F -> {a, b, c}; variance F; y -> F", "y ~> F", "nothing says how large hidden F is"),
    ],
)
def test_what_is_wrong_is_said_in_refusal_and_status(text: str, question: str, words: str) -> None:
    verdict = ht.identify(text, question)
    assert verdict.status == "not identified"
    assert words.lower() in verdict.explain().lower()
    assert verdict.witness is not None
    first, second = verdict.witness
    p = len(first.graph)
    assert first.cov[:p, :p] == pytest.approx(second.cov[:p, :p], abs=1e-8)
    fit = ht.fit(text, DATA)
    assert words.lower() in fit.status.message.lower()
    with pytest.raises(ht.NotIdentifiedError, match="not identified"):
        fit.query(question)


def test_a_scale_by_another_variance_is_enough() -> None:
    unit = ht.identify("latent F; F -> {a, b, c}; variance F [2]; y -> F", "y ~> F")
    assert unit.identified
    assert "its error has the variance 2" in unit.explain()


@pytest.mark.parametrize("text", ["latent F; y -> F; a -> y", "F =~ 0; F ~ a; y ~ a"])
def test_without_observed_effects(text: str) -> None:
    with pytest.warns(ht.HalftrekWarning, match="causes nothing that is observed"):
        fit = ht.fit(text, DATA)
    assert fit.status.code == "converged"
    with pytest.raises(ht.QueryError, match="Hidden F causes nothing that is observed"):
        fit.query("a ~> F")


def test_a_marker_of_zero_in_lavaan() -> None:
    with pytest.warns(ht.HalftrekWarning, match="nothing in the text says how large 'F' is"):
        graph = ht.from_lavaan("F =~ 0*a + b + c; F ~ y")
    assert ht.fit(graph, DATA).status.code == "converged"


def test_a_variance_at_its_border() -> None:
    rng = np.random.default_rng(1)
    f, u = rng.normal(size=(2, 400))
    rows = {
        "a": f + 0.02 * rng.normal(size=400),
        "b": f + 0.7 * u + 0.3 * rng.normal(size=400),
        "c": f - 0.7 * u + 0.3 * rng.normal(size=400),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = ht.fit("latent F; F -> {a, b, c}; F -> a [1]; variance F", rows)
    assert fit.status.code == "boundary"
    assert "Equations of a: a noise variance is estimated at zero" in fit.status.message
    assert (np.diag(fit.model.W) >= 0.0).all()
