"""Robustness values and benchmarks are sensemakr's, where its setting applies."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from tests.partial.varied.oracles import darfur, regression

CAUSE, EFFECT = "directlyharmed", "peacefactor"
CASES = {"plain": ["female", "age"], "villages": ["female"]}
COLUMNS = {
    "r2dz_x": "share_cause",
    "r2yz_dx": "share_effect",
    "adjusted_estimate": "estimate",
    "adjusted_se": "se",
    "adjusted_t": "t",
    "adjusted_lower_CI": "ci_low",
    "adjusted_upper_CI": "ci_high",
}


@pytest.mark.parametrize("case", CASES)
def test_robustness_values(case: str) -> None:
    said = darfur()[case]["statistics"]
    found = regression(case).robustness(f"{CAUSE} -> {EFFECT}", f"{CAUSE} <-> {EFFECT}").rows[0]
    assert found.smallest == pytest.approx(np.sqrt(said["r2yd_x"]), abs=1e-10)
    assert found.rv == pytest.approx(said["rv_q"], abs=1e-10)
    assert found.lost_rv == pytest.approx(said["rv_qa"], abs=1e-10)
    assert not found.held_by_data


@pytest.mark.parametrize("case", CASES)
def test_half_the_effect_at_another_level(case: str) -> None:
    said = darfur()[case]
    target = 0.5 * said["statistics"]["estimate"]
    found = regression(case).robustness(f"{CAUSE} ~> {EFFECT}", f"{EFFECT} <-> {CAUSE}", target=target, level=0.9)
    assert found.rows[0].lost_rv == pytest.approx(said["rv_half_90"], abs=1e-10)


@pytest.mark.parametrize(("case", "covariates"), CASES.items())
def test_benchmarks(case: str, covariates: list[str]) -> None:
    said = darfur()[case]
    fit = regression(case)
    found = fit.benchmark(CAUSE, EFFECT, covariates)
    assert found.se == pytest.approx(said["statistics"]["se"], abs=1e-10)
    assert (found.rv, found.rv_lost) == pytest.approx(
        (said["statistics"]["rv_q"], said["statistics"]["rv_qa"]), abs=1e-10
    )
    wanted = [line for line in said["bounds"] if line["bound_label"].split("x ")[-1].strip("123x") in covariates]
    assert len(found.rows) == len(wanted) == 3 * len(covariates)
    for row, line in zip(found.rows, wanted, strict=True):
        for theirs, ours in COLUMNS.items():
            assert getattr(row, ours) == pytest.approx(line[theirs], abs=1e-10), (row, theirs)
        assert row.low == pytest.approx(line["adjusted_estimate"], abs=1e-10)
    (line,) = said["uneven"]
    (row,) = fit.benchmark(CAUSE, EFFECT, "female", times=1.5, times_effect=0.5).rows
    assert (row.share_cause, row.share_effect) == pytest.approx((line["r2dz_x"], line["r2yz_dx"]), abs=1e-10)
    assert row.estimate == pytest.approx(line["adjusted_estimate"], abs=1e-10)
    (line,) = said["away_90"]  # a hidden cause that hides a part of the effect
    assert fit.benchmark(CAUSE, EFFECT, "female", times=1, level=0.9).rows[0].high == pytest.approx(
        line["adjusted_estimate"], abs=1e-10
    )


def test_the_bound_is_what_the_hidden_cause_does() -> None:
    """The end of a bound is the effect in the model whose errors have the correlation that goes with the shares."""
    fit = regression("plain")
    row = fit.benchmark(CAUSE, EFFECT, "female", times=2).rows[0]
    curve = fit.robustness(f"{CAUSE} -> {EFFECT}", f"{CAUSE} <-> {EFFECT}", target=row.low)
    assert curve.rows[0].smallest == pytest.approx(row.correlation, abs=1e-9)


def test_what_cannot_be_so_strong() -> None:
    fit = regression("villages")
    found = fit.benchmark(CAUSE, EFFECT, "female", times=[1, 50])
    assert np.isfinite(found.rows[0].low)
    assert np.isnan(found.rows[1].low)
    assert [n.code for n in found.notes] == ["shares beyond"]


def test_benchmarks_that_make_no_sense() -> None:
    fit = regression("plain")
    with pytest.raises(ht.InputError, match=r"no covariate.*Did you mean 'female'"):
        fit.benchmark(CAUSE, EFFECT, "femal")
    with pytest.raises(ht.InputError, match="not negative"):
        fit.benchmark(CAUSE, EFFECT, "female", times=-1)
    with pytest.raises(ht.InputError, match="of one length"):
        fit.benchmark(CAUSE, EFFECT, "female", times=[1, 2], times_effect=[1])
    study = ht.dataset("mroz")
    with pytest.raises(ht.QueryError, match="no slope in the regression"):
        ht.fit(study.graph, study.data).benchmark("educ", "lwage", "fatheduc")


def test_least_squares_that_rows_speak_against() -> None:
    rng = np.random.default_rng(0)
    z, x = rng.normal(size=(2, 200))
    data = {"z": z, "x": x + 0.3 * z, "y": 0.5 * x + 0.3 * z + rng.normal(size=200)}
    clustered = ht.fit("z -> {x, y}; x -> y", data, cluster=np.repeat(np.arange(50), 4))
    assert [n.code for n in clustered.benchmark("x", "y", "z", times=0.5).notes] == ["adjusted by clusters"]
    data["z"] = np.where(rng.uniform(size=200) < 0.1, np.nan, z)
    missing = ht.fit("z -> {x, y}; x -> y", data)
    assert [n.code for n in missing.benchmark("x", "y", "z", times=0.5).notes] == ["least squares of the model"]
