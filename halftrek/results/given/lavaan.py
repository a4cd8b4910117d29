"""Texts in lavaan's syntax with the arguments of lavaan's functions."""

from __future__ import annotations

import os
from typing import get_args

from halftrek.bottom.choices import LavaanFunction
from halftrek.errors import InputError
from halftrek.graphs import Graph
from halftrek.results.given.inputs import text_of, with_warnings
from halftrek.syntax import Conventions, parse_lavaan

# what lavaan's functions take beside, and what to do here
_INSTEAD = {
    "ordered": "ordered variables are not supported: all variables are continuous here",
    "data": "data go to ht.fit(graph, data)",
    "group_equal": "parameters that are equal across groups are not part of a graph; ht.fit_together(text, data, "
    "by=..., equal=[...]) fits all groups at once, ht.measurement_invariance(graph, data, by=...) tests level by level",
    "group_partial": "parameters that are equal across groups are not part of a graph; ht.fit_together(text, data, "
    "by=..., equal=[...], partial=[...]) fits all groups at once",
    "cluster": "clusters go to ht.fit(graph, data, cluster=...)",
    "missing": "missing values are used by full information unless ht.fit(graph, data, missing=...) says otherwise",
    "fixed_x": "covariates are always modelled, as with fixed.x = FALSE: estimates and standard errors are the same",
    "meanstructure": "means are always modelled",
    "estimator": "estimates are by maximum likelihood; robust errors and tests are asked of the fit: "
    "interval='robust', fit.measures(robust=True)",
    "se": "errors are asked of the fit: fit.params(interval=...)",
    "sample_cov": "covariances go to ht.fit(graph, cov=..., n=...)",
    "constraints": "constraints stand in the text: a == b",
    "effect_coding": "effect coding is not supported; fix a loading or the variance of each factor",
}


def read_lavaan(
    source: object,
    function: LavaanFunction,
    *,
    std_lv: bool = False,
    orthogonal: bool = False,
    group: int | None = None,
    **others: object,
) -> Graph:
    """The graph of a text as one of lavaan's functions reads it; notes are warned of."""
    conventions = conventions_of(function, std_lv=std_lv, orthogonal=orthogonal)
    if group is not None and (isinstance(group, bool) or not isinstance(group, int)):
        raise InputError(
            f"group is the number of a group, from 0, among the values of c(), not {group!r}. A column that tells "
            f"groups apart goes to ht.fit_together(text, data, by=...), which fits all at once with what the text "
            f"holds equal, or to ht.fit(graph, data, by=...), which fits each on its own"
        )
    for name in others:
        plain = name.replace(".", "_")
        raise InputError(_INSTEAD.get(plain, f"from_lavaan takes no {name!r}; std_lv and orthogonal are what it takes"))
    return with_warnings(parse_lavaan(lavaan_text(source), conventions, group))


def conventions_of(function: LavaanFunction, *, std_lv: bool, orthogonal: bool) -> Conventions:
    """How one of lavaan's functions reads a text."""
    if function not in get_args(LavaanFunction):
        raise InputError(f"there is no function {function!r}; choose one of {', '.join(get_args(LavaanFunction))}")
    for name, value in (("std_lv", std_lv), ("orthogonal", orthogonal)):
        if not isinstance(value, bool):
            raise InputError(f"{name} is True or False, not {value!r}")
    return Conventions(function, std_lv, orthogonal, outcomes_covary=True)


def lavaan_text(source: object) -> str:
    """The text, or that of a file."""
    if not isinstance(source, str | os.PathLike):
        raise InputError(f"a text in lavaan's syntax is needed, or a file that holds one, not {type(source).__name__}")
    return text_of(source)
