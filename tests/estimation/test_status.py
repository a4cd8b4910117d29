"""How a fit ended: findings as values, and the same sentences as ever made of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import halftrek as ht
from halftrek.estimation.status import DistrictReport, Status, incomplete, overall
from halftrek.notes import note

A, B = ("x", "y"), ("m", "w", "z")
GOOD = DistrictReport(A, "converged", 3, 1, 1)
SEVERAL = DistrictReport(A, "flat", 3, 1, 1, flat=2, several=True)
FLAT = DistrictReport(B, "flat", 3, 1, 1, flat=1)
PEAKS = DistrictReport(B, "boundary", 9, 8, 2, flat=1, deviance=1.0, df=1)
STUCK = DistrictReport(A, "not converged", 7, 1, 1)
RIDGE = DistrictReport(B, "no finite maximum", 7, 1, 1, runaway="x -> y")

LOST = "some of their coefficients and covariances cannot be determined from data; each question is checked on its own"
SAID = {
    "several": f"equations of x, y: {LOST}; equations of x, y: different coefficients reach the same likelihood; an "
    "effect that depends on them is not identified, or has several values",
    "flat": f"equations of m, w, z: {LOST}",
    "boundary": "equations of m, w, z: a noise variance is estimated at zero; intervals there are not reliable",
    "peaks": "equations of m, w, z: only 2 of 8 starts reached the best likelihood: a better one may be missing",
}


def upper(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


@pytest.mark.parametrize(
    ("reports", "message"),
    [
        ((), "converged: the likelihood is at its maximum."),
        ((GOOD,), "converged: the likelihood is at its maximum."),
        ((SEVERAL, FLAT), f"converged: {upper(SAID['several'])}. {upper(SAID['flat'])}."),
        (
            (GOOD, PEAKS),
            f"converged, with a noise variance of zero: {upper(SAID['boundary'])}; {SAID['peaks']}; {SAID['flat']}.",
        ),
    ],
)
def test_the_sentences_of_districts(reports: tuple[DistrictReport, ...], message: str) -> None:
    assert str(overall(reports)) == overall(reports).message == message


def test_the_worst_district_gives_the_code_and_each_finding_is_a_value() -> None:
    found = overall((STUCK, RIDGE))
    assert found.code == "not converged"
    assert [n.code for n in found.notes] == ["steps ran out", "no finite maximum"]
    assert found.notes[0].facts == {"who": "x, y", "iterations": 7}
    assert found.message.startswith("not converged: Equations of x, y: no maximum after 7 steps; raise max_iter, or")
    assert "; fit in Python with a larger max_iter, or" in found.words("command line")


def older(inner: str, code: str, converged: bool, undetermined: int, apart: list[tuple[str, str]]) -> str:
    """The message as it was once put together, piece by piece."""
    message = inner
    if not converged and code != "not converged":
        message = "not converged: the steps ran out before the likelihood of the observed values was at its maximum."
    if undetermined and converged:
        message += " Some of the parameters cannot be determined from the values that are there."
    if apart:
        more = f" (and {len(apart) - 1} more pairs)" if len(apart) > 1 else ""
        message += (
            f" No row has both {apart[0][0]} and {apart[0][1]}{more}: how they covary is known through the model "
        )
        message += "alone."
    return message


@pytest.mark.parametrize("reports", [(GOOD,), (SEVERAL, FLAT), (STUCK,), (PEAKS,)])
def test_missing_values_add_their_sentences(reports: tuple[DistrictReport, ...]) -> None:
    inner = overall(reports)
    pairs = [("x", "y"), ("x", "w"), ("y", "w")]
    for converged, undetermined, many in product((True, False), (0, 1, 3), (0, 1, 3)):
        found = incomplete(inner, converged, undetermined, pairs[:many])
        assert str(found) == older(str(inner), inner.code, converged, undetermined, pairs[:many])
        assert found.converged == (converged and inner.converged)


def test_a_status_without_findings_says_nothing_and_findings_stand_without_their_head() -> None:
    assert str(Status("converged")) == ""
    assert Status("flat", (note("at the maximum"),)).findings() == "the likelihood is at its maximum."


def test_districts_are_reported_in_the_order_of_their_first_variables() -> None:
    rows = np.random.default_rng(5).normal(size=(80, 4))
    fit = ht.fit("a; b; c; d; a <-> d; b <-> c", dict(zip("abcd", rows.T, strict=True)))
    assert [report.members for report in fit.districts] == [("a", "d"), ("b", "c")]
