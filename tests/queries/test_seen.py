"""Doing replaced by seeing."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
from halftrek.errors import QueryError
from halftrek.models import Gaussian
from halftrek.queries import evaluate
from halftrek.queries.seen import as_seen, has_crude
from halftrek.simulation import random_model
from halftrek.syntax import parse_question
from tests.narrow import normal

PAIRS = {
    "x ~> y": "Cov[x, y] / Var[x]",
    "x -> y": "Cov[x, y] / Var[x]",
    "P(y | do(x=1))": "P(y | x=1)",
    "P(y, w | do(x=1, z=2), u=0)": "P(y, w | x=1, z=2, u=0)",
    "E[y | do(x=1)] - E[y | do(x=0)]": "E[y | x=1] - E[y | x=0]",
    "P(y > 1 | do(x=1), z=0)": "P(y > 1 | x=1, z=0)",
    "Q(0.9, y | do(x=1))": "Q(0.9, y | x=1)",
    "Var[y | do(x=1), z > 0]": "Var[y | x=1, z > 0]",
    "(x ~> y) * 2": "Cov[x, y] / Var[x] * 2",
    "P(y + z | do(x=1))": "P(y + z | x=1)",
}


@pytest.mark.parametrize("question", PAIRS)
def test_what_is_held_is_seen(question: str) -> None:
    assert as_seen(parse_question(question)) == parse_question(PAIRS[question])


@pytest.mark.parametrize(
    "question",
    ["x -> m -> y", "x ~> m ~> y", "E[y | do(x += 1)]", "P(y_{x=1} | x=0)", "E[y_{x=1}]", "x <-> y", "std(x ~> y)",
     "E[y | do(x -> y = 1)]", "E[y | do(m_{x=0})]"],
)  # fmt: skip
def test_what_has_no_counterpart(question: str) -> None:
    assert not has_crude(parse_question(question))
    with pytest.raises(QueryError, match=r"crude: .* has no counterpart in the rows; it goes with"):
        as_seen(parse_question(question))


@pytest.mark.parametrize("question", ["E[y]", "P(y | x=1)", "Corr[x, y | z=1]"])
def test_what_is_seen_already(question: str) -> None:
    with pytest.raises(QueryError, match="asks nothing about an intervention"):
        as_seen(parse_question(question))


@pytest.mark.parametrize("question", [q for q in PAIRS if "u" not in q and "w" not in q])
def test_where_nothing_confounds_seeing_is_doing(question: str) -> None:
    """A cause without causes whose every child is asked about: both questions have one answer."""
    model = random_model(ht.graph("x -> z; x -> y; z -> y"), random_state=4)
    query = parse_question(question)
    if question == "x -> y":
        model = random_model(ht.graph("x -> y; z <-> y"), random_state=4)
    done, seen = (evaluate(q, model) for q in (query, as_seen(query)))
    if isinstance(done, Gaussian):
        assert np.allclose(done.mean, normal(seen).mean)
        assert np.allclose(done.cov, normal(seen).cov)
    else:
        assert done == pytest.approx(seen, rel=1e-9)
