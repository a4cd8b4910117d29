"""Sensitivity, robustness and the ranking of assumptions with factors: as if their values were in the data."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import GraphError, InputError, NotIdentifiedError
from halftrek.partial.varied.contours import Contours
from halftrek.partial.varied.curve import Sensitivity
from halftrek.partial.varied.engine.edges import read_edges
from halftrek.partial.varied.engine.family import Family
from halftrek.partial.varied.ranking import Ranking
from halftrek.queries import evaluate
from halftrek.reporting.report.rests import rests_on
from halftrek.syntax import parse_question
from tests.partial.hidden.oracles import rows_like
from tests.partial.hidden.test_counted import ITEMS, PLAIN, population

STRUCTURE = "x -> F -> y; x <-> y"


def fits(structure: str = STRUCTURE, unit: bool = False) -> tuple[ht.Fit, ht.Fit]:
    """With the factor hidden, and with its values among the data."""
    graph, model = population(PLAIN + structure)
    data = rows_like(graph.observed, np.asarray(model.cov))
    seen = {v: column for v, column in data.items() if v != "F"}
    text = (ITEMS + structure).replace("F -> a [1]; ", "" if unit else "F -> a [1]; ")
    return ht.fit(text, seen), ht.fit(PLAIN + structure + "; F -> a [1]", data)


def rows_of(found: Ranking) -> dict[frozenset[str], tuple[float, float]]:
    rows = {}
    for row in found.carrying:
        assert row.smallest is not None
        assert row.value is not None
        kind = "->" in row.edge and "<->" not in row.edge
        rows[frozenset((*row.edge.split(), str(kind)))] = (row.slope, float(np.copysign(row.smallest, row.value)))
    return rows


@pytest.mark.parametrize("unit", [False, True])
def test_the_ranking_is_that_of_a_factor_that_was_seen(unit: bool) -> None:
    hidden, seen = fits(unit=unit)
    ours, theirs = hidden.assumptions("x ~> y"), seen.assumptions("x ~> y")
    found, wanted = rows_of(ours), rows_of(theirs)
    assert len(found) == 3
    for edge, pair in found.items():
        assert pair == pytest.approx(wanted[edge], abs=1e-4)
    # what a factor in the data would test of its items, three items test together
    assert {row.edge for row in ours.tested} <= {row.edge for row in theirs.tested} | {"a <-> F", "b <-> F", "c <-> F"}
    assert ours.notes == ()


def test_robustness_of_a_factor() -> None:
    hidden, seen = fits()
    ours, theirs = hidden.robustness("F ~> y"), seen.robustness("F ~> y")
    wanted = {frozenset(row.edge.split()): row for row in theirs.rows}
    assert len(ours.rows) == 2
    for row in ours.rows:
        other = wanted[frozenset(row.edge.split())]
        assert row.smallest == pytest.approx(other.smallest, abs=1e-4)
        assert row.rv == pytest.approx(other.rv, abs=1e-4)
        assert row.lost is not None
        assert other.lost is not None
        assert 0.0 < row.lost < other.lost  # items know the factor less well than its values do
    assert ours.common is None
    assert any(n.code == "no common limit" for n in ours.notes)
    one = hidden.robustness("F ~> y", "F <-> y")
    assert one.rows[0].value == pytest.approx(next(r for r in ours.rows if "y" in r.edge).value, rel=1e-6)


def test_on_the_scale_of_its_error_correlations_are_the_same() -> None:
    marked, unit = (fits(unit=unit)[0].robustness("x ~> y") for unit in (False, True))
    for ours, theirs in zip(unit.rows, marked.rows, strict=True):
        assert ours.edge == theirs.edge
        assert (ours.smallest, ours.lost) == pytest.approx((theirs.smallest, theirs.lost), abs=1e-4)
    at = next(row for row in unit.rows if set(row.edge.split()) == {"x", "<->", "F"})
    assert at.value is not None
    assert at.smallest is not None
    model = fits(unit=True)[0].model
    place = model.names.index("x")
    spread = float(np.sqrt(model.W[place, place]))  # of x, whose error is x itself; that of F has the variance 1
    assert abs(at.value) == pytest.approx(at.smallest * spread, rel=1e-5)
    own = fits(unit=True)[0].robustness("F ~> y")
    assert [row.edge for row in own.rows] == ["y <-> F"]
    assert any(n.code == "strength not known" and "x <-> F" in str(n) for n in own.notes)
    with pytest.raises(InputError, match=r"hidden 'F' is on the scale of its error.*F -> a \[1\]"):
        fits(unit=True)[0].sensitivity("x ~> y", "x <-> F", values=[-0.2, 0.0, 0.2])


def test_contours_are_those_of_fits_at_each_pair() -> None:
    fit, question = fits()[0], "x ~> y"
    values = [[-0.2, 0.0, 0.1], [-0.1, 0.0, 0.2]]
    found = fit.sensitivity(question, ["x <-> F", "F <-> y"], values=values)
    assert isinstance(found, Contours)
    assert found.notes[0].code == "covariance stays"
    slow = Family(fit, parse_question(question), read_edges(fit.graph, ["x <-> F", "F <-> y"]))
    slow.__dict__["direct"] = False  # each pair of values is fitted
    pairs = np.array([(x, y) for x in values[0] for y in values[1]])
    assert found.estimates.ravel() == pytest.approx(slow.at(pairs).answers(slow.query), abs=1e-5)
    assert fit.sensitivity(question, ["a <-> b", "b <-> c"], values=values).notes[0].code == "fitted at each value"


def test_a_curve_on_the_scale_of_its_error() -> None:
    """Along x -> y the error of F stays what it is; its sign is that of the fit."""
    curves = [fits(unit=unit)[0].sensitivity("x ~> y", "x -> y", values=[-0.3, 0.0, 0.2]) for unit in (False, True)]
    assert all(isinstance(one, Sensitivity) and one.notes[0].code == "covariance stays" for one in curves)
    marked, unit = (one.estimates for one in curves)
    assert unit == pytest.approx(marked, abs=1e-5)


def test_a_report_says_what_an_answer_of_a_factor_rests_on() -> None:
    fit = fits()[0]
    words = "\n".join(str(part) for part in rests_on(fit, parse_question("x ~> y")))
    assert "What the answer rests on" in words
    assert "x <-> F" in words


def test_a_refusal_has_two_models_of_these_data() -> None:
    fit = ht.fit(ITEMS + STRUCTURE + "; x <-> F", {v: c for v, c in _seen().items() if v != "F"})
    with pytest.raises(NotIdentifiedError) as caught:
        fit.query("x ~> y")
    first, second = caught.value.verdict.witness
    p = len(fit.graph)
    for model in (first, second):
        assert model.graph.hidden == ("F",)
        assert model.cov[:p, :p] == pytest.approx(fit.model.cov[:p, :p], abs=1e-8)
    assert evaluate(parse_question("x ~> y"), first) != pytest.approx(evaluate(parse_question("x ~> y"), second))
    assert "With data, between which values" in str(caught.value) or caught.value.verdict.next_steps


def _seen() -> dict[str, Floats]:
    graph, model = population(PLAIN + STRUCTURE)
    return rows_like(graph.observed, np.asarray(model.cov))


def test_what_hangs_on_hidden_variables_that_data_do_not_tell_is_refused() -> None:
    data = {v: c for v, c in _seen().items() if v in "abxy"}
    fit = ht.fit("latent F; x -> y; F -> {a, b}; F -> a [1]; variance F", data)
    for ask in (fit.assumptions, fit.robustness):
        with pytest.raises(GraphError, match=r"is not available here: the effects of hidden 'F' do not tell"):
            ask("x ~> y")
    words = "\n".join(str(part) for part in rests_on(fit, parse_question("x ~> y")))
    assert "not available here" in words


def test_items_whose_errors_may_go_together() -> None:
    """Two items and another factor: data say nothing of a <-> b, and each of its values is fitted."""
    text = "F -> {a, b, y}; G -> {c, d, y}; F <-> G; F -> a [1]; G -> c [1]; x -> y"
    graph, model = population(text)
    data = rows_like(graph.observed, np.asarray(model.cov), n=800)
    fit = ht.fit("latent F, G; " + text, {v: x for v, x in data.items() if v not in "FG"})
    told = [
        Family(fit, parse_question("F ~> y"), tuple(read_edges(fit.graph, [e]))).told
        for e in ("a <-> b", "a <-> c", "F <-> y")
    ]
    assert told == [False, True, False]
    # Cov(a, b) = l_b Var F + w, so that a larger w needs another factor than these covariances have
    limit, curve = 0.0, fit.sensitivity("F ~> y", edge="a <-> b", values=[0.0, 0.1, 0.2, 0.4, 0.6, 0.8])
    at = model.names.index
    unit = np.ones(len(model.names))
    unit[at("G")] = model.T[at("G"), at("c")]  # of which c is the scale
    cov = np.asarray(model.cov) * np.outer(unit, unit)
    l_b = cov[at("b"), at("c")] / cov[at("a"), at("c")]
    for w, found in zip(curve.values, curve.estimates, strict=True):
        M = np.array([
            [(cov[at("a"), at("b")] - w) / l_b, cov[at("F"), at("G")]], [cov[at("F"), at("G")], cov[at("G"), at("G")]]
        ])  # fmt: skip
        weights = np.linalg.solve(M, [cov[at("a"), at("y")], cov[at("c"), at("y")]])
        left = cov[at("y"), at("y")] - weights @ M @ weights
        if np.linalg.eigvalsh(M)[0] > 0.0 and left > model.T[at("x"), at("y")] ** 2 * cov[at("x"), at("x")]:
            assert found == pytest.approx(float(weights[0]), rel=1e-3)
            limit = float(w)
        else:
            assert np.isnan(found)
    assert 0.0 < limit < 0.8
