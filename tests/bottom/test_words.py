"""Numbers that stand beside each other in a sentence have the same decimals."""

from __future__ import annotations

import math
import re

import pytest

import halftrek as ht
from halftrek.bottom.words import one_precision


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.49569, -0.043849, 1.0353), ("0.496", "-0.044", "1.035")),
        ((0.421955, 0.36482, 0.47908), ("0.4220", "0.3648", "0.4791")),
        ((13000.5211, 13000.2134, 13000.8301), ("13000.521", "13000.213", "13000.830")),
        ((0.44226712, 0.4422121, 0.4423115), ("0.4422671", "0.4422121", "0.4423115")),
        ((0.4869, -200.0, 1052.0), ("0.49", "-200.00", "1052.00")),
        ((-1e-9, -0.3, 0.3), ("0.0000", "-0.3000", "0.3000")),
        ((9.99996, 9.0, 11.0), ("10.00", "9.00", "11.00")),
        ((0.25, -math.inf, 1.5), ("0.250", "-infinite", "1.500")),
        ((0.0, 0.0, 0.0), ("0", "0", "0")),
        ((2.5e12, 2.4e12, 2.6e12), ("2.500e+12", "2.400e+12", "2.600e+12")),
        ((2.5e-7, -1.0e-7, 6.0e-7), ("2.500e-07", "-1.000e-07", "6.000e-07")),
    ],
)
def test_an_estimate_and_its_interval_have_the_same_decimals(values: tuple[float, ...], texts: tuple[str, ...]) -> None:
    assert one_precision(*values) == texts


def test_every_sentence_about_an_answer_has_one_precision() -> None:
    study = ht.dataset("tal_or")
    fit = ht.fit(study.graph, study.data)
    answer = fit.effect("cond", "reaction", crude=True)
    number = r"(-?\d+\.\d+)"
    told = {
        str(answer): rf"= {number} \(95% interval {number} to {number}\)",
        answer.explain(): rf"estimate: {number} \(95% interval {number} to {number},",
        answer.summary(): rf"value +{number} +from {number} to {number}",
        fit.mediation("cond", "reaction").summary(): rf"mediated: {number}, from {number} to {number}",
    }
    for text, pattern in told.items():
        found = re.search(pattern, text)
        assert found, text
        assert len({len(figure.partition(".")[2]) for figure in found.groups()}) == 1, found[0]
    assert "would make reaction rise by 0.496 units" in answer.explain()
