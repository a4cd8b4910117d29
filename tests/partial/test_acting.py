"""Bounds where a category acts: against closed forms, rows with the leak taken out, and a likelihood written out."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import log_ndtr, logit, ndtr, ndtri

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import InputError, NotIdentifiedError
from halftrek.layer.bivariate import below_both
from halftrek.results.given.column_kinds import Kinds

BOW = "x -> y; x <-> y"
KINDS: Kinds = {"x": "acts", "y": "ordered"}
ASKED = ("P(y = 1 | do(x=1))", "RD(y = 1 | do(x=1) : do(x=0))", "x ~> y")


def drug(n: int = 400, seed: int = 1) -> dict[str, Floats]:
    """A drug that shares a hidden cause with a yes/no outcome, and one that is measured."""
    rng = np.random.default_rng(seed)
    z, u, e, f = rng.normal(size=(4, n))
    x = 0.7 * z + 0.6 * u + 0.8 * e > 0.2
    y = 0.6 * x + 0.1 * z + 0.5 * u + 0.8 * f
    return {"z": z, "x": x * 1.0, "y": (y > 0.4) * 1.0, "w": y}


def closed(cells: Floats, r: float) -> Floats:
    """Of shares of (x, y) = 00, 01, 10, 11: the risk at x = 1, the risk difference, the effect, at a correlation."""
    tau = ndtri(cells[0] + cells[1])

    def low(cut: float) -> float:
        return float(below_both(np.array(tau), np.array(cut), np.array(r)))

    none = brentq(lambda cut: low(cut) - cells[0], -8.0, 8.0, xtol=1e-13)
    with_it = brentq(lambda cut: float(ndtr(cut)) - low(cut) - cells[2], -8.0, 8.0, xtol=1e-13)
    return np.array([ndtr(-with_it), ndtr(-with_it) - ndtr(-none), none - with_it])


@pytest.mark.parametrize("k", range(3))
def test_a_drug_and_a_yes_no_outcome_by_their_table(k: int) -> None:
    """Four shares and one correlation tell everything: the set, and its errors from how shares vary."""
    rows = drug()
    n = len(rows["x"])
    cells = np.array([np.mean((rows["x"] == a) & (rows["y"] == b)) for a, b in product((0, 1), repeat=2)])
    fit = ht.fit(BOW, {v: rows[v] for v in ("x", "y")}, kinds=KINDS)
    found = fit.bounds(ASKED[k], assume="corr(x <-> y) in [-0.2, 0.5]")
    ends = [closed(cells, r)[k] for r in (0.5, -0.2)]
    np.testing.assert_allclose([found.low, found.high], ends, atol=2e-6)
    assert found.certificate == "searched"
    assert found.binds_low == found.binds_high == ("corr(x <-> y) in [-0.2, 0.5]",)
    spread = (np.diag(cells) - np.outer(cells, cells)) / n
    step, errors = 1e-6, []
    for r in (0.5, -0.2):
        slope = np.zeros(4)
        for c in range(4):
            way = np.zeros(4)
            way[c] = step
            slope[c] = (closed(cells + way, r)[k] - closed(cells - way, r)[k]) / (2.0 * step)
        errors.append(float(np.sqrt(slope @ spread @ slope)))
    assert found.interval is not None
    quantile = next(float(n.facts["quantile"]) for n in found.notes if n.code == "stoye set")
    reach = np.abs(np.array(found.interval) - ends)
    if k == 0:
        p = np.array(ends)
        reach = np.abs(logit(np.array(found.interval)) - logit(p)) * p * (1.0 - p)
    np.testing.assert_allclose(reach / quantile, errors, rtol=1e-3)


def test_a_leaky_instrument_is_one_without_once_the_leak_is_taken_out() -> None:
    rows = drug(300)
    kinds: Kinds = {"x": "acts"}
    fit = ht.fit("z -> x -> w; x <-> w", {v: rows[v] for v in ("z", "x", "w")}, kinds=kinds)
    found = fit.bounds("x ~> w", assume="|z -> w| <= 0.2")
    slow = []
    for leak in (0.2, -0.2):
        less = {"z": rows["z"], "x": rows["x"], "w": rows["w"] - leak * rows["z"]}
        slow.append(float(ht.fit("z -> x -> w; x <-> w", less, kinds=kinds).query("x ~> w").value))
    np.testing.assert_allclose([found.low, found.high], sorted(slow), atol=2e-5)
    assert "bounds beside an answer" not in [n.code for n in found.notes]


def test_bounds_of_what_an_instrument_determines_say_that_they_are_wide() -> None:
    rows = drug(300)
    fit = ht.fit("z -> x -> w; x <-> w", {v: rows[v] for v in ("z", "x", "w")}, kinds={"x": "acts"})
    found, answer = fit.bounds("x ~> w", assume="|corr(x <-> w)| <= 0.6"), fit.query("x ~> w").value
    assert found.low < answer < found.high
    said = next(n for n in found.notes if n.code == "bounds beside an answer")
    assert "the graph with x <-> w left free determines x ~> w" in str(said)


def test_a_measured_outcome_by_its_likelihood() -> None:
    """``phi((w - a - b x) / s) / s`` times the probability of x given that error, at a correlation that is held."""
    rows = drug(300)
    x, w, r = rows["x"], rows["w"], 0.4

    def loss(t: Floats) -> float:
        tau, a, b, s = t[0], t[1], t[2], np.exp(t[3])
        e = (w - a - b * x) / s
        side = np.where(x > 0.0, 1.0, -1.0)
        return float((0.5 * e**2 + t[3] - log_ndtr(side * (r * e - tau) / np.sqrt(1.0 - r * r))).sum())

    best = minimize(loss, np.array([0.0, 0.0, 0.5, 0.0]), method="BFGS", options={"gtol": 1e-6})
    fit = ht.fit("x -> w; x <-> w", {"x": x, "w": w}, kinds={"x": "acts"})
    found = fit.bounds("x ~> w", assume=f"corr(x <-> w) in [0.0, {r}]")
    assert found.low == pytest.approx(float(best.x[2]), abs=1e-4)
    assert found.high == pytest.approx(float(w[x > 0.0].mean() - w[x == 0.0].mean()), abs=1e-5)


@pytest.mark.parametrize(
    ("assume", "words"),
    [
        ((), "known under one assumption about one edge: say between which numbers"),
        (["|corr(x <-> y)| <= 0.3", "x -> y >= 0"], "under one assumption about one edge"),
        ("share(y) <= 0.9", r"share\(y\) .* not known where a category acts"),
        ("corr(x <-> y) <= 0.3", "need two limits"),
        ("|corr(x <-> y)| <= 1", "errors that determine each other"),
    ],
)
def test_what_is_not_known_is_refused_by_name(assume: Any, words: str) -> None:
    rows = drug(200)
    fit = ht.fit(BOW, {v: rows[v] for v in ("x", "y")}, kinds=KINDS)
    with pytest.raises(InputError, match=words):
        fit.bounds("x ~> y", assume=assume)


def test_an_edge_that_does_not_help_and_a_covariance_without_a_unit_are_refused() -> None:
    rows = drug(200)
    three = {v: rows[v] for v in ("z", "x", "w")}
    fit = ht.fit("z -> {x, w}; x -> w; x <-> w", three, kinds={"x": "acts"})
    with pytest.raises(NotIdentifiedError):
        fit.bounds("x ~> w", assume="|corr(z <-> x)| <= 0.1")
    with pytest.raises(InputError, match=r"'w' is in no categories; say it of the correlation, corr\(x <-> w\)"):
        fit.bounds("x ~> w", assume="|x <-> w| <= 0.1")
    with pytest.raises(InputError, match='interval="likelihood" is not known'):
        fit.bounds("x ~> w", assume="|corr(x <-> w)| <= 0.1", interval="likelihood")
