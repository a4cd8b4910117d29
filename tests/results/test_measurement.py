"""Levels of measurement invariance across groups, against lavaan."""

from __future__ import annotations

import pytest

import halftrek as ht
from halftrek.errors import DataError, InputError
from tests.estimation.test_hidden import HIDDEN, LAVAAN, TEXTS


@pytest.mark.parametrize("case", ["schools", "schools_unit"])
def test_levels_are_lavaans(case: str) -> None:
    found = ht.measurement_invariance(TEXTS[case], HIDDEN / "schools.csv", by="school")
    assert found.groups == ("Grant-White", "Pasteur")
    for one in found.levels:
        theirs = LAVAAN["invariance"][one.level]
        assert one.converged
        assert one.loglik == pytest.approx(theirs["logl"], abs=1e-4)
        assert (one.parameters, one.df) == (theirs["npar"], theirs["df"])
        for mine, name in ((one.chi2, "chisq"), (one.cfi, "cfi"), (one.rmsea, "rmsea"), (one.bic, "bic")):
            assert mine == pytest.approx(theirs[name], rel=1e-4)
    assert [one.df_more for one in found.levels] == [None, 6, 6, 9]
    assert "configural" in found.summary()


def test_missing_values_and_fewer_levels() -> None:
    found = ht.measurement_invariance(TEXTS["schools"], HIDDEN / "schools_holes.csv", by="school", levels=["metric"])
    assert [one.level for one in found.levels] == ["metric"]
    assert found.levels[0].converged
    assert found.levels[0].df == 54


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InputError, match="in this order"):
        ht.measurement_invariance(TEXTS["schools"], HIDDEN / "schools.csv", by="school", levels=["strict", "metric"])
    with pytest.raises(InputError, match="the graph has none"):
        ht.measurement_invariance("x1 -> x2", HIDDEN / "schools.csv", by="school")
    with pytest.raises(DataError):
        ht.measurement_invariance(TEXTS["schools"], HIDDEN / "schools.csv", by="place")
