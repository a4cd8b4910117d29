"""A question has one answer: in a table or alone, in words or by a method, the first time and the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halftrek as ht
from tests import kinds
from tests.kinds import KINDS, Kind, lacking
from tests.mechanisms.test_errors import by_rows
from tests.narrow import some
from tests.public_values import printed


def of_answer(answer: Any) -> np.ndarray:
    """Estimate, standard error and ends, a line for each group."""
    if isinstance(answer, ht.Answer):
        return np.array([[answer.value, answer.se, *(answer.interval or ())]], dtype=float)
    return np.column_stack([answer[c] for c in ("estimate", "se", "low", "high")])


def of_line(table: Any, keep: np.ndarray) -> np.ndarray:
    return np.column_stack([np.asarray(table[c])[keep] for c in ("est", "se", "ci_low", "ci_high")])


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_line_of_all_effects_is_the_answer_to_its_question(kind: Kind) -> None:
    fit = kinds.fit(kind)
    with lacking("table of effects", kind):
        for interval in (None, "delta" if kind.name == "covariance" else by_rows(kind)):
            table = fit.effects(interval=interval)
            direct = np.asarray(table["kind"]) == "direct"
            keep = (direct | (np.asarray(table["kind"]) == "total")) & np.isfinite(table["est"])
            for k in some(np.flatnonzero(keep)):
                arrow = "->" if direct[k] else "~>"
                answer = fit.query(f"{table['cause'][k]} {arrow} {table['effect'][k]}", interval=interval)
                line = of_line(table, np.array([k]))
                np.testing.assert_allclose(line, of_answer(answer), rtol=1e-9, err_msg="effects")


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_line_of_the_parameters_is_the_answer_to_its_question(kind: Kind) -> None:
    fit = kinds.fit(kind)
    with lacking("table of parameters", kind):
        table = fit.params()
        lhs, op, rhs = (np.asarray(table[c]) for c in ("lhs", "op", "rhs"))
        signs = {"~": "{1} -> {0}", "=~": "{0} -> {1}"}
        edges = {(a, o, b) for a, o, b in zip(lhs, op, rhs, strict=True) if o in signs}
        for a, o, b in some(sorted(edges)):
            answer = fit.query(signs[o].format(a, b))
            found = of_line(table, (lhs == a) & (op == o) & (rhs == b))
            np.testing.assert_allclose(found, of_answer(answer), rtol=1e-9, err_msg="parameters")


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_question_asked_again_or_in_words_has_the_same_answer(kind: Kind) -> None:
    with lacking("asked twice", kind):
        first, second = kinds.fit(kind), kind.again()
        answer = first.effect(kind.cause, kind.outcome)
        words = f"{kind.cause} ~> {kind.outcome}"
        for other in (first.effect(kind.cause, kind.outcome), first.query(words), second.query(words)):
            np.testing.assert_array_equal(of_answer(other), of_answer(answer))
            assert printed(other) == printed(answer)


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_a_seed_has_one_bootstrap(kind: Kind) -> None:
    with lacking("bootstrap", kind):
        first, second = kinds.fit(kind), kind.again()
        tables = [
            np.array(fit.params(interval="bootstrap", replicates=2, random_state=seed)["se"])
            for fit, seed in ((first, 5), (second, 5), (second, 6))
        ]
        np.testing.assert_array_equal(tables[0], tables[1])
        assert not np.allclose(tables[0], tables[2])
