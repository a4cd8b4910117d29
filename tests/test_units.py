"""Units of measurement do not matter: every number follows when variables are multiplied and shifted.

Each variable gets a unit of its own, from 1e-12 to 1e14, and another zero; answers, errors, intervals, tests, notes and
tables must be the same in the new units.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import Interval
from halftrek.inference.evidence.strength import strengths
from halftrek.queries import DirectEffect
from halftrek.queries.gradients import linearize
from halftrek.reporting import sensitivity
from halftrek.results.fit import Fit
from halftrek.simulation import random_graph, random_model
from tests.narrow import grouped, interval_of, se_of, some, there
from tests.units import Units, assert_close, without_numbers

CLOSE = 1e-6
ROWS = 240
GRAPHS = {
    "front door": "w -> x; x -> m -> y; x <-> y; w -> y",
    "instrument": "z -> x -> y; x <-> y; w -> x; w -> y",
    "factor": "latent f; f -> {a, b, c, x}; x -> m -> y; x -> y",
}
QUESTIONS = {  # question, unit of the answer; with a "+" the answer moves with the zero of its variable
    "front door": [
        ("x ~> y", "y/x"), ("x -> m -> y", "y/x"), ("w ~> x ~> y", "y/w"), ("x <-> y", "x*y"), ("std(x ~> y)", "1"),
        ("P(y | do(x=@x:1))", "+y"), ("P(y | do(x=@x:1), w=@w:0.4, m=@m:0.2)", "+y"),
        ("E[y | do(x=@x:1)] - E[y | do(x=@x:0)]", "y"), ("E[y | do(x=@x:1), w=@w:0.3]", "+y"),
        ("Var[y | do(x=@x:1)]", "y*y"), ("SD[m]", "m"), ("Corr[m, y | do(x=@x:0)]", "1"), ("Cov[m, y]", "m*y"),
        ("P(y > @y:0.5, m > @m:0.1 | do(x=@x:1))", "1"), ("Q(0.9, y | do(x=@x:1))", "+y"),
        ("P(y_{x=@x:1} | x=@x:0, w=@w:0.3, m=@m:1)", "+y"), ("E[y_{x=@x:1} - y_{x=@x:0} | x=@x:0.5]", "y"),
        ("Var[y | do(x=@x:1)] / Var[y]", "1"), ("E[y | y > @y:0.3]", "+y"), ("(x ~> y) / (w ~> y)", "w/x"),
        ("P(y_{x=@x:0} < @y:0.5 | x=@x:1, y > @y:0.5)", "1"), ("P(y_{x=@x:1} | x=@x:0, y=@y:1)", "+y"),
    ],
    "instrument": [
        ("x ~> y", "y/x"), ("x <-> y", "x*y"), ("P(y | do(x=@x:1), w=@w:0.3, z=@z:0.1)", "+y"), ("w ~> y", "y/w"),
        ("P(y_{x=@x:1} | x=@x:0, y=@y:1)", "+y"), ("P(y | x=@x:0.2, w=@w:0.1, z=@z:0.5)", "+y"),
    ],
    "factor": [("x ~> y", "y/x"), ("P(y | do(x=@x:1))", "+y"), ("P(x | a=@a:1, b=@b:0)", "+x"), ("Corr[a, y]", "1")],
}  # fmt: skip

DRAWN = ("P(y_{x=@x:0} < @y:0.5 | x=@x:1, y > @y:0.5)",)  # a thousand fits where values are missing


def rows_of(name: str, holes: bool) -> dict[str, np.ndarray]:
    model = random_model(ht.graph(GRAPHS[name]), random_state=3)
    values = np.array(model.sample(ROWS, random_state=1))
    if holes:
        values[np.random.default_rng(2).random(values.shape) < 0.15] = np.nan
    return dict(zip(model.names, values.T, strict=True))


Pair = tuple[str, Units, Fit, Fit]  # the name of a graph, other units, the two fits


@pytest.fixture(scope="module", params=[(g, h) for g in GRAPHS for h in (False, True)], ids=str)
def pair(request: pytest.FixtureRequest) -> Pair:
    """A fit, and the fit of the same rows in other units."""
    name, holes = request.param
    data = rows_of(name, holes)
    units = Units.wild(data, seed=len(name) + holes)
    graph = ht.graph(GRAPHS[name])
    return name, units, ht.fit(graph, data), ht.fit(graph, units.rows(data))


def compare_answers(units: Units, unit: str, before: ht.Answer, after: ht.Answer, tolerance: float = CLOSE) -> None:
    moves, unit = unit.startswith("+"), unit.removeprefix("+")
    factor, shift = units.factor(unit), units.shift[unit] if moves else 0.0
    value, error, ends = (np.asarray(x, dtype=float) for x in (before.value, before.se, before.interval))
    lost = 1e-8 * abs(shift) / factor  # digits that go to a far zero
    what = str(before.query)
    assert_close((np.asarray(after.value) - shift) / factor, value, abs(value) + error + lost, tolerance, what)
    assert_close(np.asarray(after.se) / factor, error, error, tolerance, f"error of {what}")
    width = np.where(np.isfinite(ends).all(), np.ptp(ends) if np.isfinite(ends).all() else 1.0, 1.0)
    assert_close((np.asarray(after.interval) - shift) / factor, ends, width + lost, tolerance, f"interval of {what}")
    if before.variance_interval is not None:
        assert_close(np.asarray(after.variance) / factor**2, before.variance, before.variance, tolerance, what)
        spread = np.asarray(before.variance_interval)
        assert_close(np.asarray(after.variance_interval) / factor**2, spread, spread, tolerance, what)
    assert without_numbers(after.warnings) == without_numbers(before.warnings)


def given_factors(_: pd.DataFrame, factors: list[float]) -> np.ndarray:
    return np.array(factors)


def compare_tables(before: Any, after: Any, unit: Callable[[pd.DataFrame], Any], *, slack: float = 0.0) -> None:
    """``unit`` gives the factor of each row; columns without units are the same."""
    before, after = pd.DataFrame(before), pd.DataFrame(after)
    assert list(before.columns) == list(after.columns)
    own = {"est", "se", "ci_low", "ci_high", "epc", "error_variance", "variance"}
    error = np.nan_to_num(before["se"].to_numpy(float)) if "se" in before else 0.0
    for column in before.columns:
        if not pd.api.types.is_numeric_dtype(before[column]):
            assert without_numbers(after[column]) == without_numbers(before[column]), column
            continue
        a, b = before[column].to_numpy(float), after[column].to_numpy(float)
        factor = unit(before) if column in own else 1.0
        size = (
            np.abs(a)
            + (error if column in own - {"se"} else 0.0)
            + (2.0 if column == "z" else 0.01 if column == "p" else slack)
        )
        assert_close(b / factor, a, size, 2 * CLOSE, column)


# -- the questions ---------------------------------------------------------------------------------


def test_large_numbers_have_errors() -> None:
    """Once the standard error was 0 and the interval one point."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = x + rng.normal(size=300)
    plain = ht.fit("x -> y", {"x": x, "y": y}).effect("x", "y")
    large = ht.fit("x -> y", {"x": 5e14 + 5e13 * x, "y": 1.0 + 2.0 * y}).effect("x", "y")
    assert se_of(large) * 5e13 / 2.0 == pytest.approx(plain.se, rel=1e-9)
    assert interval_of(large)[0] < large.value < interval_of(large)[1]


@pytest.mark.parametrize("interval", [None, "t", "robust", "sandwich"])
def test_answers_follow_the_units(pair: Pair, interval: Interval | None) -> None:
    name, units, before, after = pair
    plain = Units.none(units.scale)
    holes = before.patterns is not None
    interval = "delta" if interval == "sandwich" and holes else interval  # which needs moments of complete rows
    chosen = [(q, unit) for q, unit in QUESTIONS[name] if not (holes and interval is None and q in DRAWN)]
    assert len(chosen) >= 3
    for question, unit in chosen:
        asked = [fit.query(u.text(question), interval=interval) for u, fit in ((plain, before), (units, after))]
        compare_answers(units, unit, asked[0], asked[1])


@pytest.mark.parametrize("interval", ["bootstrap", "parametric", "profile"])
def test_drawn_and_profiled_intervals_follow_the_units(interval: Interval) -> None:
    data = rows_of("front door", holes=False)
    units = Units.wild(data, seed=4)
    plain = Units.none(data)
    before, after = ht.fit(GRAPHS["front door"], data), ht.fit(GRAPHS["front door"], units.rows(data))
    few: dict[str, Any] = {} if interval == "profile" else {"replicates": 20}
    chosen = QUESTIONS["front door"][:6:5] if interval == "profile" else QUESTIONS["front door"]
    for question, unit in some(chosen):
        asked = [fit.query(u.text(question), interval=interval, **few) for u, fit in ((plain, before), (units, after))]
        compare_answers(units, unit, asked[0], asked[1], 10 * CLOSE)
    if interval == "profile":
        curves = [fit.profile("x ~> y", points=5) for fit in (before, after)]
        assert_close(curves[1].values / units.factor("y/x"), curves[0].values, abs(curves[0].values), 10 * CLOSE)
        assert_close(curves[1].deviance, curves[0].deviance, curves[0].deviance + 0.01, 1e-3)


@pytest.mark.parametrize("holes", [False, True])
def test_what_data_contradict_does_not_depend_on_units(holes: bool) -> None:
    data = rows_of("front door", holes)
    units = Units.wild(data, seed=11)
    wrong = "w; x -> m -> y"
    before, after = (ht.fit(wrong, u.rows(data)) for u in (Units.none(data), units))
    for question, unit in (("x ~> y", "y/x"), ("m ~> y", "y/m"), ("P(y | do(x=@x:1))", "+y")):
        asked = [fit.query(u.text(question)) for u, fit in ((Units.none(data), before), (units, after))]
        compare_answers(units, unit, asked[0], asked[1], 10 * CLOSE)
        assert [n.code for n in asked[0].notes] == [n.code for n in asked[1].notes]
        assert any(n.level == "doubt" for n in asked[0].notes)


def test_weak_instruments_are_weak_in_any_units() -> None:
    data = rows_of("instrument", holes=True)
    data["x"] = data["x"] + 40.0 * np.random.default_rng(1).normal(size=ROWS)
    units = Units.wild(data, seed=7)
    fits = [ht.fit(GRAPHS["instrument"], u.rows(data)) for u in (Units.none(data), units)]
    strong = []
    for fit in fits:
        edges = [linearize(DirectEffect(u, v), fit.model).values[0] for u, v in fit.graph.directed]
        strong.append(strengths(fit, edges))
    assert np.isfinite(strong[0]).any()
    assert_close(strong[1], strong[0], strong[0], 1e-4)


def test_a_small_step_of_a_large_variable_is_not_lost_in_the_means() -> None:
    """One dollar, where x is trillions: the difference of two means is a part in 1e14 of either."""
    data = rows_of("front door", holes=False)
    units = Units({"w": 1.0, "x": 5e13, "m": 1.0, "y": 2.0}, {"w": 0.0, "x": 5e14, "m": 0.0, "y": 1.0})
    fit = ht.fit(GRAPHS["front door"], units.rows(data))
    effect = fit.effect("x", "y")
    for question in (
        "E[y | do(x=1)] - E[y | do(x=0)]",
        "E[y | do(x=1), w=0.3] - E[y | do(x=0), w=0.3]",
        "2 * (E[y_{x=1}] - E[y_{x=0}]) / 2",
        "E[y | do(x += 1)] - E[y]",
    ):
        answer = fit.query(question)
        assert answer.value == pytest.approx(effect.value, rel=1e-9)
        assert answer.se == pytest.approx(effect.se, rel=1e-9)
        drawn = [fit.query(q, interval="parametric", replicates=20) for q in (question, "x ~> y")]
        assert drawn[0].interval == pytest.approx(drawn[1].interval, rel=1e-9)


@pytest.mark.parametrize("question", ["P(y_{x=@x:0} | x=@x:0, y=@y:1)", "Var[y | do(x=@x:1)] / Var[y | do(x=@x:0)]"])
def test_what_is_certain_has_no_error_in_any_units(question: str) -> None:
    data = rows_of("front door", holes=False)
    for units in (Units.none(data), Units.wild(data, seed=6)):
        answer = ht.fit(GRAPHS["front door"], units.rows(data)).query(units.text(question))
        assert answer.se == 0.0
        assert not answer.warnings


def test_random_graphs_follow_the_units() -> None:
    rng = np.random.default_rng(8)
    asked = 0
    for seed in range(8):
        graph = random_graph(
            int(rng.integers(3, 5)), n_bidirected=int(rng.integers(0, 3)), n_latents=int(seed == 3), latent_children=3,
            random_state=seed,
        )  # fmt: skip
        model = random_model(graph, random_state=seed)
        data = dict(zip(model.names, np.array(model.sample(ROWS, random_state=seed)).T, strict=True))
        units = Units.wild(data, seed=seed)
        before, after = ht.fit(graph, data), ht.fit(graph, units.rows(data))
        assert after.status.code == before.status.code
        pairs = [(u, v) for u in graph.observed for v in sorted(graph.descendants(u)) if u != v]
        for cause, effect in pairs:
            if ht.identify(graph, f"{cause} ~> {effect}").identified:
                asked += 1
                both = [fit.effect(cause, effect, interval="delta") for fit in (before, after)]
                compare_answers(units, f"{effect}/{cause}", both[0], both[1])
        compare_measures(units, before, after)
    assert asked > 15


# -- tables ----------------------------------------------------------------------------------------


def compare_measures(units: Units, before: Fit, after: Fit) -> None:
    a, b = before.measures(), after.measures()
    seen = dict.fromkeys(units.scale, ROWS)
    if before.patterns is not None:
        seen = dict(zip(before.patterns.names, before.patterns.rows @ before.patterns.observed, strict=True))
    jacobian = sum(seen[v] * np.log(s) for v, s in units.scale.items())
    for key, times in (("loglik", 1.0), ("saturated_loglik", 1.0), ("aic", -2.0), ("bic", -2.0)):
        assert_close(b[key] + times * jacobian, a[key], abs(a[key]) + abs(jacobian), 1e-9, key)
    for key in a.keys() - {"loglik", "saturated_loglik", "aic", "bic"}:
        if a[key] is None or isinstance(a[key], str):
            assert a[key] == b[key]
        else:
            assert_close(b[key], a[key], abs(a[key]) + 0.1, CLOSE, key)


def test_measures_and_checks_follow_the_units(pair: Pair) -> None:
    _, units, before, after = pair
    compare_measures(units, before, after)
    names = list(before.model.names)
    for table in ("residuals", "tests", "modifications", "r2"):
        a, b = (pd.DataFrame(getattr(fit, table)()) for fit in (before, after))
        key = [c for c in a.columns if c in ("edge", "lhs", "rhs", "constraint", "variable")]
        a, b = (t.sort_values(key).reset_index(drop=True) for t in (a, b))
        if table == "modifications":
            scale = [units.factor(f"{r.lhs}/{r.rhs}" if r.op == "~" else f"{r.lhs}*{r.rhs}") for r in a.itertuples()]
        elif table == "r2":
            scale = [units.factor(f"{v}*{v}") for v in a["variable"]]
        else:
            scale = [1.0] * len(a)
        compare_tables(a, b, partial(given_factors, factors=scale), slack=0.1)
    assert set(units.scale) == set(names)


@pytest.mark.parametrize("interval", ["delta", "robust"])
def test_parameters_follow_the_units(pair: Pair, interval: Literal["delta", "robust"]) -> None:
    _, units, before, after = pair

    def scale(table: pd.DataFrame) -> np.ndarray:
        of = [(units.scale.get(r.lhs, 1.0), r.op, units.scale.get(r.rhs, 1.0)) for r in table.itertuples()]
        return np.array([{"~": y / x, "~~": y * x, "=~": x}[op] for y, op, x in of])

    a, b = (fit.params(interval=interval) for fit in (before, after))
    inside = a["op"] != "~1"
    compare_tables(a[inside], b[inside], scale)
    for v, mu in zip(after.model.names, after.model.mu, strict=True):
        i = before.model.names.index(v)
        causes = {u: after.model.T[after.model.names.index(u), i] for u in before.graph.parents(v)}
        here = (mu - units.shift[v] + sum(t * units.shift[u] for u, t in causes.items())) / units.scale[v]
        far = sum(abs(t * units.shift[u]) for u, t in causes.items()) / units.scale[v] + 10.0
        assert_close(here, before.model.mu[i], far, 1e-9)


def test_effects_follow_the_units(pair: Pair) -> None:
    name, units, before, after = pair

    def scale(table: pd.DataFrame) -> np.ndarray:
        return np.array([units.factor(f"{e}/{c}") for c, e in zip(table["cause"], table["effect"], strict=True)])

    compare_tables(before.effects(), after.effects(), scale)
    cause = {"front door": "w", "instrument": "w", "factor": "x"}[name]
    factor = units.factor(f"y/{cause}")
    tables = [fit.decompose(cause, "y").frame() for fit in (before, after)]
    compare_tables(tables[0], tables[1], lambda _: factor)
    split = [fit.mediation(cause, "y") for fit in (before, after)]
    first, second = (m.frame() for m in split)
    compare_tables(first, second, lambda t: np.where(t["kind"].str.startswith("prop"), 1.0, factor))
    if split[0].proportion is None:
        assert split[1].proportion is None
    else:
        assert_close(there(split[1].proportion).fieller, split[0].proportion.fieller, 1.0, CLOSE)


def test_counterfactual_tables_follow_the_units() -> None:
    for holes in (False, True):
        data = rows_of("front door", holes)
        units = Units.wild(data, seed=9)
        seen = {v: np.where(np.arange(8) % 3 == k, np.nan, data[v][:8]) for k, v in enumerate(("w", "x", "m"))}
        found = []
        for u in (Units.none(data), units):
            fit = ht.fit(GRAPHS["front door"], u.rows(data))
            do = {"x": u.value("x", 1.0)}
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found.append(fit.counterfactual(pd.DataFrame(u.rows(seen)), do, "y"))
        before, after = found
        for column in some(before.columns):
            shift = units.shift["y"] if column in ("y", "ci_low", "ci_high") else 0.0
            size = abs(before[column]) + before["se"] + 1e-8 * abs(shift) / units.scale["y"]
            assert_close((after[column] - shift) / units.scale["y"], before[column], size, 2 * CLOSE, column)


def test_comparisons_and_sensitivity_follow_the_units() -> None:
    for holes in (False, True):
        data = rows_of("front door", holes)
        units = Units.wild(data, seed=3)
        tables = [u.rows(data) for u in (Units.none(data), units)]
        graph = GRAPHS["front door"]
        models = {"all": graph, "less": "w -> x; x -> m -> y; x <-> y; y", "other": "x -> m -> y; w -> {x, y}; m <-> x"}
        compared = [ht.compare(models, rows, "x ~> y") for rows in tables]
        compare_tables(compared[0].tests, compared[1].tests, lambda _: 1.0, slack=0.1)
        at = (-0.3, 0.0, 0.3)
        curves = [
            sensitivity(graph, rows, "x ~> y", arc=("w", "y"), values=[c * u.factor("w*y") for c in at])
            for rows, u in zip(tables, (Units.none(data), units), strict=True)
        ]
        assert_close(curves[1].correlation, curves[0].correlation, 1.0, CLOSE)
        assert_close(curves[1].estimates / units.factor("y/x"), curves[0].estimates, 1.0, 1e-5)


def test_covariances_alone_and_tiny_variables() -> None:
    """A standard deviation of 1e-13 is no constant, with holes or without."""
    data = rows_of("front door", holes=True)
    tiny = {v: 1e-13 * x for v, x in data.items()}
    effect = ht.fit(GRAPHS["front door"], tiny).effect("x", "y")
    assert effect.se == pytest.approx(ht.fit(GRAPHS["front door"], data).effect("x", "y").se, rel=CLOSE)
    whole = ht.moments(rows_of("front door", holes=False))
    by_cov = ht.fit(GRAPHS["front door"], cov=1e-26 * whole.cov, n=ROWS, names=whole.names).effect("x", "y")
    assert by_cov.se == pytest.approx(ht.fit(GRAPHS["front door"], whole).effect("x", "y").se, rel=CLOSE)


@pytest.mark.parametrize("holes", [False, True])
def test_groups_follow_the_units(holes: bool) -> None:
    data = rows_of("front door", holes)
    units = Units.wild(data, seed=5)
    plain = Units.none(data)
    by = np.repeat(["a", "b", "c"], ROWS // 3)
    before, after = (grouped(ht.fit(GRAPHS["front door"], u.rows(data), by=by)) for u in (plain, units))
    for question, unit in QUESTIONS["front door"][:8]:
        moves, unit = unit.startswith("+"), unit.removeprefix("+")
        factor, shift = units.factor(unit), units.shift[unit] if moves else 0.0
        a, b = before.query(plain.text(question)), after.query(units.text(question))
        for column in ("estimate", "se", "low", "high"):
            zero = 0.0 if column == "se" else shift
            size = abs(a[column]) + (0.0 if column == "se" else a["se"] + 1e-8 * abs(shift) / factor)
            assert_close((b[column] - zero) / factor, a[column], size, 2 * CLOSE, f"{column} of {question}")
    tables = [fits.invariance(calibrate=not holes) for fits in (before, after)]
    compare_tables(tables[0], tables[1], lambda _: 1.0, slack=0.1)
