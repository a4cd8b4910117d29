"""The reproduction on small samples, and the paper's printed numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from halftrek.errors import ConvergenceError, InputError
from halftrek.estimation import fit_batch
from halftrek.examples import catalog
from halftrek.reproduction import Reproduction, run, study
from halftrek.reproduction.accuracy import accuracy_of, variance_with_error
from halftrek.reproduction.comparisons import answer
from halftrek.reproduction.figure import figure
from halftrek.reproduction.printed import EXPERIMENTS, FRONT_DOOR, NAPKIN
from halftrek.reproduction.study import _batch_answers, moments_of
from tests.narrow import some, there


@pytest.fixture(scope="module")
def small() -> tuple[Reproduction, list[tuple[int, int]]]:
    calls: list[tuple[int, int]] = []
    return run(
        random_state=2, rows=2_000, replicates=25, progress=lambda done, total: calls.append((done, total))
    ), calls


class TestThePaper:
    """What the paper prints, recomputed from what it prints elsewhere."""

    def test_original_columns_follow_from_the_original_parameters(self) -> None:
        expected = {"front-door": [(1.1, 1.09), (0.74, 1.9)], "napkin": [(0.3, 1.16), (-1.068, 2.3248)]}
        for e in EXPERIMENTS:
            found = [answer(catalog(e.name).model, q) for q in e.queries]
            np.testing.assert_allclose(found, expected[e.name], atol=1e-12)

    def test_estimates_follow_from_the_printed_matrices_except_one(self) -> None:
        for e in EXPERIMENTS:
            model = e.model(catalog(e.name).model)
            for q in some(e.queries):
                mean, variance = answer(model, q)
                assert variance == pytest.approx(q.variance, abs=2e-4)
                if (e.name, q.cause) == ("napkin", "X1"):
                    assert q.mean == -0.9721
                    assert mean == pytest.approx(-1.0529, abs=1e-4)
                else:
                    assert mean == pytest.approx(q.mean, abs=2e-4)

    def test_the_wrong_mean_does_not_follow_from_the_printed_B_either(self) -> None:
        held = NAPKIN.mu.copy()
        held[0] = 1.0
        assert (NAPKIN.B.T @ held)[3] == pytest.approx(-1.0690, abs=1e-4)

    def test_printed_B_is_not_that_of_the_printed_T(self) -> None:
        names = catalog("napkin").model
        assert NAPKIN.model(names).B[0, 3] == pytest.approx(0.0731, abs=1e-4)
        assert NAPKIN.B[0, 3] == 0.0566
        front = catalog("front-door").model
        assert FRONT_DOOR.model(front).B[0, 2] == pytest.approx(0.4516, abs=1e-4)
        assert FRONT_DOOR.B[0, 2] == 0.4491


class TestSmallRun:
    def test_literal_and_exact_with_unit_noise_agree(self, small: tuple[Reproduction, list[tuple[int, int]]]) -> None:
        for e in some(small[0].experiments):
            for c in some(e.answers):
                assert c.cgl_go == pytest.approx(c.exact_unit, abs=1e-3)
                assert abs(there(c.exact) - c.original) < 0.25
            assert [c.paper for c in e.answers] == [
                x for q in EXPERIMENTS[e.table - 1].queries for x in (q.mean, q.variance)
            ]

    def test_every_parameter_of_the_appendix_is_there(self, small: tuple[Reproduction, list[tuple[int, int]]]) -> None:
        front, napkin = small[0].experiments
        assert len(front.parameters) == 3 + 2 + 3 + 2 + 1
        assert len(napkin.parameters) == 4 + 3 + 6 + 4 + 2
        for e in (front, napkin):
            assert all((c.exact is None) == c.quantity.startswith("C U") for c in e.parameters)
            by_name = {c.quantity: c for c in e.parameters}
            assert by_name["T X1 X2"].original == catalog(e.name).model.T[0, 1]
            assert by_name["T X1 X2"].exact == pytest.approx(by_name["B X1 X2"].exact)
        assert {c.quantity: c.paper for c in napkin.parameters}["B X1 X4"] == 0.0566

    def test_starts_agree_under_the_edge_mask_and_not_under_the_papers(
        self, small: tuple[Reproduction, list[tuple[int, int]]]
    ) -> None:
        napkin = small[0].experiments[1]
        for mask, agree in (("edge", True), ("ancestor", False)):
            chosen = [s for s in napkin.starts if s.mask == mask]
            assert len(chosen) == 5
            assert np.ptp([s.loglik for s in chosen]) < 0.01
            spread = np.ptp([dict(s.answers)["E[X4 | do(X3=1)]"] for s in chosen])
            assert (spread < 1e-3) == agree
            assert (spread > 0.02) != agree

    def test_accuracy_is_that_of_the_estimates(self, small: tuple[Reproduction, list[tuple[int, int]]]) -> None:
        for e in some(small[0].experiments):
            assert len(e.accuracy) == 8
            for a in some(e.accuracy):
                assert a.used == 25
                assert a.bias == pytest.approx(a.estimates.mean() - a.truth)
                assert a.rmse**2 == pytest.approx(np.mean((a.estimates - a.truth) ** 2))
                assert a.efficiency == pytest.approx(a.bound**2 / a.estimates.var(ddof=1))
                assert 0.3 < a.efficiency < 3.0

    def test_progress_ends_at_its_total(self, small: tuple[Reproduction, list[tuple[int, int]]]) -> None:
        calls = small[1]
        done = [d for d, _ in calls]
        assert done == sorted(done)
        assert calls[-1] == (2 * (10 + 1 + 25), 2 * (10 + 1 + 25))

    def test_text_fits_the_page_and_has_everything(self, small: tuple[Reproduction, list[tuple[int, int]]]) -> None:
        text = small[0].to_text()
        assert max(map(len, text.splitlines())) <= 100
        for piece in ("Table 1", "Table 2", "-0.9721", "-1.0529", "CGL-Go", "ancestor", "efficiency", "B X1 X4"):
            assert piece in text

    def test_record_is_plain(self, small: tuple[Reproduction, list[tuple[int, int]]]) -> None:
        record = json.loads(json.dumps(small[0].to_dict(), allow_nan=False))
        assert record["rows"] == 2_000
        napkin = record["experiments"][1]
        assert napkin["answers"][2]["paper"] == -0.9721
        assert napkin["starts"][0]["answers"].keys() == {"E[X4 | do(X3=1)]", "E[X4 | do(X1=1)]"}
        assert "estimates" not in napkin["accuracy"][0]

    def test_figure_has_a_panel_for_each_quantity(
        self, small: tuple[Reproduction, list[tuple[int, int]]], tmp_path: Path
    ) -> None:
        picture = figure(small[0])
        assert len(picture.axes) == 8
        picture.savefig(tmp_path / "reproduce.png")
        assert (tmp_path / "reproduce.png").stat().st_size > 10_000


def test_same_seed_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "STARTS", 1)
    one, two = (run(random_state=1, rows=200, replicates=2) for _ in range(2))
    other = run(random_state=3, rows=200, replicates=2)
    assert one.to_dict() == two.to_dict()
    assert one.to_dict()["experiments"] != other.to_dict()["experiments"]


def test_batch_answers_are_those_of_the_models() -> None:
    model = catalog("napkin").model
    rng = np.random.default_rng(0)
    fitted = fit_batch(model.graph, [moments_of(model, 500, rng) for _ in range(3)])
    for query in some(NAPKIN.queries):
        together = _batch_answers(fitted.T, fitted.omega, fitted.mu, model.names, query)
        np.testing.assert_allclose(together, [answer(fitted.model(i), query) for i in range(3)], atol=1e-12)


def test_monte_carlo_error_of_a_variance() -> None:
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((4_000, 50))
    spreads, errors = np.array([variance_with_error(row) for row in samples]).T
    np.testing.assert_allclose(spreads, samples.var(axis=1, ddof=1))
    assert errors.mean() == pytest.approx(spreads.std(), rel=0.1)


def test_samples_without_a_maximum_are_left_out_and_said() -> None:
    model = catalog("front-door").model
    estimates = np.array([1.0, np.nan, 1.2, 1.3])
    a = accuracy_of(model, "free", {"X2": 1.0}, "X3", 0, "mean", estimates, 100)
    assert a.used == 3
    assert a.bias == pytest.approx((1.0 + 1.2 + 1.3) / 3 - 1.1)
    with pytest.raises(ConvergenceError, match="1 of 3"):
        accuracy_of(model, "free", {"X2": 1.0}, "X3", 0, "mean", np.array([1.0, np.nan, np.nan]), 100)


def test_too_little_to_study() -> None:
    with pytest.raises(InputError, match="rows"):
        run(rows=5)
    with pytest.raises(InputError, match="replicates"):
        run(replicates=1)
