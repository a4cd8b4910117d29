"""A fixed sample of the mutants; ``texts`` makes as many as are wanted."""

from typing import Any

import numpy as np
import pytest

from halftrek.errors import HalftrekError
from halftrek.syntax import parse_graph, parse_question
from tests.fuzz import texts


@pytest.mark.parametrize("mutated", [texts.mutated_graph_texts, texts.mutated_questions])
def test_mutants(mutated: Any) -> None:
    tried, failures = mutated(np.random.default_rng(14), 400)
    assert tried == 400
    assert not failures, "\n".join(failures[:5])


def test_mutants_reach_values_and_errors_alike() -> None:
    """A generator whose mutants all fail at once would find nothing."""
    rng = np.random.default_rng(3)
    for seeds, read in ((texts.graph_seeds(), parse_graph), (texts._QUESTIONS, parse_question)):
        good = bad = 0
        for _, text in zip(range(300), texts.mutants(rng, seeds), strict=False):
            try:
                read(text)
                good += 1
            except HalftrekError:
                bad += 1
        assert good > 40
        assert bad > 40
