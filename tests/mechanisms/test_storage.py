"""A fit that was saved, sent or written as JSON is the fit."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import halftrek as ht
from halftrek.cli.schemas import RESULTS
from tests import kinds
from tests.cli.shapes import faults
from tests.kinds import KINDS, Kind, lacking
from tests.public_values import differences, printed


def columns(table: Any) -> dict[str, list[Any]]:
    return {name: list(table[name]) for name in table}


def numbers(kind: Kind, fit: Any) -> list[Any]:
    """What is asked of it: its table, and an effect and a risk where it gives answers."""
    found: list[Any] = [columns(fit.params())]
    if hasattr(fit, "query"):
        asked = (f"{kind.cause} ~> {kind.outcome}", f"P({kind.outcome} > 1 | do({kind.cause}=1))")
        answers = [fit.query(question) for question in asked if kind.name != "covariance" or "P" not in question]
        found += [answer if isinstance(answer, ht.Answer) else columns(answer) for answer in answers]
    return found


def measures(fit: Any) -> dict[str, list[Any]]:
    return columns({name: [value] for name, value in dict(fit.measures()).items()})


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_loaded_fit_answers_with_the_same_bits(kind: Kind, tmp_path: Path) -> None:
    fit = kinds.fit(kind)
    with lacking("saved", kind):
        rows = {"rows": True} if getattr(fit, "rows", None) is not None and isinstance(fit, ht.Fit) else {}
        back = ht.load(fit.save(tmp_path / "fit.json", **rows))
        assert differences(numbers(kind, fit), numbers(kind, back)) == []
        assert differences(measures(fit), measures(back)) == []
        assert printed(back) == printed(fit)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_measures_of_a_fit_that_is_saved_without_its_rows_are_the_same(kind: Kind, tmp_path: Path) -> None:
    fit = kinds.fit(kind)
    with lacking("measures without rows", kind):
        assert differences(measures(fit), measures(ht.load(fit.save(tmp_path / "fit.json")))) == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_fit_that_is_saved_without_its_rows_keeps_its_numbers(kind: Kind, tmp_path: Path) -> None:
    fit = kinds.fit(kind)
    with lacking("saved without rows", kind):
        back = ht.load(fit.save(tmp_path / "fit.json"))
        assert differences(numbers(kind, fit), numbers(kind, back)) == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_fit_comes_back_from_a_pickle(kind: Kind) -> None:
    fit = kinds.fit(kind)
    with lacking("pickled", kind):
        back = pickle.loads(pickle.dumps(fit))
        assert differences(fit, back) == []
        assert differences(numbers(kind, fit), numbers(kind, back)) == []
        assert printed(back) == printed(fit)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_json_is_as_its_schema_says(kind: Kind) -> None:
    fit = kinds.fit(kind)
    with lacking("schema", kind):
        for value in (fit, fit.effect(kind.cause, kind.outcome)):
            record = json.loads(json.dumps(value.to_dict(), allow_nan=False))
            assert list(faults(record, RESULTS[type(value).__name__])) == []
