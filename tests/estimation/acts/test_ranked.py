"""Ranked columns on which a category acts: the model says where they are behind their ranks."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import ColumnKind
from halftrek.cli import main
from halftrek.errors import DataError, QueryError
from halftrek.estimation.acts.boxes import box_shares
from halftrek.estimation.acts.fit import Acting, fit_acting
from halftrek.estimation.acts.places import in_units
from halftrek.estimation.acts.ranks import Before, before_of, mixed_ranks, mixture_of
from halftrek.estimation.acts.spread import row_influence
from halftrek.inference.standard_errors.acting import value_where_acting
from halftrek.layer.margins import margin_of
from halftrek.queries.observed.acting import acting_value
from halftrek.syntax import parse_question
from tests.narrow import value_of

BOW = "z -> x -> y; w -> {x, y}; x <-> y"
FREE = "z -> x -> y; w -> {x, y}"
KINDS: dict[str, ColumnKind] = {"x": "acts", "y": "ranked"}
CHAIN = "z -> x -> y; w -> {x, y}; x <-> y; q -> y; y -> {v, m}; x -> v -> m"
CHAIN_KINDS: dict[str, ColumnKind] = {"x": "acts", "y": "ranked", "q": "ranked", "v": "ranked"}


def drawn(n: int, seed: int, *, b: float = 1.5, hidden: float = 0.7, **do: float) -> pd.DataFrame:
    """Rows of the bow, with ``hidden=0`` of the free graph; ``behind`` is what the ranks of y are of."""
    rng = np.random.default_rng(seed)
    z, w, u, own, error = rng.normal(size=(5, n))
    z = z if "z" not in do else np.full(n, do["z"])
    treated = (0.8 * z + 0.3 * w + 0.6 * u + 0.8 * own > 0.3).astype(float)
    x = treated if "x" not in do else np.full(n, do["x"])
    behind = b * x + 0.5 * w + hidden * u + np.sqrt(1.0 - hidden**2) * error
    return pd.DataFrame({"z": z, "w": w, "x": x, "y": np.exp(0.5 * behind), "behind": behind, "treated": treated})


def chain(n: int, seed: int) -> pd.DataFrame:
    """A ranked cause, two ranked columns one after the other, and a plain one at the end."""
    rng = np.random.default_rng(seed)
    rows, (q, of_v, of_m) = drawn(n, seed, b=2.0), rng.normal(size=(3, n))
    y = rows["behind"] + 0.4 * q
    v = 0.6 * y - 0.8 * rows["x"] + of_v
    return rows.assign(y=np.exp(y), q=q**3, v=np.arctan(v), m=0.5 * y + 0.4 * v + 0.7 * of_m)


def fitted(
    graph: str, rows: pd.DataFrame, kinds: dict[str, ColumnKind], **more: Any
) -> tuple[ht.Graph, Acting, Floats]:
    chosen = ht.graph(graph)
    values = rows[list(chosen.observed)].to_numpy()
    return chosen, fit_acting(chosen, values, kinds, **more), values


def effect(rows: pd.DataFrame, graph: str = BOW, kinds: dict[str, ColumnKind] = KINDS) -> float:
    return float(value_of(ht.fit(graph, rows, kinds=kinds).query("x ~> y")))


# -- where the column is -------------------------------------------------------------------------


def slow_share(before: Before, row: int, at: float) -> float:
    """The probability that the variable of one row lies below, given its box: one box by another."""
    low, high = (np.append(ends[row], end)[None] for ends, end in (
        (before.low, -np.inf), (before.high, (at - before.mean[row]) / before.sd)
    ))  # fmt: skip
    R = np.eye(len(before.r) + 1)
    R[:-1, :-1], R[-1, :-1], R[:-1, -1] = before.R, before.r, before.r
    inside = box_shares(low[:, :-1], high[:, :-1], before.R)
    return float(box_shares(low, high, R)[0] / inside[0])


@pytest.mark.parametrize("graph", [FREE, BOW])
def test_places_are_those_of_a_search_value_by_value(graph: str) -> None:
    rows = drawn(150, 1, b=2.5)
    chosen, found, values = fitted(graph, rows, KINDS)
    places = found.places(chosen)
    standard = in_units(chosen.observed, values, found.margins, found.centre, found.scale)
    before, margin = before_of(places, found.theta, standard, "y"), found.margins["y"]
    assert before is not None
    assert len(before.r) == ("<->" in graph)

    def above(at: float, level: float) -> float:
        return float(np.mean([slow_share(before, row, at) for row in range(150)])) - level

    for k in (0, 1, 40, 75, 120, 148, 149):
        slow = float(brentq(above, -15.0, 15.0, args=(float(margin.middle[k]),), xtol=1e-12))
        assert (slow - margin.mean) / margin.sd == pytest.approx(margin.scores[k], abs=2e-6)
    for k in (0, 60, 148):
        assert above(float(margin.cuts[k]), float(margin.below[k])) == pytest.approx(0.0, abs=1e-6)
    assert margin.shares @ margin.scores == pytest.approx(0.0, abs=1e-12)
    assert margin.shares @ margin.scores**2 == pytest.approx(1.0, abs=1e-12)


def test_places_are_right_where_a_box_ends_sharply() -> None:
    rng = np.random.default_rng(2)
    end, up = rng.normal(size=200), rng.random(200) < 0.5
    low, high = np.where(up, end, -np.inf)[:, None], np.where(up, np.inf, end)[:, None]
    before = Before("y", rng.normal(size=200) + up, 0.5, low, high, np.eye(1), np.array([0.97]))
    for level in (0.0025, 0.3, 0.9975):
        at = float(mixture_of(before, np.ones(200)).places(np.array([level]))[0])
        assert np.mean([slow_share(before, row, at) for row in range(200)]) == pytest.approx(level, abs=1e-7)


def test_without_an_effect_of_the_category_they_are_normal_scores() -> None:
    rows = drawn(2000, 3, b=0.0)
    _, found, values = fitted(FREE, rows.assign(y=drawn(2000, 3, b=0.0, hidden=0.0)["y"]), KINDS)
    assert mixed_ranks(ht.graph(FREE), found.margins) == ("y",)
    usual = margin_of(rows["y"].to_numpy(), np.ones(2000), "ranked").scores
    assert np.abs(found.margins["y"].scores - usual)[50:-50].max() < 0.06  # two standard errors of a quantile
    assert len(values) == 2000


def test_with_one_they_are_the_variable_behind_and_normal_scores_are_not() -> None:
    rows = drawn(4000, 4, b=3.5)
    _, found, _ = fitted(BOW, rows, KINDS)
    truth = np.sort((rows["behind"] - rows["behind"].mean()) / rows["behind"].std(ddof=0))
    inner = slice(100, -100)
    usual = margin_of(rows["y"].to_numpy(), np.ones(4000), "ranked").scores
    assert np.abs(found.margins["y"].scores - truth)[inner].max() < 0.08
    assert np.abs(usual - truth)[inner].max() > 0.2


def test_ranked_columns_that_come_before_the_category_keep_their_normal_scores() -> None:
    rows = chain(300, 5)
    chosen, found, _ = fitted(CHAIN, rows, CHAIN_KINDS)
    assert mixed_ranks(chosen, found.margins) == ("y", "v")
    assert found.margins["q"].given_scores is None
    np.testing.assert_array_equal(
        found.margins["q"].scores, margin_of(rows["q"].to_numpy(), np.ones(300), "ranked").scores
    )


# -- the truth -----------------------------------------------------------------------------------


def test_only_the_order_of_values_counts() -> None:
    """To the last bit, also where a ranked column comes after another."""
    rows = chain(150, 6)
    turned = rows.assign(y=np.log(rows["y"]) ** 3, v=np.tan(rows["v"]) - 7.0)
    one, other = (ht.fit(CHAIN, t, kinds=CHAIN_KINDS) for t in (rows, turned))
    pd.testing.assert_frame_equal(one.params(), other.params(), check_exact=True)
    middle = rows["y"].sort_values().iloc[70]
    here, there = (
        fit.query(f"P(y > {float(at)!r} | do(x=1))") for fit, at in ((one, middle), (other, np.log(middle) ** 3))
    )
    assert here.value == there.value
    assert here.se == there.se


@pytest.mark.parametrize("graph", [FREE, BOW])
def test_the_effect_is_that_of_a_fit_to_the_variable_behind(graph: str) -> None:
    """``python -m benchmarks.acting_ranked`` has many samples of 4,000."""
    found = []
    for seed in range(4):
        rows = drawn(2000, 20 + seed, b=2.5, hidden=0.7 if graph == BOW else 0.0)
        plain = rows.assign(y=(rows["behind"] - rows["behind"].mean()) / rows["behind"].std(ddof=0))
        found.append(effect(rows, graph) - effect(plain, graph, {"x": "acts"}))
    assert abs(np.mean(found)) < 0.02
    assert np.abs(found).max() < 0.06


def test_truth_lies_within_standard_errors() -> None:
    found, many, done = [], drawn(400_000, 99, b=2.0), drawn(400_000, 98, b=2.0, x=1.0)
    for seed in range(6):
        rows = drawn(300, 30 + seed, b=2.0)
        fit = ht.fit(BOW, rows, kinds=KINDS)
        for question, truth in {
            "x ~> y": 2.0 / many["behind"].std(), "P(y > 2 | do(x=1))": (done["y"] > 2.0).mean(),
            "E[y | do(x=1)]": done["y"].mean(), "E[y]": many["y"].mean(),
        }.items():  # fmt: skip
            answer = fit.query(question)
            assert isinstance(answer.se, float)
            found.append((float(value_of(answer)) - truth) / answer.se)
    assert len(found) == 24
    assert np.abs(found).max() < 4.0
    assert 0.3 < np.mean(np.square(found)) < 2.2


# -- how sure ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ranked", "near"), [(("y", "v"), 0.01), (("y", "v", "q"), 0.06)])
def test_what_a_row_adds_is_what_a_little_more_of_it_changes(ranked: tuple[str, ...], near: float) -> None:
    """By its own score, its ranks in columns, and what these make of each other; less closely with normal scores."""
    rows, kinds = chain(300, 7), {v: kind for v, kind in CHAIN_KINDS.items() if v in ("x", *ranked)}
    chosen, found, values = fitted(CHAIN, rows.assign(q=np.cbrt(rows["q"])), kinds)
    adds = row_influence(found.places(chosen), found.theta, values, np.ones(300))
    assert np.abs(adds.sum(axis=0) / np.sqrt((adds**2).sum(axis=0))).max() < 0.02
    for row in (int(np.argmax(rows["y"])), int(np.argmin(rows["v"]))):
        sides = []
        for step in (0.1, -0.1):
            weights = np.ones(300)
            weights[row] += step
            again = fit_acting(chosen, values, kinds, weights, start=found.theta)
            assert again.converged
            sides.append(again.theta)
        moved = (sides[0] - sides[1]) / 0.2
        np.testing.assert_allclose(adds[row], moved, atol=near * np.abs(moved).max())


def test_errors_of_risks_and_means_count_where_the_column_is() -> None:
    rows = drawn(300, 8)
    fit = ht.fit(BOW, rows, kinds=KINDS)
    share = float((rows["y"] > 2.0).mean())
    seen = fit.query("P(y > 2)")
    assert seen.value == pytest.approx(share, abs=0.01)
    assert seen.se == pytest.approx(np.sqrt(share * (1.0 - share) / 300), rel=0.05)
    mean = fit.query("E[y]")
    assert mean.value == pytest.approx(rows["y"].mean(), rel=0.01)
    assert mean.se == pytest.approx(rows["y"].std() / np.sqrt(300), rel=0.1)
    for question in ("x ~> y", "P(y > 2 | do(x=1))", "E[y | do(x=1)] - E[y | do(x=0)]"):
        usual, again = fit.query(question), fit.query(question, interval="bootstrap", replicates=30)
        assert again.estimate is not None
        assert again.estimate.kind == "bootstrap"
        assert again.se == pytest.approx(usual.se, rel=0.4), question


def test_rows_that_count_twice_are_two_rows() -> None:
    rows = drawn(200, 9)
    counts = np.where(np.arange(200) % 3 == 0, 2.0, 1.0)
    twice = rows.loc[rows.index.repeat(counts.astype(int))].reset_index(drop=True)
    chosen, one, values = fitted(BOW, rows, KINDS, weights=counts)
    _, other, _ = fitted(BOW, twice, KINDS)
    (model, margins), (same, others) = (fit.at(chosen, fit.theta) for fit in (one, other))
    np.testing.assert_allclose(model.T, same.T, atol=2e-6)
    np.testing.assert_allclose(model.W, same.W, atol=2e-6)
    for v in ("x", "y"):
        np.testing.assert_allclose(margins[v].cuts, others[v].cuts, atol=5e-6)
    np.testing.assert_allclose(margins["y"].scores, others["y"].scores, atol=5e-6)
    at = one.places(chosen).by_name["->", 1, 2]  # the effect, whose unit is that of the ranks
    assert chosen.observed[1:3] == ("x", "y")
    assert one.spread[at, at] == pytest.approx(other.spread[at, at], rel=1e-3)
    assert len(values) == 200


def test_clusters_of_equal_rows_tell_as_much_as_one_of_each() -> None:
    rows = drawn(200, 10)
    twice = pd.concat([rows, rows], ignore_index=True).assign(home=np.tile(np.arange(200), 2))
    single = ht.fit(BOW, rows, kinds=KINDS)
    pairs = ht.fit(BOW, twice, kinds=KINDS, cluster="home")
    for question in ("x ~> y", "P(y > 2 | do(x=1))"):
        a, b = single.query(question), pairs.query(question)
        assert a.value == pytest.approx(float(value_of(b)), abs=2e-3)  # halves of ties are not those of single ranks
        assert b.se == pytest.approx(a.se, rel=0.01)


# -- asking --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bar", ["do(z=1)", "x=1", "w=0.5", "do(x=1), w=1", "y > 2"]
)  # categories by chance, seen, and what was seen of others
def test_means_are_sums_of_risks(bar: str) -> None:
    rows = drawn(60, 11)
    chosen, found, _ = fitted(BOW, rows, KINDS)
    values, model = np.sort(rows["y"].to_numpy()), found.at(chosen, found.theta)
    risks = [acting_value(parse_question(f"P(y > {v!r} | {bar})"), *model) for v in values[:-1].tolist()]
    mean = acting_value(parse_question(f"E[y | {bar}]"), *model)
    assert mean == pytest.approx(values[0] + np.diff(values) @ risks, abs=2e-5)


def test_means_are_those_of_simulated_worlds() -> None:
    fit = ht.fit(BOW, drawn(2000, 12), kinds=KINDS)
    now, done = drawn(400_000, 13), drawn(400_000, 13, z=1.0)
    held, untreated = drawn(400_000, 13, x=1.0), now["treated"] == 0.0
    for question, truth in {
        "E[y | do(z=1)]": done["y"].mean(), "E[y | x=1]": now["y"][~untreated].mean(),
        "E[y_{x=1} | x=0]": held["y"][untreated].mean(), "E[y | y > 2]": now["y"][now["y"] > 2.0].mean(),
        "P(x = 1 | y=3)": now["x"][np.abs(now["y"] - 3.0) < 0.05].mean(),
        "P(y > 2 | do(z=1))": (done["y"] > 2.0).mean(),
    }.items():  # fmt: skip
        answer = fit.query(question)
        assert isinstance(answer.se, float)
        assert answer.value == pytest.approx(truth, abs=4.0 * answer.se), question
        assert answer.se < 0.16


def test_answers_say_their_units_and_what_columns_were_taken_for() -> None:
    fit = ht.fit(BOW, drawn(300, 14), kinds=KINDS)
    assert "in standard deviations, over all rows, of the variable behind" in str(fit.query("x ~> y"))
    text = " ".join(str(fit.summary()).split())
    assert "y: ranked, and a category acts on what is behind" in text
    table = fit.effects()
    line = table[(table["cause"] == "x") & (table["effect"] == "y")].iloc[0]
    assert line["est"] == pytest.approx(float(value_of(fit.query("x ~> y"))), abs=1e-9)
    assert line["se"] == pytest.approx(fit.query("x ~> y").se, rel=1e-3)
    with pytest.raises(QueryError, match="x lies between and acts as a category"):
        fit.query("w ~> y")
    with pytest.raises(QueryError, match="y is ranked, and how it spreads is not known"):
        fit.query("Var[y | do(x=1)]")


def test_an_edge_that_is_left_out_is_found() -> None:
    rows = drawn(700, 15)
    right, wrong = ht.fit(BOW, rows, kinds=KINDS), ht.fit("z -> x -> y; w -> x; x <-> y", rows, kinds=KINDS)
    p = {}
    for name, fit in (("right", right), ("wrong", wrong)):
        table = fit.tests()
        p[name] = table[table["kind"] == "missing edge"].set_index("constraint")["p"]
    assert p["right"]["no edge z -> w"] > 0.001 if "no edge z -> w" in p["right"] else (p["right"] > 0.001).all()
    assert p["wrong"]["no edge w -> y"] < 1e-6


def test_two_categories_act_on_two_ranked_columns() -> None:
    """One after the other, by way of a plain mediator; a mean over both is the sum of risks."""
    rng = np.random.default_rng(20)
    z, a, b, c, d = rng.normal(size=(5, 500))
    x = (0.9 * z + a > 0.0).astype(float)
    m = 1.2 * x + 0.7 * b
    s = (m + 0.5 * x + c > 0.8).astype(float)
    y = 1.5 * s + 0.8 * m + 0.6 * d
    rows = pd.DataFrame({"z": z, "x": x, "m": m, "s": s, "y": np.exp(y), "v": np.arctan(y + rng.normal(size=500))})
    fit = ht.fit(
        "z -> x -> m -> y; m -> s; x -> s -> y -> v", rows,
        kinds={"x": "acts", "s": "acts", "y": "ranked", "v": "ranked"},
    )  # fmt: skip
    for question, truth in {
        "s -> y": 1.5 / y.std(),
        "m -> y": 0.8 / y.std(),
        "s ~> v": 1.5 / np.hypot(y.std(), 1.0),
    }.items():
        answer = fit.query(question)
        assert isinstance(answer.se, float)
        assert answer.value == pytest.approx(truth, abs=3.5 * answer.se), question
    for question, seen, near in (("E[y]", np.exp(y), 0.15), ("P(y > 2)", np.exp(y) > 2.0, 0.03)):
        assert value_where_acting(fit, parse_question(question)) == pytest.approx(seen.mean(), abs=near)


def test_groups_have_ranks_of_their_own() -> None:
    rows = pd.concat([drawn(200, 21).assign(site="a"), drawn(250, 22).assign(site="b")], ignore_index=True)
    both = ht.fit(BOW, rows, kinds=KINDS, by="site")
    assert value_of(both["b"].query("x ~> y")) == pytest.approx(effect(rows[rows["site"] == "b"]), abs=1e-9)


def test_a_fit_travels_is_saved_and_goes_over_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = drawn(300, 16)[["z", "w", "x", "y"]]
    fit = ht.fit(BOW, rows, kinds=KINDS)
    fit.save(tmp_path / "fit.json")
    fit.save(tmp_path / "rows.json", rows=True)
    alone, whole = ht.load(tmp_path / "fit.json"), ht.load(tmp_path / "rows.json")
    for again in (pickle.loads(pickle.dumps(fit)), alone, whole):
        assert again.query("x ~> y").value == fit.query("x ~> y").value
        assert again.query("x ~> y").se == fit.query("x ~> y").se
    risk = "P(y > 2 | do(x=1))"
    assert whole.query(risk).interval == fit.query(risk).interval
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ["query", BOW, str(tmp_path / "rows.csv"), risk, "--kind", "y=ranked", "--kind", "x=acts"]
    assert main(words) == 0
    assert f"{fit.query(risk).value:.4f}" in capsys.readouterr().out


def test_a_report_is_made_of_it(tmp_path: Path) -> None:
    fit = ht.fit(BOW, drawn(300, 17), kinds=KINDS)
    html = fit.report(tmp_path / "out.html", ["x ~> y", "E[y | do(x=1)]"]).read_text(encoding="utf-8")
    assert f"{fit.query('x ~> y').value:.3f}" in html
    assert "of the variable behind" in " ".join(html.split())


# -- what is not known ---------------------------------------------------------------------------


def test_what_is_not_known_is_refused_by_name() -> None:
    rows = drawn(300, 18)
    with pytest.raises(DataError, match="'y' is ranked and 'x' acts on it, and their rows nowhere overlap"):
        ht.fit(BOW, rows.assign(y=rows["y"] + 100.0 * rows["x"]), kinds=KINDS)
    holes = rows.assign(y=rows["y"].where(np.arange(300) > 3))
    with pytest.raises(DataError, match="'y' is ranked, and missing values beside a column that acts"):
        ht.fit(BOW, holes, kinds=KINDS)
    assert ht.fit(BOW, holes, kinds=KINDS, missing="drop").query("x ~> y").value == effect(rows[4:])
    with pytest.raises(QueryError, match="y is ranked, and tables of rows are not known for ranked columns"):
        ht.fit(BOW, rows, kinds=KINDS).predict(rows, "y")
    made_of = rows.assign(w=rows["behind"] - 1.5 * rows["x"])
    with pytest.raises(DataError, match="tells its ranks apart, all but in whole"):
        ht.fit(FREE, made_of, kinds=KINDS)


def test_where_the_graph_leaves_its_equation_open_nothing_is_said_of_it() -> None:
    rows = drawn(300, 19)
    fit = ht.fit("x -> y; w -> {x, y}; x <-> y; z -> w", rows, kinds=KINDS)
    for question in ("w ~> y", "w -> x", "P(y > 2)", "E[y]"):
        with pytest.raises(QueryError, match="y is ranked and a category acts on it, and data do not determine"):
            fit.query(question)
    alone = float(value_of(ht.fit("z -> w", rows).query("z ~> w")))
    assert fit.query("z ~> w").value == pytest.approx(alone, abs=1e-8)
    table = fit.params().set_index(["lhs", "op", "rhs"])
    assert np.isnan(table.loc[("y", "~", "w"), "est"])
    assert np.isfinite(table.loc[("w", "~", "z"), "est"])
    left = fit.bounds("P(y > 2 | do(x=1))", assume="corr(x <-> y) in [0, 0.7]")
    assert left.low < (drawn(100_000, 97, x=1.0)["y"] > 2.0).mean() < left.high
