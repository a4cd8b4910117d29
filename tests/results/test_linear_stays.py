"""Nothing that is linear and Gaussian changes a digit, whatever else halftrek learns."""

from __future__ import annotations

import json

import pytest

from tests.reference.linear.make import CASES, HERE, answers, difference

STORED = json.loads((HERE / "answers.json").read_text(encoding="utf-8"))


def test_every_case_is_stored() -> None:
    assert list(STORED) == list(CASES)
    assert sum(len(numbers) for case in STORED.values() for numbers in case.values()) > 1000


@pytest.mark.parametrize("name", CASES)
def test_linear_fits_answer_as_they_did(name: str) -> None:
    far, where = difference(answers(CASES[name]), STORED[name])
    assert far <= CASES[name].tolerance, f"{where} is another number than it was: {far:.1e} away"


def test_a_change_would_be_seen() -> None:
    old = STORED["front door"]
    changed = {**old, "params, se": [x * (1 + 1e-7) for x in old["params, se"]]}
    assert difference(changed, old)[0] > CASES["front door"].tolerance
    without = {**old, "params, se": [None, *old["params, se"][1:]]}
    assert difference(without, old)[0] == float("inf")
    assert difference({"params, se": old["params, se"]}, old)[0] == float("inf")
