"""The probability of one value: of a column in categories it is asked for, of a continuous one it is refused."""

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import QueryError
from halftrek.results.given.column_kinds import Kinds
from halftrek.syntax import parse_question
from tests.results.test_column_kinds import FRONT_DOOR, KINDS, error_of, front_door


def test_one_category_is_asked_for_by_its_value() -> None:
    rows = front_door(400).assign(y=lambda d: d["y"] + (d["m"] > 2.0))
    fit = ht.fit(FRONT_DOOR, rows, kinds={"m": "ranked", "y": "ordered"})
    middle, above, top = (fit.query(f"P(y {what} | do(x=1))") for what in ("= 1", "> 0", "> 1"))
    assert middle.value == pytest.approx(above.value - top.value, rel=1e-12)
    step = fit.query("P(y > 0 | do(x=1)) - P(y > 1 | do(x=1))")
    assert error_of(middle) == pytest.approx(error_of(step), rel=1e-6)
    assert fit.query("RR(y = 2 | do(x=1) : do(x=0))").value == pytest.approx(
        fit.query("RR(y > 1 | do(x=1) : do(x=0))").value, rel=1e-12
    )


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("P(y = 7 | do(x=1))", "y has the values 0, 1"),
        ("P(m = 1 | do(x=1))", "m is ranked, and a single value of it has no probability"),
        ("P(x = 1)", "a single value of a continuous outcome has probability 0"),
    ],
)
def test_a_single_value_needs_a_category(question: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        ht.fit(FRONT_DOOR, front_door(300), kinds=KINDS).query(question)


def test_a_single_value_of_a_normal_variable_has_no_probability() -> None:
    rows = front_door(300)
    with pytest.raises(QueryError, match="a single value of a continuous outcome has probability 0"):
        ht.fit("x -> m", rows).query("P(m = 1 | do(x=1))")
    with pytest.raises(QueryError, match="a single value of a continuous outcome has probability 0"):
        ht.bounds("x -> m; x <-> m", rows, "P(m = 1 | do(x=1))")
    assert ht.identify("x -> m", "P(m = 1 | do(x=1))").identified


def test_a_single_category_has_a_probability_and_a_single_number_none() -> None:
    rows = front_door(300).assign(m=lambda d: np.digitize(d["m"], [0.6, 1.5]))
    fit = ht.fit("x -> m", rows, kinds={"m": "ordered"})
    assert fit.query("P(m = 1)").value == pytest.approx((rows["m"] == 1).mean())
    assert str(parse_question("P(m = 1 | do(x=1))")) == "P(m = 1 | do(x=1))"
    each = [fit.query(f"P(m = {k} | do(x=1))").value for k in range(3)]
    assert sum(each) == pytest.approx(1.0)
    drug: Kinds = {"x": "acts", "m": "ordered"}
    given = (rows["x"] + np.random.default_rng(1).normal(size=len(rows)) > 0) * 1.0
    acting = ht.fit("z -> x -> m; x <-> m", rows.assign(z=rows["x"], x=given), kinds=drug)
    assert sum(acting.query(f"P(m = {k} | do(x=1))").value for k in range(3)) == pytest.approx(1.0)
    for asked in (ht.fit("x -> m", rows), acting, fit):
        variable = "z" if asked is acting else "x"
        with pytest.raises(QueryError, match="a single value of a continuous outcome has probability 0"):
            asked.query(f"P({variable} = 1)")
