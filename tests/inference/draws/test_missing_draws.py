"""Bootstraps with missing values: each replicate is fitted to its maximum, and errors are those of theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval, Redraw
from halftrek.data import read_patterns
from halftrek.data.missing.patterns import Patterns
from halftrek.errors import DataError, InputError
from halftrek.estimation import fit as fit_model
from halftrek.estimation.missing.fiml import refit_incomplete
from halftrek.estimation.plan import make_plan
from halftrek.inference.draws import missing_draws, redraws
from halftrek.inference.draws.bootstrap import acceleration, replicates_of
from halftrek.inference.draws.missing_draws import draw_patterns, draw_stacks
from halftrek.inference.information.missing.incomplete import row_scores
from halftrek.queries.gradients import linearize
from halftrek.results.fit import Fit
from halftrek.results.given.inputs import read_question
from tests.narrow import interval_of, se_of, some, there

GRAPH = "x -> m -> y; m <-> y; x -> z; U -> {m, z}; latent U"


def table(n: int, seed: int = 0, share: float = 0.15) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=(2, n))
    m = x + u + rng.normal(size=n)
    y = 0.5 * m - u + rng.standard_t(5, size=n)
    z = 0.4 * x + 0.3 * u + rng.normal(size=n)
    rows = {"x": x, "m": m, "y": y, "z": z}
    for column in rows.values():
        column[rng.random(n) < share] = np.nan
    return rows


@pytest.fixture(scope="module")
def fitted() -> ht.Fit:
    return ht.fit("x -> m -> y; m <-> y; x -> z", table(600))


@pytest.mark.parametrize("kind", ["bootstrap", "parametric"])
@pytest.mark.parametrize("graph", ["x -> m -> y; m <-> y; x -> z", "x -> {m, z}; m -> y; latent U; U -> {m, z}"])
def test_replicates_are_at_their_own_maximum(kind: Redraw, graph: str) -> None:
    """Warm or cold, with hidden causes of two or without: the same likelihood and the same coefficients."""
    found = ht.fit(graph, table(300))
    plan = make_plan(found.graph, found.model.names, found.options)
    for patterns in some(draw_patterns(found, kind, 4, 3)):
        again = refit_incomplete(found.graph, plan, patterns, found.options, found.model)
        cold = fit_model(found.graph, patterns)
        assert again is not None
        assert again[1] == pytest.approx(cold.loglik, abs=1e-6)
        np.testing.assert_allclose(again[0].T, cold.model.T, atol=1e-5)
        np.testing.assert_allclose(again[0].cov, cold.model.cov, rtol=1e-4, atol=1e-5)


def test_errors_are_those_of_the_sandwich_and_of_the_information(fitted: ht.Fit) -> None:
    pairs: tuple[tuple[Interval, Interval], ...] = (("bootstrap", "robust"), ("parametric", "delta"))
    for kind, other in pairs:
        drawn = fitted.effect("m", "y", interval=kind, replicates=300, random_state=1)
        assert drawn.se == pytest.approx(fitted.effect("m", "y", interval=other).se, rel=0.12)
        assert interval_of(drawn)[0] < drawn.value < interval_of(drawn)[1]
        bca = fitted.effect("m", "y", interval=kind, replicates=300, random_state=1, ends="bca")
        assert bca.interval == pytest.approx(drawn.interval, abs=0.5 * se_of(drawn))
        assert bca.interval != drawn.interval


def test_the_same_seed_gives_the_same_bits_and_progress_is_told(
    fitted: ht.Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports: list[tuple[int, int]] = []
    first = replicates_of(fitted, "bootstrap", 7, 5, lambda done, total: reports.append((done, total)))
    assert reports[-1] == (7, 7)
    again = ht.fit("x -> m -> y; m <-> y; x -> z", table(600))
    np.testing.assert_array_equal(first.batch.T, replicates_of(again, "bootstrap", 7, 5).batch.T)
    monkeypatch.setattr(missing_draws, "HELD", 1)  # one replicate at a time: other draws, of the same kind
    single = list(draw_patterns(fitted, "bootstrap", 3, 5))
    assert [p.total for p in single] == [fitted.n] * 3


def test_a_replicate_has_the_moments_of_its_rows() -> None:
    """Rows with weights 0, 1, 2, ... drawn: what patterns hold is what reading the drawn rows would give."""
    rows = np.column_stack(list(table(40, 2).values()))
    rows = rows[~np.isnan(rows).all(axis=1)]
    found = ht.fit("x -> m -> y -> z", dict(zip("xmyz", rows.T, strict=True)))
    (patterns,) = draw_patterns(found, "bootstrap", 1, 9)
    seed = np.random.SeedSequence(9).spawn(1)[0]
    rng = np.random.default_rng(seed)
    rng.binomial(np.full(1, len(rows)), 1.0)
    drawn = rows[rng.integers(0, len(rows), size=len(rows), dtype=np.int32)]
    oracle = read_patterns(drawn[:, [0, 1, 2, 3]], ("x", "m", "y", "z"))
    mine = {o.tobytes(): k for k, o in enumerate(patterns.observed)}
    assert isinstance(oracle, Patterns)
    assert isinstance(patterns, Patterns)
    assert len(oracle) == len(patterns)
    for k, observed in enumerate(oracle.observed):
        j = mine[observed.tobytes()]
        assert patterns.n[j] == oracle.n[k]
        np.testing.assert_allclose(patterns.mean[j], oracle.mean[k], atol=1e-12)
        own = patterns.cov[j] if j < len(patterns.cov) else 0.0  # all draws of a single row are alike
        np.testing.assert_allclose(own, oracle.cov[k] if k < len(oracle.cov) else 0.0, atol=1e-12)


def test_clusters_are_drawn_whole() -> None:
    rows = table(400, 4)
    rng = np.random.default_rng(0)
    school = rng.integers(0, 40, 400)
    rows["y"] = rows["y"] + rng.normal(size=40)[school]
    found = ht.fit("x -> m -> y", rows | {"school": school}, cluster="school")
    drawn = found.query("P(y | do(x=1))", interval="bootstrap", replicates=300)
    plain = ht.fit("x -> m -> y", rows).query("P(y | do(x=1))", interval="robust")
    robust = found.query("P(y | do(x=1))", interval="robust")
    assert se_of(robust) > 1.3 * se_of(plain)
    assert drawn.se == pytest.approx(robust.se, rel=0.12)
    sizes = {p.total for p in draw_patterns(found, "bootstrap", 5, 0)}
    assert len(sizes) > 1


def test_weights_count_rows() -> None:
    rows = table(300, 5)
    weights = np.random.default_rng(1).integers(0, 4, 300)
    found = ht.fit("x -> m -> y", rows, weights=weights)
    drawn = found.effect("x", "y", interval="bootstrap", replicates=200)
    twice = {v: np.repeat(column, weights) for v, column in rows.items()}
    many = ht.fit("x -> m -> y", twice)
    assert drawn.value == pytest.approx(many.effect("x", "y").value, abs=1e-8)
    assert drawn.se == pytest.approx(many.effect("x", "y", interval="robust").se, rel=0.15)


def test_parameters_and_effects_have_drawn_errors(fitted: ht.Fit) -> None:
    plain = fitted.params(interval="robust")
    drawn = fitted.params(interval="bootstrap", replicates=300, random_state=1)
    assert list(drawn["lhs"]) == list(plain["lhs"])
    np.testing.assert_allclose(drawn["se"], plain["se"], rtol=0.25)
    table_of_effects = fitted.effects("total", interval="parametric", replicates=50)
    assert np.isfinite(np.asarray(table_of_effects["se"], dtype=float)).all()


def test_acceleration_of_normal_rows_is_that_of_many_rows(fitted: ht.Fit) -> None:
    """The closed form against the skewness of scores over rows drawn from the fitted model with its holes."""
    query = read_question("P(y | do(x=1))")
    closed = acceleration(fitted, query, "parametric")
    found = linearize(query, fitted.model)
    scores = row_scores(fitted, (*found.values, *found.variances))
    rng = np.random.default_rng(0)
    second = third = np.zeros(2)
    for observed, n in zip(there(fitted.patterns).observed, there(fitted.patterns).n, strict=True):
        rows = rng.multivariate_normal(fitted.model.mean, fitted.model.cov, size=40_000)
        rows[:, ~observed] = np.nan
        values = scores.values(rows - fitted.moments.mean, fitted.moments.cov)
        second, third = second + n * (values**2).mean(axis=0), third + n * (values**3).mean(axis=0)
    assert closed[1] > 0.01
    np.testing.assert_allclose(closed, third / (6.0 * second**1.5), atol=1e-3)


def test_failed_replicates_are_counted() -> None:
    """A column that four rows have is constant, or gone, in some draws."""
    rows = table(40, 7, share=0.0)
    rows["m"][4:] = np.nan
    found = ht.fit("x -> m; x -> y", {v: rows[v] for v in "xmy"})
    answer = found.effect("x", "y", interval="bootstrap", replicates=60)
    assert any("of 60 bootstrap replicates had no maximum" in w for w in answer.warnings)


def test_rows_must_be_there_and_the_same() -> None:
    rows = table(100, 8)
    found = ht.fit("x -> m -> y", rows)
    rows["y"][np.flatnonzero(~np.isnan(rows["y"]))[0]] += 5.0
    with pytest.raises(DataError, match="no longer those"):
        found.effect("x", "y", interval="bootstrap", replicates=5)
    from_patterns = Fit.of(fit_model(found.graph, there(found.patterns)))
    with pytest.raises(InputError, match="needs the rows"):
        from_patterns.effect("x", "y", interval="bootstrap", replicates=5)
    assert se_of(from_patterns.effect("x", "y", interval="parametric", replicates=5)) > 0.0


def test_rows_of_too_many_patterns_are_not_drawn_again() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    data = {"x": x, "y": np.where(rng.random(200) < 0.2, np.nan, x + rng.normal(size=200))}
    found = ht.fit("x -> y", data)
    assert found.patterns is not None
    bounded = replace(found, patterns=replace(found.patterns, left_out=5))
    with pytest.raises(DataError, match="too many patterns of missing values"):
        list(draw_patterns(bounded, "bootstrap", 2, 0))


def test_rows_are_drawn_in_portions_and_chunks_of_any_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks with frequent patterns alone, weights of zero, and data sets by twos: the same moments as by patterns."""
    rows = table(500, 3)
    rows = {v: np.concatenate([column[~np.isnan(column)][:200], column]) for v, column in rows.items()}
    found = ht.fit("x -> m -> y -> z", rows, weights=np.random.default_rng(0).integers(0, 3, 700))
    monkeypatch.setattr(missing_draws, "NUMBERS", 64 * 15)
    monkeypatch.setattr(redraws, "MOST", 2)
    monkeypatch.setattr(redraws, "LEAST", 1)
    sets = list(redraws.draw_sets(found, "bootstrap", 5, 2))
    assert [len(some) for some in sets] == [2, 2, 1]
    (stack,) = draw_stacks(found, "bootstrap", 5, 2)
    again = [one for some in sets for one in some.patterns()]
    for mine, wanted in zip(again, stack.patterns(), strict=True):
        np.testing.assert_array_equal(mine.observed, wanted.observed)
        np.testing.assert_allclose(mine.n, wanted.n)
        np.testing.assert_allclose(mine.mean, wanted.mean, atol=1e-12)
        np.testing.assert_allclose(mine.cov, wanted.cov, atol=1e-12)
