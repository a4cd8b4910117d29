"""The plain loop that ``benchmarks.maxima`` holds fits against, and its counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from benchmarks.maxima import __main__ as command
from benchmarks.maxima import trial
from benchmarks.maxima.kinds import KINDS
from benchmarks.maxima.loop import LOG_2PI, Problem, borders, maximum
from benchmarks.maxima.model import Model, arrow, level, rows_of, shapes, spread, text_of
from benchmarks.maxima.trial import Trial, height, patterns, sample, tried, variances
from halftrek.models import CGLSCM


def problem_of(kind: str, seed: int) -> tuple[Problem, np.ndarray]:
    taken = sample(kind, seed)
    found, truth = shapes(taken.models)
    blocks = [b for s, rows in zip(found, taken.rows, strict=True) for b in borders(s, variances(s, truth, rows))]
    return Problem(found, tuple(patterns(rows) for rows in taken.rows), tuple(blocks)), truth


@pytest.mark.parametrize(
    ("kind", "seed", "weight"),
    [("growth_free", 0, 10.0), ("ri_clpm", 1, 10.0), ("missing", 2, 0.0), ("bows", 3, 10.0), ("groups", 6, 10.0)],
)
def test_the_slope_is_that_of_the_value(kind: str, seed: int, weight: float) -> None:
    problem, truth = problem_of(kind, seed)
    place = problem.at(truth, weight)
    assert place is not None
    errors = 1.0 / np.sqrt(np.diag(place.bend))
    for a, h in enumerate(1e-3 * errors):
        step = np.zeros_like(truth)
        step[a] = h
        above, below = problem.at(truth + step, weight), problem.at(truth - step, weight)
        assert above is not None
        assert below is not None
        slope = (above.value - below.value) / (2.0 * h)
        # in standard errors, where slopes are of the size of one; third derivatives add 1e-6 of some
        assert slope * errors[a] == pytest.approx(place.slope[a] * errors[a], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("kind", "seed"), [("missing", 2), ("bows", 3)])
def test_the_value_is_that_of_the_rows(kind: str, seed: int) -> None:
    problem, truth = problem_of(kind, seed)
    place = problem.at(truth, 0.0)
    assert place is not None
    rows = sample(kind, seed).rows[0]
    assert place.value == pytest.approx(height(rows, *problem.shapes[0].moments(truth)), rel=1e-11)


def triangle(*, saturated: bool) -> Model:
    """Regressions of each variable on those before it, or on the one before alone."""
    arrows = [arrow("x", "y", 0.7), arrow("y", "z", -0.4), *([arrow("x", "z", 0.5)] if saturated else [])]
    return Model(("x", "y", "z"), (), (*arrows, *(e for v in "xyz" for e in (spread(v, v, 1.5), level(v, 3.0)))))


def test_a_model_that_restricts_nothing_ends_at_the_moments_and_regressions_at_halftreks() -> None:
    rows = rows_of(triangle(saturated=True), 300, np.random.default_rng(1))
    cov, value = np.cov(rows.T, ddof=0), {}
    for saturated in (True, False):
        model = triangle(saturated=saturated)
        found, truth = shapes([model])
        ended = maximum(Problem(found, (patterns(rows),), tuple(borders(found[0], np.diag(cov)))), truth)
        assert ended is not None
        assert ended.settled
        assert not ended.border
        value[saturated] = height(rows, *found[0].moments(ended.theta))
    assert value[True] == pytest.approx(-150.0 * (3.0 * LOG_2PI + np.linalg.slogdet(cov)[1] + 3.0), abs=1e-8)
    fit = ht.fit(ht.from_lavaan(text_of(triangle(saturated=False))), dict(zip("xyz", rows.T, strict=True)))
    assert value[False] == pytest.approx(fit.loglik, abs=1e-8)
    assert value[False] < value[True] - 1.0


def test_an_end_at_a_border_is_inside_it_and_no_point_near_it_is_higher() -> None:
    problem, truth = problem_of("growth_quadratic", 3)
    ended = maximum(problem, truth)
    assert ended is not None
    assert ended.border
    assert ended.settled
    assert ended.gap < 1e-6
    assert problem.inside(ended.theta)
    top = problem.at(ended.theta, 0.0)
    assert top is not None
    assert np.linalg.eigvalsh(problem.shapes[0].at(ended.theta)[1])[0] >= 0.0
    rng, tried_out, best = np.random.default_rng(2), 0, -np.inf
    errors = 1.0 / np.sqrt(np.diag(top.bend))
    while tried_out < 100:
        theta = ended.theta + 10.0 ** rng.uniform(-6, -1) * errors * rng.standard_normal(len(errors))
        if problem.inside(theta):
            other = problem.at(theta, 0.0)
            assert other is not None
            best, tried_out = max(best, other.value), tried_out + 1
    assert best <= top.value + ended.gap
    climbed = top.theta + 1e-3 * errors * np.sign(top.slope)  # up, and out
    beyond = problem.at(climbed, 0.0)
    assert beyond is None or beyond.value > top.value
    assert not problem.inside(climbed)


def moved(fit: ht.Fit, share: float) -> ht.Fit:
    """The fit with one intercept that is off by a share of a standard deviation."""
    model = fit.model
    mu = model.mu.copy()
    mu[0] += share * np.sqrt(model.cov[0, 0])
    return replace(fit, model=CGLSCM(model.names, model.T, model.C, mu, model.W, model.latents, model.graph))


def test_a_fit_that_is_made_lower_is_counted_and_one_that_is_not_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    fair = tried("mimic", 1)
    assert not fair.lower
    assert not fair.higher
    assert not fair.warned
    real = trial.fitted

    def lowered(taken: trial.Sample) -> tuple[trial.Fit | None, str]:
        fit, why = real(taken)
        assert isinstance(fit, ht.Fit)
        return moved(fit, 5e-4), why

    monkeypatch.setattr(trial, "fitted", lowered)
    low = tried("mimic", 1)
    assert -1e-2 < low.difference < -1e-6 if low.difference is not None else False
    assert low.lower
    assert low.silent
    assert command.figure([fair, low]) == (
        "2 models: 1 lower by 1e-6 or more (1 in silence), 0 refused; worst kinds: mimic 1"
    )


def test_what_halftrek_refuses_and_the_loop_finds_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "fitted", lambda taken: (None, f"no fit of {len(taken.rows)}"))
    refused = tried("growth_linear", 0)
    assert refused.refused
    assert refused.loop == "inside"
    assert not refused.lower
    assert command.table([refused]).splitlines()[2].startswith("| growth_linear | 1 | 0 | 0 | 0 | 0 | 0 | 1 |")


def test_another_model_is_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    real = trial.fitted

    def without_an_arrow(taken: trial.Sample) -> tuple[trial.Fit | None, str]:
        (model,) = taken.models
        return real(replace(taken, models=(replace(model, entries=model.entries[1:]),)))

    monkeypatch.setattr(trial, "fitted", without_an_arrow)
    with pytest.raises(ValueError, match="parameters, this one"):
        tried("bows", 0)


def test_stored_lines_are_read_again_unless_the_library_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Trial("cfa", 3, 90, (0.1, 2.0), 6, 8, -2e-6, "converged", False, False, "inside", 1e-12, 0.0, (0.1, 0.2))
    monkeypatch.setattr(command, "LINES", tmp_path / "maxima.jsonl")
    monkeypatch.setattr(command, "revision", lambda: "first")
    assert command.stored() == {}
    command.store(one)
    again = command.stored()
    assert again["cfa", 3].silent
    assert again["cfa", 3].name == one.name
    monkeypatch.setattr(command, "revision", lambda: "second")
    assert command.stored() == {}


def test_each_kind_has_its_turn_and_its_own_numbers() -> None:
    numbers = command.numbered(0, 2000, None)
    counts = {kind: sum(k == kind for k, _ in numbers) for kind in KINDS}
    assert min(counts.values()) >= 100
    assert command.numbered(17, 1, "growth_free") == [("growth_free", 17)]
    assert ("growth_free", 17) in numbers
