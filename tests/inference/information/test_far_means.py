"""Missing values and means far from zero: standard errors are those of the same rows about zero."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht

GRAPH = "x -> y -> z; x <-> z"


def rows(offset: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(2, 500))
    y = 0.5 * x + rng.normal(size=500)
    z = 0.7 * y + u + rng.normal(size=500)
    x[:50] = z[40:90] = np.nan
    return {"x": x + offset, "y": y + offset, "z": z}


@pytest.mark.parametrize("offset", [3e3, 1e6, 1e8])
def test_errors_do_not_depend_on_where_zero_is(offset: float) -> None:
    near, far = ht.fit(GRAPH, rows(0.0)), ht.fit(GRAPH, rows(offset))
    for interval in (None, "delta", "robust"):
        wanted, found = (fit.effect("x", "z", interval=interval) for fit in (near, far))
        assert found.se == pytest.approx(wanted.se, rel=1e-6)
        assert found.interval == pytest.approx(wanted.interval, rel=1e-6)
        assert [note.code for note in found.notes] == [note.code for note in wanted.notes]
    ours, theirs = (fit.params() for fit in (far, near))
    inside = np.asarray(theirs["op"]) != "~1"
    assert np.asarray(ours["se"])[inside] == pytest.approx(np.asarray(theirs["se"])[inside], rel=1e-6)
    effects = [np.asarray(fit.effects()["se"], dtype=float) for fit in (far, near)]
    assert effects[0] == pytest.approx(effects[1], rel=1e-6, nan_ok=True)


def test_an_intercept_far_away_has_the_error_of_a_regression() -> None:
    """y on x alone, with rows that lack x: the intercept's error is the distance times that of the slope, nearly."""
    offset = 1e7
    found = ht.fit("x -> y", {v: rows(offset)[v] for v in ("x", "y")}).params()
    slope, intercept = (
        float(np.asarray(found["se"])[(np.asarray(found["op"]) == op) & (np.asarray(found["lhs"]) == "y")][0])
        for op in ("~", "~1")
    )
    assert intercept == pytest.approx(offset * slope, rel=1e-5)


@pytest.mark.parametrize("offset", [3e3, 2.0**27])
def test_checks_do_not_depend_on_where_zero_is(offset: float) -> None:
    """Values with few bits, so that an offset rounds none of them."""
    plain = {v: np.round(column * 2.0**20) / 2.0**20 for v, column in rows(0.0).items()}
    near, far = (ht.fit("x -> y -> z", {v: c + shift for v, c in plain.items()}) for shift in (0.0, offset))
    wanted, found = (fit.modifications() for fit in (near, far))
    assert len(wanted) > 0
    assert list(found["edge"]) == list(wanted["edge"])
    for column in ("mi", "epc"):
        assert np.asarray(found[column]) == pytest.approx(np.asarray(wanted[column]), rel=1e-5)
    drawn = [fit.effect("x", "z", interval="bootstrap", replicates=20).se for fit in (near, far)]
    assert drawn[1] == pytest.approx(drawn[0], rel=1e-5)
