"""Sets of values with known ends: closed forms, and others that a separate search found."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.models import Gaussian
from halftrek.partial.assumptions import State, conditions_of, read_assumptions
from halftrek.partial.sets import IdentifiedSet, identified_set
from halftrek.queries import evaluate
from tests.project.pages import ROOT

CASES = json.loads((ROOT / "tests" / "reference" / "bounds" / "cases.json").read_text(encoding="utf-8"))
TOLERANCE = float(CASES["tolerance"])
SETS: list[dict[str, Any]] = [*CASES["bounds"], *CASES["latent"]]


def found(case: dict[str, Any]) -> IdentifiedSet:
    return identified_set(
        ht.graph(case["graph"]), case["Sigma"], None, case["query"], case["assume"], names=case["names"]
    )


@pytest.mark.parametrize("case", SETS, ids=lambda case: case["id"])
def test_the_pieces_are_those_of_the_case(case: dict[str, Any]) -> None:
    wanted = [] if case.get("empty") else case.get("pieces", [[case["low"], case["high"]]])
    pieces = found(case).pieces
    assert len(pieces) == len(wanted)
    for piece, ends in zip(pieces, wanted, strict=True):
        for value, end in zip(piece, map(float, ends), strict=True):
            assert value == end or abs(value - end) < TOLERANCE


@pytest.mark.parametrize("case", SETS, ids=lambda case: case["id"])
def test_every_case_is_proved(case: dict[str, Any]) -> None:
    assert found(case).proved


@pytest.mark.parametrize("case", SETS, ids=lambda case: case["id"])
def test_a_model_attains_each_finite_end(case: dict[str, Any]) -> None:
    result = found(case)
    sigma = np.array(case["Sigma"])
    graph = ht.graph(case["graph"])
    held = conditions_of(read_assumptions(case["assume"], graph), graph, case["names"])
    seen = [result.lower, result.upper, *(end for gap in result.gaps for end in gap)]
    finite = [end for end in seen if np.isfinite(end.value)]
    for end in finite:
        assert end.model is not None
        model = end.model.reorder(case["names"])
        answer = evaluate(result.query, model)
        assert not isinstance(answer, Gaussian)
        assert abs(answer - end.value) < TOLERANCE
        np.testing.assert_allclose(model.cov, sigma, atol=1e-10)
        values = held.values(State(model.T, model.omega, sigma, np.diag(model.W)))
        assert (values < TOLERANCE).all()
        assert (np.diag(model.W) > -TOLERANCE).all()
    assert bool(finite) == any(np.isfinite(x) for piece in result.pieces for x in piece)


def test_what_binds_is_said() -> None:
    by_id = {case["id"]: found(case) for case in SETS}
    assert by_id["front_door_corr_0.2"].binding == {"low": ("abs(corr(x <-> m)) <= 0.2",), "high": ()}
    assert by_id["leaky_each"].binding == {"low": ("abs(z1 -> y) <= 0.1",), "high": ("abs(z2 -> y) <= 0.2",)}
    assert by_id["latent_proxy_none"].binding["low"] == ("the noise of y has no variance left",)
