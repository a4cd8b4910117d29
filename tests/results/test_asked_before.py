"""Nothing that is told depends on what was asked before, also of an equal graph that is written in another order."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import permutations

import pytest

import halftrek as ht

ARROWS = (("x", "m"), ("x", "y"), ("m", "y"))
ARCS = (("m", "y"),)
QUESTIONS = ("x ~> m", "x ~> y", "x -> m")


def told(order: int, arcs: tuple[tuple[str, str], ...]) -> str:
    """All that is said of one fit, as text."""
    arrows = list(permutations(ARROWS))[order]
    graph = ht.Graph(directed=arrows, bidirected=arcs, observed=("x", "m", "y"))
    fit = ht.fit(graph, ht.catalog("mediation").model.sample(200, 3))
    answers = []
    for question in QUESTIONS:
        try:
            answers.append(fit.query(question).to_dict())
        except ht.NotIdentifiedError as error:
            answers.append(error.answer.to_dict())
    return json.dumps([fit.to_dict(), answers, str(fit.params()), str(fit.tests())], default=str)


@pytest.mark.parametrize("arcs", [(), ARCS])
def test_equal_graphs_in_other_orders_are_told_as_if_nothing_had_been_asked(arcs: tuple[tuple[str, str], ...]) -> None:
    here = [told(order, arcs) for order in range(6)]
    program = f"from {__name__} import told; print(told(5, {arcs!r}))"
    alone = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert here[5] == alone.rstrip("\n")
    assert len(set(here)) > 1, "the order shows nowhere, and the test could not fail"
