"""Variances and quantiles where categories act: against mixtures written out, and against rows of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, optimize, stats

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Margin
from halftrek.models import CGLSCM
from halftrek.queries.observed.acting import acting_value
from halftrek.syntax import parse_question
from tests.narrow import interval_of, se_of, value_of

GRAPH = ht.graph("z -> d -> ill; d <-> ill; d -> w; z -> w; w <-> ill")
CUTS = {"d": [-0.4, 0.9], "ill": [0.5]}


def model() -> tuple[CGLSCM, dict[str, Margin]]:
    """A cause of three categories that acts; errors of d, ill and w, two of which are behind categories."""
    names = GRAPH.observed
    T, W, mu = np.zeros((4, 4)), np.eye(4), np.zeros(4)
    at = names.index
    for u, v, b in (("z", "d", 0.8), ("d", "ill", 0.7), ("d", "w", 1.5), ("z", "w", -1.0)):
        T[at(u), at(v)] = b
    for u, v, r in (("d", "ill", 0.4), ("w", "ill", 0.5)):
        W[at(u), at(v)] = W[at(v), at(u)] = r
    W[at("w"), at("w")], mu[at("w")] = 1.44, 0.7
    margins = {
        "d": Margin("acts", np.array([0.0, 1.0, 2.0]), np.full(3, 1.0 / 3.0), given_cuts=np.array(CUTS["d"])),
        "ill": Margin("ordered", np.array([0.0, 1.0]), np.full(2, 0.5), given_cuts=np.array(CUTS["ill"])),
    }
    return CGLSCM(names, T, np.zeros((0, 4)), mu, W, (), GRAPH), margins


def drawn(n: int, *, z: float | None = None, d: float | None = None, seed: int = 1) -> pd.DataFrame:
    """Rows of the model, equation by equation."""
    errors = np.random.default_rng(seed).multivariate_normal(
        np.zeros(4), [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.4, 0.0], [0.0, 0.4, 1.0, 0.5], [0.0, 0.0, 0.5, 1.44]], size=n
    )
    of_z, of_d, of_ill, of_w = errors.T
    first = of_z if z is None else np.full(n, z)
    second = np.digitize(0.8 * first + of_d, CUTS["d"]).astype(float) if d is None else np.full(n, d)
    ill = (0.7 * second + of_ill > CUTS["ill"][0]).astype(float)
    return pd.DataFrame({"z": first, "d": second, "ill": ill, "w": 0.7 + 1.5 * second - first + of_w})


def asked(question: str) -> float:
    return acting_value(parse_question(question), *model())


def test_the_outcome_of_a_category_is_a_mixture_that_can_be_written_out() -> None:
    ends = stats.norm.cdf(np.array([-np.inf, *CUTS["d"], np.inf]) - 0.8)
    shares, means = np.diff(ends), 0.7 + 1.5 * np.arange(3.0) - 1.0
    mean = float(shares @ means)
    variance = 1.44 + float(shares @ (means - mean) ** 2)
    assert asked("Var[w | do(z=1)]") == pytest.approx(variance, rel=1e-9)
    assert asked("SD[w | do(z=1)]") == pytest.approx(np.sqrt(variance), rel=1e-9)
    for level in (0.001, 0.3, 0.9):
        found = optimize.brentq(lambda x, p=level: float(shares @ stats.norm.cdf((x - means) / 1.2)) - p, -20.0, 20.0)
        assert asked(f"Q({level}, w | do(z=1))") == pytest.approx(found, abs=1e-8)
    risk = asked("P(ill > 0 | do(z=1))")
    assert asked("Var[ill | do(z=1)]") == pytest.approx(risk * (1.0 - risk), rel=1e-9)


def test_moments_over_a_box_are_those_of_an_integral() -> None:
    """Of w given that a person is ill, the drug held: the error of w leans on that of ill, which was cut."""

    def moment(power: int) -> float:
        def inside(e: float) -> float:
            w = 0.7 + 1.5 - 0.3 + e
            return (
                w**power
                * stats.norm.pdf(e, scale=1.2)
                * stats.norm.sf((-0.2 - 0.5 / 1.44 * e) / np.sqrt(1 - 0.25 / 1.44))
            )

        return float(integrate.quad(inside, -12.0, 12.0)[0])

    share = moment(0)
    variance = moment(2) / share - (moment(1) / share) ** 2
    assert asked("Var[w | do(d=1, z=0.3), ill=1]") == pytest.approx(variance, rel=1e-8)
    assert asked("E[w | do(d=1, z=0.3), ill=1]") == pytest.approx(moment(1) / share, rel=1e-6)


def test_answers_are_those_of_simulated_rows() -> None:
    n = 400_000
    now, done = drawn(n), drawn(n, z=1.0)
    well = now[(now["ill"] == 0.0) & (now["d"] == 1.0)]
    near = now[(now["z"] - 0.5).abs() < 0.02]
    both = np.cov(now["w"], now["ill"])
    for question, simulated in {
        "Var[w]": now["w"].var(),
        "Var[w | ill=0, d=1]": well["w"].var(),
        "Var[w | w > 1]": now["w"][now["w"] > 1.0].var(),
        "Q(0.75, w | ill=0, d=1)": well["w"].quantile(0.75),
        "Cov[w, ill]": both[0, 1],
        "Corr[w, ill]": both[0, 1] / np.sqrt(both[0, 0] * both[1, 1]),
        "Cov[d, ill]": np.cov(now["d"], now["ill"])[0, 1],
        "Var[w + 2*ill]": (now["w"] + 2.0 * now["ill"]).var(),
        "Var[d | do(z=1)]": done["d"].var(),
        "Var[w_{z=1} - w]": (done["w"] - now["w"]).var(),  # of the same errors
        "Cov[ill_{z=1}, ill]": np.cov(done["ill"], now["ill"])[0, 1],
    }.items():
        assert asked(question) == pytest.approx(float(simulated), abs=0.012, rel=0.01), question
    assert asked("Var[ill | z=0.5]") == pytest.approx(float(near["ill"].var()), abs=0.01)


def test_what_goes_in_steps_is_refused_by_name() -> None:
    with pytest.raises(QueryError, match=r"ill is in categories, and its quantiles go in steps; ask P\(ill >"):
        asked("Q(0.5, ill | do(d=1))")
    known, margins = model()
    ranked = {**margins, "w": Margin("ranked", np.arange(3.0), np.full(3, 1.0 / 3.0))}
    with pytest.raises(QueryError, match="w is ranked"):
        acting_value(parse_question("Var[w | do(d=1)]"), known, ranked)


def sample_variance_error(column: Floats) -> float:
    centred = column - column.mean()
    return float(np.sqrt(((centred**2 - centred.var()) ** 2).mean() / len(column)))


def test_intervals_are_judged_and_as_wide_as_they_should_be() -> None:
    """Without do the variance of a column is seen: its error is near that of the rows, and no larger by much."""
    table = drawn(800, seed=3)
    fit = ht.fit(GRAPH, table, kinds={"d": "acts", "ill": "ordered"})
    answer = fit.query("Var[w]")
    assert value_of(answer) == pytest.approx(table["w"].var(ddof=0), rel=0.03)
    assert 0.6 < se_of(answer) / sample_variance_error(table["w"].to_numpy()) < 1.2
    low, high = interval_of(answer)
    assert low * high == pytest.approx(value_of(answer) ** 2, rel=1e-9)  # even on logarithms
    spread, root = fit.query("Var[w | do(d=1)]"), fit.query("SD[w | do(d=1)]")
    assert value_of(root) ** 2 == pytest.approx(value_of(spread))
    assert se_of(spread) == pytest.approx(2.0 * value_of(root) * se_of(root), rel=1e-3)
    assert 0.0 < se_of(fit.query("Q(0.9, w | do(d=1))")) < 0.3
