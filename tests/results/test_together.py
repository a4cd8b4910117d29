"""Groups that are fitted together. ``tests/test_lavaan_strings.py`` compares with lavaan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from tests.reference.lavaan_strings.strings import HERE

SCHOOL = pd.read_csv(HERE / "school.csv")
SITES = pd.read_csv(HERE / "sites.csv")
FACTOR = "V =~ v1 + v2 + v3"


def table(found: ht.FitsTogether) -> dict[tuple[str, ...], Any]:
    return {(r.group, r.lhs, r.op, r.rhs): r for r in found.rows}


def test_what_shares_nothing_is_each_group_alone() -> None:
    text = f"{FACTOR}; grade ~ V + age"
    found = ht.fit_together(text, SCHOOL, by="town")
    alone = {str(k): ht.fit(ht.from_lavaan(text), SCHOOL[SCHOOL["town"] == k]) for k in (0, 1)}
    assert found.loglik == pytest.approx(sum(fit.loglik for fit in alone.values()), abs=1e-7)
    for group, fit in alone.items():
        for r in fit.params(interval="delta", as_frame=False):
            row = table(found)[group, r.lhs, r.op, r.rhs]
            assert (row.est, row.se, row.std) == pytest.approx((r.est, r.se, r.std), abs=1e-6, nan_ok=True)


def test_recovers_what_groups_share() -> None:
    rng = np.random.default_rng(5)
    n = 40_000
    group = np.repeat([0, 1], n // 2)
    f = np.where(group == 0, 1.0, 1.5) * rng.normal(size=n) + 0.4 * group
    columns = {f"x{k}": 0.5 * k + load * f + rng.normal(size=n) for k, load in enumerate((1.0, 0.8, 1.2, 0.6))}
    columns["y"] = np.where(group == 0, 0.3, 0.7) * f + rng.normal(size=n)
    found = ht.fit_together(
        "F =~ x0 + x1 + x2 + x3; y ~ c(b, d)*F; gap := d - b", columns, by=group, equal=["loadings", "intercepts"],
        partial="y ~ 1",
    )  # fmt: skip
    rows = table(found)
    gap = rows["", "gap", ":=", "d - b"]
    assert gap.est == pytest.approx(0.4, abs=4 * gap.se)
    assert gap.se < 0.02
    mean = rows["1", "F", "~1", ""]
    assert mean.est == pytest.approx(0.4, abs=4 * mean.se)
    assert rows["0", "F", "=~", "x2"].est == rows["1", "F", "=~", "x2"].est == pytest.approx(1.2, abs=0.05)
    assert rows["0", "y", "~1", ""].est != rows["1", "y", "~1", ""].est


def test_no_number_for_what_is_not_determined() -> None:
    text = "V =~ c(NA, NA)*v1 + c(a, a)*v1 + c(b, b)*v2 + v3"  # nothing gives V a scale
    rows = table(ht.fit_together(text, SCHOOL, by="town"))
    for key in (("1", "V", "=~", "v1"), ("0", "V", "~~", "V")):
        assert np.isnan(rows[key].est)
        assert rows[key].note
    assert rows["1", "v1", "~~", "v1"].se > 0.0


def test_order_of_groups() -> None:
    text = "V =~ v1 + v2 + v3; grade ~ c(x, y, z)*V"
    found = ht.fit_together(text, SITES, by="site")
    assert found.groups == ("2", "3", "1")  # of their first rows
    turned = ht.fit_together(text, SITES, by="site", groups=[1, 2, 3])
    assert turned.groups == ("1", "2", "3")
    one, other = table(found), table(turned)
    for group in found.groups:
        assert one[group, "V", "=~", "grade"].est == pytest.approx(other[group, "V", "=~", "grade"].est, abs=1e-6)
    assert one["2", "V", "=~", "grade"].note == "label x"
    assert other["2", "V", "=~", "grade"].note == "label y"


def test_moments_by_group() -> None:
    parts = {k: ht.moments(SCHOOL[SCHOOL["town"] == k], ["v1", "v2", "v3"]) for k in (1, 0)}
    by_rows = ht.fit_together(FACTOR, SCHOOL, by="town", equal="loadings")
    by_moments = ht.fit_together(FACTOR, parts, equal="loadings")
    assert by_moments.groups == by_rows.groups
    assert by_moments.loglik == pytest.approx(by_rows.loglik, abs=1e-8)


def test_an_error_variance_of_zero_is_named() -> None:
    rng = np.random.default_rng(2)
    f, h = rng.normal(size=(2, 600))
    columns = {"a": f + 0.05 * h, "b": f + 0.6 * h + 0.3 * rng.normal(size=600), "c": f - 0.6 * h, "g": [1, 2] * 300}
    columns["c"] = columns["c"] + 0.3 * rng.normal(size=600)
    found = ht.fit_together("F =~ a + b + c", columns, by="g", equal="loadings")
    assert set(found.at_zero) == {("1", "a"), ("2", "a")}
    assert "the error variance of a in the group 1 ended at zero" in str(found)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (FACTOR, {"equal": "slopes"}, "equal takes some of loadings"),
        (FACTOR, {"equal": "loadings", "partial": "V =~ v9"}, "'V =~ v9', which is no free parameter"),
        ("V =~ c(1, NA)*v1 + v2 + v3", {"equal": "loadings"}, "V=~v1 is fixed in some groups and free in others"),
        ("V =~ v1 + c(a, b, d)*v2 + v3", {}, "values for 3 groups, and there are 2"),
        (FACTOR, {"groups": [0]}, "groups names each of"),
        (FACTOR, {"groups": [0, 7]}, "groups names each of"),
        (FACTOR, {"information": "robust"}, "'expected' or 'observed'"),
        ("x -> y", {}, "in lavaan's syntax"),
        (FACTOR, {"function": "lm"}, "no function 'lm'"),
        ("V =~ v1 + c(a, a)*v2 + v3; a == 2*b", {}, "constraints other than"),
        ("V =~ v1 + c(a, b)*v2 + v3; gap := a - k", {}, "no parameter of the text has the label 'k'"),
    ],
)
def test_refusals(text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ht.InputError, match=words):
        ht.fit_together(text, SCHOOL, by="town", **options)


def test_refusals_of_data() -> None:
    with pytest.raises(ht.DataError, match="the data have one"):
        ht.fit_together(FACTOR, SCHOOL[SCHOOL["town"] == 1], by="town")
    with pytest.raises(ht.DataError, match="say what tells the groups apart"):
        ht.fit_together(FACTOR, SCHOOL)
    with pytest.raises(ht.InputError, match="not Graph"):
        ht.fit_together(ht.graph("x -> y"), SCHOOL, by="town")
