"""Numbers and tables in plain text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrek.reporting.tables import (
    WIDTH,
    Cell,
    PValue,
    count,
    facts,
    number,
    page,
    paragraph,
    table,
    texts_of,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1.000"),
        (0.5, "0.5000"),
        (-1234.5678, "-1235"),
        (9.99999, "10.00"),
        (99999.0, "100000"),
        (0.00012344, "0.0001234"),
        (1.2344e-7, "1.234e-07"),
        (1.2344e12, "1.234e+12"),
        (math.nan, "undefined"),
        (math.inf, "infinite"),
        (-math.inf, "-infinite"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12), st.integers(2, 9))
def test_number_keeps_its_significant_digits(value: float, digits: int) -> None:
    assert float(number(value, digits)) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=1e-300)


def test_count_has_commas_and_keeps_fractions_of_weights() -> None:
    assert count(10000) == "10,000"
    assert count(10000.0) == "10,000"
    assert count(12.5) == "12.50"


def test_columns_are_aligned() -> None:
    text = table(("edge", "weight"), [("x -> y", 0.5), ("long name -> y", -12.25)])
    assert text.splitlines() == [
        "  edge            weight",
        "  --------------  ------",
        "  x -> y            0.50",
        "  long name -> y  -12.25",
    ]


def test_a_small_entry_is_not_shown_as_nothing() -> None:
    text = table(("what", "weight"), [("large", 1234.5), ("small", 0.00067)])
    assert "6.7e-04" in text
    assert "1234" in text or "1235" in text


def test_cells_of_all_kinds() -> None:
    text = table(("a", "b", "c"), [("x", 1200, None), ("", None, math.nan)])
    assert "1,200" in text
    assert "undefined" in text


def test_a_row_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells under 2 headers"):
        table(("a", "b"), [("x",)])


words = st.text(alphabet="abcdefgh ", min_size=1, max_size=150)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.tuples(words, st.floats(-1e6, 1e6), words), min_size=1, max_size=5))
def test_tables_and_text_stay_on_the_page_and_lose_no_word(rows: list[tuple[str, float, str]]) -> None:
    text = table(("first", "number", "second"), rows)
    assert all(len(line) <= WIDTH for line in text.splitlines())
    body = text.split("\n", 2)[2]
    for letter in "abcdfgh":  # not e, which exponents have too
        assert body.count(letter) == sum((a + b).count(letter) for a, _, b in rows)


def test_paragraph_folds_and_keeps_breaks() -> None:
    text = paragraph("one two three " * 20 + "\nlast", indent=4)
    assert all(len(line) <= WIDTH and line.startswith("    ") for line in text.splitlines())
    assert text.splitlines()[-1] == "    last"


def test_facts_fold_under_the_value() -> None:
    lines = facts([("a", "short"), ("longer", "word " * 30)]).splitlines()
    assert lines[0] == "  a       short"
    assert lines[1].startswith("  longer  word")
    assert lines[2].startswith("          word")


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ([0.4761, 0.0183, 12.5], ["0.476", "0.018", "12.500"]),
        ([-0.0074, 1.035], ["-0.0074", "1.0350"]),
        ([5.2, 0.03, 1e-9], ["5.200", "0.030", "1.0e-09"]),
        ([250_000.5, 0.5], ["250000.50", "0.50"]),
        ([2998.0, 3.0], ["2998", "3"]),
        ([0.0, 2.5], ["0.000", "2.500"]),
    ],
)
def test_a_column_has_one_number_of_decimals(cells: list[float], shown: list[str]) -> None:
    assert texts_of([""], [cells], 4) == [shown]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_numbers_are_decimals_are_the_same_and_two_digits_are_seen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = [float(x) for x in rng.normal(size=8) * 10.0 ** rng.integers(-6, 5, size=8)]
    (texts,) = texts_of([""], [cells], 4)
    plain = [t for t in texts if "e" not in t]
    assert plain
    assert len({len(t.partition(".")[2]) for t in plain}) == 1
    for cell, text in zip(cells, texts, strict=True):
        assert float(text) == pytest.approx(cell, rel=0.06)


def test_a_number_its_error_and_its_interval_have_the_same_decimals() -> None:
    heads = ["", "effect", "std. error", "low", "high", "rows"]
    cells: list[list[Cell]] = [
        ["a", "b"],
        [0.4957, 0.2413],
        [0.2753, 0.1269],
        [-0.04385, -0.00000741],
        [1.0353, 0.49],
        [3.5, 4.0],
    ]
    assert texts_of(heads, cells, 4) == [
        ["a", "b"],
        ["0.496", "0.241"],
        ["0.275", "0.127"],
        ["-0.044", "-0.000"],  # the end of an interval is near zero by chance: no exponent
        ["1.035", "0.490"],
        ["3.500", "4.000"],
    ]


def test_p_values_read_as_in_papers() -> None:
    found = table(["test", "p"], [("one", PValue(1.776e-16)), ("two", PValue(0.0415)), ("three", None)])
    assert [line.split() for line in found.splitlines()[2:]] == [["one", "<", "0.001"], ["two", "0.042"], ["three"]]
    assert found.splitlines()[3].endswith("  0.042")  # to the right


def test_numbers_that_are_text_stand_to_the_right() -> None:
    found = table(["path", "share"], [("one", "51.3 %"), ("two", "100.0 %")])
    assert found.splitlines()[2] == "  one    51.3 %"


def test_an_item_of_a_list_is_folded_under_its_first_word() -> None:
    with page(30):
        lines = paragraph("Any of these:\n  - measuring something that moves it", indent=2).splitlines()
    assert lines == ["  Any of these:", "    - measuring something that", "      moves it"]
