"""Texts of lavaan with the arguments of lavaan's functions."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.graphs import Graph

CURVE = "i =~ 1*t1 + 1*t2 + 1*t3; s =~ 0*t1 + 1*t2 + 2*t3; i ~ x"


def test_functions_differ_in_means() -> None:
    grown, plain = ht.from_lavaan(CURVE, "growth"), ht.from_lavaan(CURVE, "sem")
    assert dict(plain.intercepts) == {}
    assert {v: x for v, x in grown.intercepts.items() if x == 0.0} == {"t1": 0.0, "t2": 0.0, "t3": 0.0}
    assert set(grown.intercepts) == {"i", "s", "t1", "t2", "t3"}  # not x, which keeps its mean
    assert grown.notes == plain.notes == ()
    assert [note.code for note in ht.graph("x -> y").notes] == []


def test_outcomes_covary_as_in_lavaan() -> None:
    assert ht.from_lavaan("a ~ x; b ~ x") == Graph([("x", "a"), ("x", "b")], [("a", "b")])
    with pytest.warns(ht.HalftrekWarning, match="from_lavaan"):
        assert ht.graph("a ~ x; b ~ x") == Graph([("x", "a"), ("x", "b")])


def test_scales_and_covariances() -> None:
    text = "f =~ a + b + c; g =~ d + e + h"
    assert ht.from_lavaan(text, "cfa", std_lv=True, orthogonal=True) == Graph(
        latents={"f": ["a", "b", "c"], "g": ["d", "e", "h"]}
    )
    marked = ht.from_lavaan(text, "cfa")
    assert dict(marked.coefficients) == {"f -> a": 1.0, "g -> d": 1.0}
    assert marked.bidirected == (("f", "g"),)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.lavaan"
    path.write_text("y ~ x")
    assert ht.from_lavaan(path) == ht.from_lavaan(str(path)) == Graph([("x", "y")])


def test_values_of_one_group() -> None:
    text = "y ~ c(0.5, NA)*x + c(a, b)*z; x ~~ 0*z"
    first, second = (ht.from_lavaan(text, group=k) for k in (0, 1))
    assert dict(first.coefficients) == {"x -> y": 0.5, "z -> y": "a"}
    assert dict(second.coefficients) == {"z -> y": "b"}
    for wrong, words in ((2, "no group 2"), ("town", "number of a group"), (True, "number of a group")):
        with pytest.raises(ht.InputError, match=words):
            ht.from_lavaan(text, group=wrong)  # type: ignore[arg-type]
    for shared in ("y ~ c(a, a)*x", "y ~ a*x", "y ~ c(a, b)*x; z ~ c(b, d)*y"):
        with pytest.raises(ht.InputError, match="several groups equal"):
            ht.from_lavaan(shared, group=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ordered": "y"}, "continuous"),
        ({"group_equal": "loadings"}, "measurement_invariance"),
        ({"fixed.x": True}, "always modelled"),
        ({"estimator": "WLSMV"}, "maximum likelihood"),
        ({"nonsense": 1}, "takes no 'nonsense'"),
        ({"std_lv": "yes"}, "std_lv is True or False"),
        ({"function": "lm"}, "no function 'lm'"),
    ],
)
def test_other_arguments_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ht.InputError, match=words):
        ht.from_lavaan("y ~ x", **options)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ht.InputError, match="not Graph"):
        ht.from_lavaan(Graph([("x", "y")]))


def test_definitions_are_not_lost_in_groups() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=80), "y": rng.normal(size=80), "g": ["p", "q"] * 40})
    with pytest.warns(ht.HalftrekWarning, match="twice. Fit each group on its own"):
        assert len(ht.fit("y ~ b*x; twice := 2*b", table, by="g")) == 2
