"""Straight lines: the score test against a robust Wald test that is written out, its size and its power."""

import numpy as np
import pytest

import halftrek as ht
from benchmarks.independence import line_rejections
from halftrek.bottom.arrays import Floats, Ints
from halftrek.inference.checks.linearity import confounded_causes, line_tests
from halftrek.inference.checks.multiplicity import holm


def by_hand(X: Floats, y: Floats, curves: Floats) -> float:
    """The robust score statistic: regress everything curved on the causes, and sum products of residuals row by row."""
    ones = np.column_stack([np.ones(len(y)), X])
    left = y - ones @ np.linalg.lstsq(ones, y, rcond=None)[0]
    bent = curves - ones @ np.linalg.lstsq(ones, curves, rcond=None)[0]
    total, spread = np.zeros(bent.shape[1]), np.zeros((bent.shape[1],) * 2)
    for e, z in zip(left, bent, strict=True):
        total += e * z
        spread += np.outer(e * z, e * z)
    return float(total @ np.linalg.solve(spread, total))


def rows(n: int = 300, curve: float = 0.0) -> dict[str, Floats]:
    rng = np.random.default_rng(8)
    z, x = rng.normal(size=(2, n))
    return {"z": z, "x": x, "y": 0.5 * x - z + curve * x**2 + rng.standard_exponential(n)}


def test_the_statistic_is_the_robust_score() -> None:
    data = rows()
    (found,) = line_tests(ht.fit("x -> y; z -> y", data))
    X, y = np.column_stack([data["x"], data["z"]]), data["y"]
    ones = np.column_stack([np.ones(len(y)), X])
    fitted = ones @ np.linalg.lstsq(ones, y, rcond=None)[0] - y.mean()
    centred = X - X.mean(axis=0)
    curves = np.column_stack([centred**2, fitted**2, fitted**3])
    assert (found.effect, found.df) == ("y", 4)
    assert np.isclose(found.statistic, by_hand(X, y, curves), rtol=1e-6)


def test_units_do_not_matter() -> None:
    data = rows()
    other = {"z": 100.0 * data["z"] + 7.0, "x": data["x"] / 50.0, "y": 3.0 * data["y"] - 1.0}
    (one,), (two,) = (line_tests(ht.fit("x -> y; z -> y", d)) for d in (data, other))
    assert np.isclose(one.statistic, two.statistic)


def test_counts_are_rows_and_clusters_of_one_are_rows() -> None:
    data = rows(200)
    counts = np.random.default_rng(0).integers(1, 4, 200)
    long = {v: np.repeat(x, counts) for v, x in data.items()}
    (weighted,) = line_tests(ht.fit("x -> y; z -> y", data, weights=counts))
    (written,) = line_tests(ht.fit("x -> y; z -> y", long))
    assert np.isclose(weighted.statistic, written.statistic)
    (alone,) = line_tests(ht.fit("x -> y; z -> y", data))
    (clustered,) = line_tests(ht.fit("x -> y; z -> y", data, cluster=np.arange(200)))
    assert np.isclose(alone.statistic, clustered.statistic)


def test_confounded_equations_are_not_tested_and_say_so() -> None:
    graph = ht.graph("x -> m -> y; x <-> y")
    assert confounded_causes(graph, "y") == ("m",)
    assert confounded_causes(graph, "m") == ()
    rng = np.random.default_rng(1)
    m, y = line_tests(ht.fit(graph, dict(zip("xmy", rng.normal(size=(3, 200)), strict=True))))
    assert not m.note
    assert y.note == "not testable: hidden causes relate m to the error of y"
    assert np.isnan(y.p)


def test_a_cause_with_two_values_has_no_curve() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 200).astype(float)
    (found,) = line_tests(ht.fit("x -> y", {"x": x, "y": x + rng.normal(size=200)}))
    assert "two values" in found.note


@pytest.mark.parametrize("shape", ["skewed", "normal"])
def test_size_and_power(shape: str) -> None:
    """A small version of the benchmark; errors have unequal spread."""
    assert line_rejections(shape, 40, 500, 0.0) <= 0.2
    assert line_rejections(shape, 10, 500, 0.3) >= 0.8


def slow(data: dict[str, Floats], effect: str, causes: str, weights: Floats, codes: Ints | None) -> float:
    """The score statistic with weights row by row: units are rows whose weight is squared, or clusters."""
    X, y = np.column_stack([data[v] for v in causes]), data[effect]
    ones, root = np.column_stack([np.ones(len(y)), X]), np.sqrt(weights)[:, None]
    slope = np.linalg.lstsq(root * ones, root[:, 0] * y, rcond=None)[0]
    fitted = ones @ slope - weights @ y / weights.sum()
    centred = X - weights @ X / weights.sum()
    curves = np.column_stack([centred**2, *([fitted**2] if len(causes) > 1 else []), fitted**3])
    bent = curves - ones @ np.linalg.lstsq(root * ones, root * curves, rcond=None)[0]
    moved = weights[:, None] * bent * (y - ones @ slope)[:, None]
    if codes is not None:
        moved = np.array([moved[codes == g].sum(axis=0) for g in np.unique(codes)])
    total = moved.sum(axis=0)
    return float(total @ np.linalg.solve(moved.T @ moved, total))


@pytest.mark.parametrize("block", [64, 65_536])
def test_sums_by_blocks_are_those_of_all_rows(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sampling weights, clusters, several equations, rows that come in pieces."""
    monkeypatch.setattr("halftrek.data.rows.BLOCK", block)
    rng = np.random.default_rng(3)
    data = {**rows(400, 0.2), "w": rng.normal(size=400)}
    weights, codes = rng.uniform(0.2, 3.0, 400), rng.integers(0, 80, 400)
    graph = "x -> y; z -> y; y -> w"
    fits = (ht.fit(graph, data, sampling_weights=weights), ht.fit(graph, data, cluster=codes))
    for fit, w, given in zip(fits, (weights, np.ones(400)), (None, codes), strict=True):
        lines = list(line_tests(fit))
        assert [line.effect for line in lines] == ["y", "w"]
        for found in lines:
            assert np.isclose(found.statistic, slow(data, found.effect, "".join(found.causes), w, given), rtol=1e-7)


def test_clusters_whose_rows_have_no_value_are_no_units() -> None:
    """One value of w is missing, so that all rows are read again, the empty ones too: 20 clusters have values."""
    data = {**rows(400, 0.2), "w": np.random.default_rng(5).normal(size=400)}
    data["w"][-1] = np.nan
    row = np.arange(400)
    holes = {v: np.where(row < 200, np.nan, x) for v, x in data.items()}
    first, _ = line_tests(ht.fit("x -> y; z -> y; y -> w", holes, cluster=np.where(row < 200, row, row // 10)))
    assert first.note.startswith("not testable: fewer than")


def test_they_stand_in_the_bare_table_and_adjust_nobody_else() -> None:
    data = {**rows(300, 0.4), "w": np.random.default_rng(5).normal(size=300)}
    fit = ht.fit("x -> y; z -> y; y -> w", data)
    tests = fit.tests()
    lines = [k for k, kind in enumerate(tests["kind"]) if kind == "linearity"]
    assert [tests["constraint"][k] for k in lines] == ["y linear in x, z", "w linear in y"]
    assert tests["verdict"][lines[0]].startswith("contradicted: a curve")
    alone = fit.tests(beyond="linearity")
    assert [tests["p_adjusted"][k] for k in lines] == list(alone["p_adjusted"])
    claims = [k for k in range(len(tests["p"])) if k not in lines]
    assert [tests["p_holm"][k] for k in claims] == list(holm(np.array([tests["p"][k] for k in claims])))


def test_without_rows_the_bare_table_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = ht.fit("x -> y; z -> y", rows())
    without = ht.fit("x -> y; z -> y", fit.moments)
    last = {name: list(column)[-1] for name, column in dict(without.tests()).items()}
    assert (last["kind"], last["constraint"]) == ("linearity", "effects linear in their causes")
    assert last["verdict"].startswith("not tested: the test of straight lines needs the rows")
    assert np.isnan(last["p"])
    with pytest.raises(ht.InputError, match="needs the rows"):
        without.tests(beyond="linearity")
    monkeypatch.setattr("halftrek.inference.checks.linearity.MOST", 100)
    assert "300 rows once more" in list(fit.tests()["verdict"])[-1]
    assert not any("once more" in said for said in fit.tests(beyond="linearity")["verdict"])


def test_columns_in_categories_have_no_lines() -> None:
    data = rows()
    fit = ht.fit("x -> y; z -> x", {**data, "y": (data["y"] > 0).astype(float)}, kinds={"y": "ordered"})
    x, y = line_tests(fit)
    assert not x.note
    assert y.note == "not testable: y in categories or ranks"
