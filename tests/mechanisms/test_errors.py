"""Standard errors are made of derivatives of the likelihood: its curvature, and how it varies over rows."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pytest

from halftrek.bottom.choices import Interval
from tests import kinds
from tests.kinds import KINDS, Kind, lacking
from tests.mechanisms.plain import (
    CASES,
    Plain,
    Sample,
    column,
    curvature,
    densities,
    expected,
    from_moments,
    loglik,
    plain,
    sample_of,
    slopes,
    weights_of,
)

HEAVIER = 1e-3

# Least squares have errors by lavaan's first step, with outer products for curvature: tests/layer/test_lavaan.py.
WITH_LIKELIHOOD = [kind for kind in KINDS.values() if kind.name != "dwls"]


def near(kind: Kind) -> float:
    """How near numbers by single rows are; of correlations the package has expectations for means over rows."""
    return float(kind.n**-0.5) if kind.behind else 1e-6


@cache
def covariance(kind: Kind, information: str) -> np.ndarray:
    """Of the parameters, by the curvature of the likelihood, or of what it would be if rows were as the model says."""
    value = {"observed": loglik, "expected": expected}[information]
    return np.linalg.inv(curvature(partial(value, plain(kind)), plain(kind).theta))


def by_rows(kind: Kind) -> Interval:
    """One thing under two names."""
    return "influence" if "kinds" in kind.options else "robust"


def errors_by(kind: Kind, information: str) -> Any:
    """The table with errors by this information; for groups together it is chosen with the fit."""
    if kind.name == "together":
        return kind.again(information=information).params()
    return kinds.fit(kind).params(interval="delta", information=information)


def assert_errors(kind: Kind, table: Any, information: str) -> None:
    wanted = np.sqrt(np.diag(covariance(kind, information)))
    np.testing.assert_allclose(column(plain(kind), table), wanted, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_observed_errors_are_by_the_curvature_of_the_likelihood(kind: Kind) -> None:
    with lacking("observed errors", kind):
        assert_errors(kind, errors_by(kind, "observed"), "observed")


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_expected_errors_are_by_its_curvature_if_rows_were_as_the_model_says(kind: Kind) -> None:
    """Of groups apart the table has no others."""
    with lacking("expected errors", kind):
        table = kinds.fit(kind).params() if kind.name == "groups" else errors_by(kind, "expected")
        assert_errors(kind, table, "expected")


def by_unit(kind: Kind, scores: np.ndarray) -> np.ndarray:
    """What each independent unit adds, a line for each: rows as often as they count, or clusters."""
    if "weights" in kind.options:
        return np.repeat(scores, weights_of(kind), axis=0)
    if "cluster" in kind.options:
        labels = kind.rows[kind.options["cluster"]]
        return np.stack([scores[labels == label].sum(axis=0) for label in np.unique(labels)])
    return weights_of(kind)[:, None] * scores


@cache
def heavier(kind: Kind) -> list[Sample]:
    """The correlations that are fitted, with one row after the other a little heavier."""
    shares = np.ones((kind.n, kind.n)) + HEAVIER * np.eye(kind.n)
    return [sample_of(kind, kind.again(sampling_weights=share)) for share in shares]


def scores(model: Plain) -> np.ndarray:
    """Slopes of the likelihood of each row, or how that of the correlations moves with the weight of each."""
    if not model.kind.behind:
        return slopes(lambda theta: densities(model, theta), model.theta)

    def slope(sample: Sample) -> np.ndarray:
        return slopes(lambda theta: from_moments(model, theta, sample), model.theta)

    start = slope(sample_of(model.kind, kinds.fit(model.kind)))
    return np.array([slope(sample) - start for sample in heavier(model.kind)]) / HEAVIER


@cache
def by_units(kind: Kind) -> np.ndarray:
    """How the parameters vary together by what units add, with the factor of few clusters."""
    units = by_unit(kind, scores(plain(kind)))
    moved = units @ covariance(kind, "observed")
    few = len(units) / (len(units) - 1.0) if "cluster" in kind.options else 1.0
    return np.asarray(few * moved.T @ moved)


@pytest.mark.parametrize("kind", WITH_LIKELIHOOD, ids=str)
def test_robust_errors_are_the_spread_of_what_units_add(kind: Kind) -> None:
    with lacking("robust errors", kind):
        found = column(plain(kind), kinds.fit(kind).params(interval=by_rows(kind)))
        np.testing.assert_allclose(found, np.sqrt(np.diag(by_units(kind))), rtol=near(kind))


def errors_of_answers(kind: Kind, **options: Any) -> list[float]:
    """Of the effect, and of means and variances where the outcome is in units of its own and means are known."""
    questions = [f"{kind.cause} ~> {kind.outcome}"]
    if "kinds" not in kind.options:
        words = (f"do({kind.cause}=1)", f"{kind.given}=0.4")
        cases = [", ".join(w for w, there in zip(words, case, strict=True) if there) for case in CASES]
        questions += [f"{number}[{kind.outcome} | {case}]" for case in cases for number in ("E", "Var")]
    if kind.name == "covariance":
        questions = [question for question in questions if question[0] != "E"]
    return [kinds.fit(kind).query(question, **options).se for question in questions]


def through(kind: Kind, spread: np.ndarray, count: int) -> np.ndarray:
    """Errors of so many answers, from how parameters vary together; a covariance has no means."""
    along = slopes(plain(kind).answers, plain(kind).theta)
    along = along[[0, 2, 4, 6]] if kind.name == "covariance" else along[:count]
    return np.sqrt(np.einsum("qi,ij,qj->q", along, spread, along))


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_errors_of_answers_are_those_of_parameters_along_their_slopes(kind: Kind) -> None:
    with lacking("errors of answers", kind):
        for information in ("observed", "expected"):
            found = errors_of_answers(kind, interval="delta", information=information)
            wanted = through(kind, covariance(kind, information), len(found))
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", WITH_LIKELIHOOD, ids=str)
def test_robust_errors_of_answers_are_those_of_parameters_along_their_slopes(kind: Kind) -> None:
    with lacking("robust errors of answers", kind):
        found = errors_of_answers(kind, interval=by_rows(kind))
        np.testing.assert_allclose(found, through(kind, by_units(kind), len(found)), rtol=near(kind))


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_the_jackknife_leaves_one_cluster_out_at_a_time(kind: Kind) -> None:
    rows = {**kind.rows, "site": np.arange(kind.n) % 8}
    with lacking("jackknife", kind):
        fit = kind.again(rows, cluster="site")
        found = fit.effect(kind.cause, kind.outcome, interval="jackknife")
        assert fit.effect(kind.cause, kind.outcome).interval == found.interval  # of so few clusters the usual one
        left = [{v: x[rows["site"] != site] for v, x in rows.items()} for site in range(8)]
        moved = np.array([kind.again(part).effect(kind.cause, kind.outcome).value for part in left]) - found.value
        assert found.se == pytest.approx(np.sqrt(7.0 / 8.0 * moved @ moved), rel=1e-6)
