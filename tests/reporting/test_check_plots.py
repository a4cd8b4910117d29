"""Pictures of checks, and how an effect depends on what was assumed."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import InputError
from halftrek.estimation.district.trace import likelihood_trace
from halftrek.reporting import (
    plot_bounds,
    plot_constraints,
    plot_convergence,
    plot_profile,
    plot_residuals,
    plot_sensitivity,
    sensitivity,
)
from halftrek.reporting.plots.figures import new_figure
from halftrek.simulation import random_model
from tests.narrow import interval_of, there

mpl.use("Agg")
FACTOR = ht.graph("latent F; F -> {a, b, c, d}; a -> b")


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    return ht.fit(FACTOR, random_model(FACTOR, random_state=3).sample(300, random_state=1))


def axes() -> Any:
    return new_figure(6.0, 4.0).axes[0]


def test_convergence_shows_the_gap_to_the_maximum(fit: ht.Fit) -> None:
    ax = axes()
    assert plot_convergence({"one": [-10.0, -2.0, -1.5], "two": [-3.0, -1.0]}, best=-1.0, ax=ax) is ax
    first, second = (list(np.asarray(line.get_ydata())) for line in ax.lines)
    assert first == pytest.approx([9.0, 1.0, 0.5])
    assert second == pytest.approx([2.0, 1e-9])
    assert ax.get_yscale() == "log"
    drawn = np.asarray(plot_convergence(fit, ax=axes()).lines[0].get_ydata())
    assert drawn[0] == pytest.approx(fit.loglik - likelihood_trace(fit, steps=1)[0])
    with pytest.raises(ht.InputError, match="list of log-likelihoods"):
        plot_convergence({}, ax=axes())


def test_residuals_are_observed_less_implied_correlations() -> None:
    rows = random_model(ht.graph("x -> y; x -> z; y -> z"), random_state=4).sample(400, random_state=5)
    fit = ht.fit("x -> y; x -> z", rows)
    ax = plot_residuals(fit, ax=axes(), title="misfit")
    gap = np.corrcoef(np.asarray(rows).T) - _correlations(fit.model.cov)
    shown = np.ma.filled(there(ax.images[0].get_array()), np.nan)
    np.testing.assert_allclose(shown[np.tril_indices(2)], gap[[1, 2, 2], [0, 0, 1]], atol=1e-12)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["x", "y"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["y", "z"]
    assert f"{gap[2, 1]:.2f}".replace("-", "−") in {t.get_text() for t in ax.texts}
    assert len(ax.texts) == 3


def _correlations(cov: Any) -> Any:
    sd = np.sqrt(np.diag(cov))
    return cov / np.outer(sd, sd)


def test_constraints_that_fail_are_full() -> None:
    frame = {
        "constraint": ["a _||_ b", "c _||_ d", "tetrad", "none"],
        "estimate": [0.3, 0.01, None, 0.0],
        "p": [1e-9, 0.6, 0.04, None],
    }
    ax = plot_constraints(frame, ax=axes())
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a _||_ b  (+0.30)", "c _||_ d  (+0.01)", "tetrad"]
    dots = [line for line in ax.lines if line.get_marker() in ("o", "<")]
    assert [dot.get_marker() for dot in dots] == ["<", "o", "o"]
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, True, False]
    with pytest.raises(ht.InputError, match="implies nothing"):
        plot_constraints({"constraint": [], "p": []}, ax=axes())


def test_constraints_of_a_fit() -> None:
    study = ht.dataset("airquality")
    tests = ht.fit(study.graph, study.data, missing="drop").tests()
    ax = plot_constraints(tests, ax=axes())
    assert len(ax.get_yticklabels()) == int(tests["p_adjusted"].notna().sum()) > 0
    assert ax.get_xlabel().startswith("adjusted p-value")


def test_the_profile_and_its_cut() -> None:
    x = np.linspace(-1.0, 1.0, 24)
    ax = plot_profile(x, list(4 * x**2), cut=1.0, estimate=0.0, name="x ~> y", ax=axes())
    curve, cut, dot = ax.lines
    np.testing.assert_array_equal(curve.get_ydata(), 4 * x**2)
    assert set(np.asarray(cut.get_ydata())) == {1.0}
    (shade,) = ax.collections
    below = np.vstack([path.vertices for path in shade.get_paths()])
    crossing = np.interp(1.0, (4 * x**2)[x >= 0.0], x[x >= 0.0])  # of the line that is drawn, between two points
    assert (below[:, 0].min(), below[:, 0].max()) == pytest.approx((-crossing, crossing))
    assert (np.asarray(dot.get_xdata())[0], ax.get_xlabel()) == (0.0, "x ~> y")
    with pytest.raises(ht.InputError, match="one length"):
        plot_profile([1.0, 2.0], [1.0], ax=axes())
    with pytest.raises(ht.InputError, match="values need their deviance"):
        plot_profile([1.0, 2.0], ax=axes())


def test_the_profile_of_a_fit() -> None:
    study = ht.dataset("mroz")
    profile = ht.fit(study.graph, study.data).profile("educ -> lwage", points=11)
    ax = plot_profile(profile, ax=axes())
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), profile.deviance)


def test_sensitivity_of_the_bow_is_the_formula() -> None:
    """With cov(errors) = c the effect is (s_xy - c) / s_xx, zero at c = s_xy."""
    study = ht.dataset("mroz")
    found = sensitivity("educ -> lwage", study.data, "educ -> lwage", arc=("educ", "lwage"))
    moments = ht.moments(study.data, ["educ", "lwage"])
    (xx, xy), (_, yy) = moments.cov
    assert len(found.covariance) == 21
    np.testing.assert_allclose(found.estimates, (xy - found.covariance) / xx, rtol=1e-6, atol=1e-9)
    assert found.zero == pytest.approx(xy, rel=1e-6)
    assert found.zero_correlation == pytest.approx(xy / np.sqrt(xx * yy), rel=1e-6)
    at = int(np.argmin(np.abs(found.covariance)))
    base = ht.fit("educ -> lwage", study.data).query("educ -> lwage")
    np.testing.assert_allclose(found.intervals[at], interval_of(base), rtol=1e-5)
    ax = plot_sensitivity(found, ax=axes())
    np.testing.assert_array_equal(ax.lines[-2].get_xdata(), found.correlation)
    assert ax.texts[0].get_text() == f"zero at {found.zero_correlation:.2f}"
    assert "educ and lwage" in ax.get_xlabel()


def test_sensitivity_with_missing_values_uses_what_rows_have() -> None:
    """x is missing where y is large: with cov(errors) = c the effect is (s_xy - c) / s_xx of the best moments."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    y = x + rng.normal(size=400)
    data = {"x": np.where(y > 0.0, np.nan, x), "y": y}
    base = ht.fit("x -> y", data)
    found = sensitivity("x -> y", data, "x -> y", arc=("x", "y"), values=[-0.1, 0.0, 0.2])
    assert base.patterns is not None
    (xx, xy), _ = base.patterns.unrestricted.moments.cov
    np.testing.assert_allclose(found.estimates, (xy - found.covariance) / xx, rtol=1e-5)
    np.testing.assert_allclose(found.intervals[1], interval_of(base.query("x -> y")), rtol=1e-5)


def test_sensitivity_replaces_an_arc_however_far() -> None:
    """With cov(errors) = c of instrument and outcome the effect is (s_zy - c) / s_zx."""
    study = ht.dataset("mroz")
    values = [-100.0, 0.0, 0.05]
    found = sensitivity(study.graph, study.data, "educ -> lwage", arc=("lwage", "fatheduc"), values=values)
    (_, zx, zy), *_ = ht.moments(study.data, ["fatheduc", "educ", "lwage"]).cov
    np.testing.assert_allclose(found.estimates, (zy - found.covariance) / zx, rtol=1e-5)
    assert list(found.covariance) == values
    assert found.zero is None


@pytest.mark.parametrize(
    ("arc", "words"),
    [(("educ", "wage"), "no observed variable 'wage'"), (("educ", "educ"), "twice"), ("educ", "a pair of variables")],
)
def test_sensitivity_to_what(arc: Any, words: str) -> None:
    study = ht.dataset("mroz")
    with pytest.raises(ht.InputError, match=words):
        sensitivity(study.graph, study.data, "educ -> lwage", arc=arc)
    with pytest.raises(ht.InputError, match="needs data, a question"):
        plot_sensitivity(study.graph)


def test_the_range_of_a_sensitivity_holds_zero_itself() -> None:
    rows = random_model(ht.graph("x -> y"), random_state=1).sample(200, random_state=2)
    found = sensitivity("x -> y", rows, "x ~> y", arc=("x", "y"))
    assert found.covariance[len(found.covariance) // 2] == 0.0
    assert (found.covariance == -found.covariance[::-1]).all()


def test_a_set_of_values_is_drawn_from_its_answer_too() -> None:
    rng = np.random.default_rng(7)
    x, m, y = rng.standard_exponential((3, 400))
    m, y = m + 0.6 * x, y + 0.7 * (m + 0.6 * x)
    fit = ht.fit("x -> m -> y; x <-> m; x <-> y", {"x": x, "m": m, "y": y})
    answer = fit.query("m -> y", errors="independent")
    assert plot_bounds(answer).get_title() == plot_bounds(answer.result).get_title()  # type: ignore[arg-type]
    with pytest.raises(InputError, match="plot_effects draws those with one value"):
        plot_bounds(ht.fit("x -> m", {"x": x, "m": m}).query("x -> m"))
