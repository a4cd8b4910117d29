"""The values that independent errors keep: those that a test of each value alone keeps, and the truth among them."""

import numpy as np
import pytest

from benchmarks.independence import coverage, pair_rejections
from halftrek.errors import QueryError
from halftrek.inference.independence.asking import asked_of_errors
from halftrek.inference.independence.kept_values import Kept, is_kept, kept_values
from halftrek.queries.types import DirectEffect
from halftrek.results.fit import Fit
from halftrek.syntax import parse_question
from tests.inference.independence.samples import door_fit


def kept(fit: Fit, question: str, level: float = 0.95) -> Kept:
    asked = asked_of_errors(fit, parse_question(question))
    return kept_values(asked.conditions, asked.value, asked.fitted, level=level, unit=asked.unit)


@pytest.mark.parametrize("question", ["m -> y", "x ~> y"])
def test_skewed_errors_leave_an_interval_that_is_the_test_inverted(question: str) -> None:
    fit = door_fit("skewed")
    found = kept(fit, question)
    assert found.bounded
    asked = asked_of_errors(fit, parse_question(question))
    ends = [end for piece in found.pieces for end in piece]
    tried = np.sort([*(end + step for end in ends for step in (-0.02, 0.02)), found.estimate, -1.0, 2.0])
    alone = [
        is_kept(asked.conditions, asked.value, asked.fitted, x, level=0.95, unit=asked.unit) for x in tried.tolist()
    ]
    inside = [any(low <= x <= high for low, high in found.pieces) for x in tried.tolist()]
    assert inside == alone
    assert any(low <= found.estimate <= high for low, high in found.pieces)
    assert found.statistic <= found.bound


def test_normal_errors_leave_no_end() -> None:
    """In nineteen of twenty samples, of which this is one."""
    found = kept(door_fit("normal", seed=2), "m -> y")
    assert not found.bounded


def test_a_wider_level_keeps_more() -> None:
    fit = door_fit("skewed")
    wide, narrow = (kept(fit, "m -> y", level).pieces[0] for level in (0.99, 0.8))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_a_contradicted_graph_keeps_nothing() -> None:
    """The arrow the wrong way round: no weight leaves the errors independent."""
    import halftrek as ht

    rng = np.random.default_rng(4)
    x = rng.standard_exponential(2000)
    y = x + rng.standard_exponential(2000)
    m = rng.standard_exponential(2000)
    graph = ht.graph("y -> x; x <-> m; y <-> m")  # x -> y in truth
    asked = asked_of_errors(ht.fit(graph, {"x": x, "y": y, "m": m}), DirectEffect("y", "x"))
    found = kept_values(asked.conditions, asked.value, asked.fitted, level=0.95, unit=asked.unit)
    assert found.pieces == ()
    assert found.statistic > found.bound


def test_questions_are_numbers_of_the_model() -> None:
    fit = door_fit("skewed")
    model = fit.model
    at = model.names.index
    for question, truth in {
        "m -> y": model.T[at("m"), at("y")],
        "x ~> y": model.total_effect("x", "y"),
        "x -> m -> y": model.total_effect("x", "y"),
        "x ~> m ~> y": model.total_effect("x", "y"),
        "E[y | do(x=3)] - E[y | do(x=1)]": 2.0 * model.total_effect("x", "y"),
    }.items():
        asked = asked_of_errors(fit, parse_question(question))
        assert np.isclose(asked.value(asked.fitted), truth), question
    with pytest.raises(QueryError, match="answers questions about effects"):
        asked_of_errors(fit, parse_question("E[y | do(x=1)]"))
    with pytest.raises(QueryError, match="answers questions about effects"):
        asked_of_errors(fit, parse_question("P(y | do(x=1))"))


def test_intervals_cover_and_have_no_end_where_errors_are_normal() -> None:
    """A small version of the benchmark, whose tables have hundreds of samples."""
    few, query = 8, DirectEffect("m", "y")
    for shape in ("skewed", "normal"):
        inside, endless = coverage(shape, few, n=500, queries=(query,))[query]
        assert inside >= 6 / few
        assert endless >= 6 / few if shape == "normal" else endless <= 2 / few


def test_pairs_are_rejected_where_they_should_be() -> None:
    assert pair_rejections("skewed", 5, 400, reverse=True) == 1.0
    assert pair_rejections("skewed", 12, 400, reverse=False) <= 0.25
    assert pair_rejections("normal", 12, 400, reverse=True) <= 0.25
