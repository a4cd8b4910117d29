"""175 texts in lavaan's syntax: the same model with the same numbers as in lavaan, or refused by name.

See ``tests/reference/lavaan_strings``; what lavaan answered is stored there with the scripts that asked it.
"""

import json
import math
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.graphs import Graph
from tests.reference.lavaan_strings.strings import HERE, Case, cases

ANSWERS = json.loads((HERE / "answers.json").read_text())
FILES = ("school", "growth", "panel", "holes", "sites", "sites_holes")
ROWS = {name: pd.read_csv(HERE / f"{name}.csv") for name in FILES}
CASES = {case.name: case for case in cases()}
# by name: what each of these is refused for
REFUSED = {
    "cfa_twice_a_label": "constraints other than",
    "cfa_sum_of_labels": "constraints other than",
    "cfa_inequality": "inequality constraints",
    "refused_composite": "composites",
    "refused_ordered": "ordered variables",
    "refused_thresholds": "thresholds|ordered",
    "refused_cycle": "cycle",
    "refused_levels": "multilevel",
    "refused_efa": "exploratory factors",
    "refused_interaction": "interactions",
    "refused_group_blocks": "groups",
    "trick_equal_variance": "no label and no parameter of the text",
    "trick_constraint_of_three": "constraints other than",
    "trick_constraint_expression": "constraints other than",
    "trick_positive": "inequality constraints",
    "trick_lower_bound": "bounds",
    "trick_upper_bound": "bounds",
    "trick_scaling": "ordered variables",
    "trick_composite_label": "composites",
    "trick_efa_two": "exploratory factors",
    "trick_level_names": "multilevel",
    "trick_percent": "group weights",
    "trick_prior": "prior",
    "trick_random_slope": "random slopes",
}
GROUPED = [name for name in CASES if name.startswith("group_")]
ALONE = ["group_configural", "group_fixed_in_one"]  # which share nothing
EQUAL = [name for name in CASES if name not in REFUSED and name not in GROUPED]
Sides = tuple[str, str, str]
Table = dict[Sides, Any]
# causes without causes that a ~~ names: lavaan compares with a model in which they do not covary, we with one in which
# they do (docs/howto/from-lavaan.md), so that CFI and TLI differ
OTHER_BASELINE = {"panel_equal_lags", "trick_variance_of_covariate"}
HOW = {"cluster", "fixed.x", "meanstructure", "missing", "std.lv", "orthogonal"}


def read(case: Case, group: int | None = None) -> Graph:
    """The text with lavaan's options: those that ``from_lavaan`` takes, and others so that they are refused."""
    own = {name.replace(".", "_"): value == "TRUE" for name, value in case.has.items() if name in HOW}
    others: dict[str, Any] = {name.replace(".", "_"): value for name, value in case.has.items() if name not in HOW}
    if "group" in others:
        others["group"] = 0 if group is None else group
    chosen = {name: value for name, value in own.items() if name in ("std_lv", "orthogonal")}
    return ht.from_lavaan(case.text, case.function, **chosen, **others)  # type: ignore[arg-type]


def test_most_are_equal() -> None:
    assert len(CASES) == 175
    assert CASES.keys() == ANSWERS.keys() - {"tool"}
    assert len(EQUAL) + len(GROUPED) >= 0.8 * len(CASES)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name: str) -> None:
    with pytest.raises(ht.InputError, match=REFUSED[name]):
        read(CASES[name])


def covariates(case: Case, graph: Graph) -> list[str]:
    """Variables that lavaan takes as given with ``fixed.x = TRUE``: observed ones without causes."""
    return [v for v in graph.observed if not graph.parents(v)] if case.has.get("fixed.x") == "TRUE" else []


def own_loglik(rows: pd.DataFrame) -> float:
    """The log-likelihood of variables of which nothing is assumed but a normal distribution."""
    n, k = rows.shape
    cov = np.cov(rows.to_numpy().T, bias=True).reshape(k, k)
    return float(-n / 2 * (k * math.log(2 * math.pi) + np.linalg.slogdet(cov)[1] + k))


def row_keys(left: str, operator: str, right: str) -> list[Sides]:
    """The ways in which a parameter may be written."""
    turned = {"~~": (right, "~~", left), "=~": (right, "~", left), "~": (right, "=~", left)}
    return [(left, operator, right), turned.get(operator, (left, operator, right))]


@pytest.mark.parametrize("name", EQUAL)
def test_equal_to_lavaan(name: str) -> None:
    case, answer = CASES[name], ANSWERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is read in another way
        graph = read(case)
    fit = ht.fit(graph, ROWS[case.data])
    given, theirs = covariates(case, graph), answer["measures"]
    means = case.has.get("meanstructure") != "FALSE"
    more = own_loglik(ROWS[case.data][given]) if given else 0.0
    assert fit.loglik == pytest.approx(theirs["logl"] + more, abs=1e-4)
    ours = fit.measures(robust=False)
    for key in ("chi2", "df", "cfi", "tli", "rmsea"):
        wanted = theirs["chisq" if key == "chi2" else key]
        if wanted is not None and not (key in ("cfi", "tli") and name in OTHER_BASELINE):
            assert ours[key] == pytest.approx(wanted, abs=1e-4), key
    assert ours["srmr" if means else "srmr_no_mean"] == pytest.approx(theirs["srmr"], abs=1e-4)
    if means and not given:
        assert ours["aic"] == pytest.approx(theirs["aic"], abs=1e-3)
        assert ours["bic"] == pytest.approx(theirs["bic"], abs=1e-3)
    found = _table(fit)
    _compare_rows(found, answer["rows"], set(given), graph)
    assert all(means is False and operator == "~1" for _, operator, _ in _without_answer(found, answer["rows"]))


@pytest.mark.parametrize("name", GROUPED)
def test_groups_together(name: str) -> None:
    """Parameters that are equal across groups, by labels and by ``group.equal``."""
    case, answer = CASES[name], ANSWERS[name]
    equal, partial = (re.findall(r'"([^"]+)"', case.has.get(f"group.{what}", "")) for what in ("equal", "partial"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fits = ht.fit_together(
            case.text, ROWS[case.data], by=case.has["group"].strip('"'), function=case.function,  # type: ignore[arg-type]
            std_lv=case.has.get("std.lv") == "TRUE", equal=equal, partial=partial,
        )  # fmt: skip
    theirs, ours = answer["measures"], fits.measures()
    assert fits.converged
    assert fits.loglik == pytest.approx(theirs["logl"], abs=1e-4)
    for key in ("npar", "chisq", "df", "cfi", "tli", "rmsea", "srmr", "aic", "bic"):
        mine = ours[{"chisq": "chi2", "npar": "parameters"}.get(key, key)]
        if theirs[key] is not None:
            assert mine == pytest.approx(theirs[key], abs=1e-4), key
    tables: dict[str, Table] = {group: {} for group in (*fits.groups, "")}
    for r in fits.rows:
        tables[r.group][r.lhs, r.op, "" if r.op in ("~1", ":=") else r.rhs] = r
    for k, group in enumerate(fits.groups, 1):
        rows = [row for row in answer["rows"] if row[3] == k]
        _compare_rows(tables[group], rows, set(), fits.models[group].graph)
        assert not _without_answer(tables[group], rows)
    defined = [row for row in answer["rows"] if row[1] == ":="]
    _compare_rows(tables[""], defined, set(), fits.models[fits.groups[0]].graph)
    assert len(tables[""]) == len(defined)


@pytest.mark.parametrize("name", ALONE)
def test_groups_on_their_own(name: str) -> None:
    """What lavaan fits at once without anything shared: the log-likelihoods add up."""
    case, answer = CASES[name], ANSWERS[name]
    rows = ROWS[case.data]
    towns = rows["town"].unique()  # in lavaan groups are in the order of the rows
    fits = [ht.fit(read(case, k), rows[rows["town"] == town]) for k, town in enumerate(towns)]
    assert sum(fit.loglik for fit in fits) == pytest.approx(answer["measures"]["logl"], abs=1e-4)
    assert sum(fit.measures(robust=False)["df"] for fit in fits) == answer["measures"]["df"]
    for k, fit in enumerate(fits, 1):
        _compare_rows(_table(fit), [row for row in answer["rows"] if row[3] == k], set(), fit.graph)


def test_levels_of_invariance() -> None:
    """What ``group.equal`` does is a call of its own here, with lavaan's numbers."""
    found = ht.measurement_invariance(ht.from_lavaan(CASES["group_configural"].text, "cfa"), ROWS["school"], by="town")
    for level, name in zip(found.levels, ("group_configural", "group_metric", "group_scalar"), strict=False):
        theirs = ANSWERS[name]["measures"]
        assert level.loglik == pytest.approx(theirs["logl"], abs=1e-4)
        assert (level.parameters, level.df) == (theirs["npar"], theirs["df"])
        for ours, wanted in ((level.chi2, "chisq"), (level.cfi, "cfi"), (level.rmsea, "rmsea"), (level.bic, "bic")):
            assert ours == pytest.approx(theirs[wanted], abs=1e-3), (name, wanted)


def _table(fit: ht.Fit) -> Table:
    """The rows of parameters by their sides."""
    rows = fit.params(interval="delta").itertuples()
    return {(r.lhs, r.op, "" if r.op in ("~1", ":=") else r.rhs): r for r in rows}


def _without_answer(found: Table, rows: list[list[Any]]) -> set[Sides]:
    """Our rows that lavaan does not have."""
    theirs = {key for left, op, right, *_ in rows for key in row_keys(left, op, "" if op in ("~1", ":=") else right)}
    return set(found) - theirs


def _compare_rows(found: Table, rows: list[list[Any]], given: set[str], graph: Graph) -> None:
    """Estimates, standard errors and standardised values, row by row; what is fixed at zero or one may have no row."""
    for left, operator, right, _, est, se, std, _ in rows:
        bare = "" if operator in ("~1", ":=") else right
        row = next((found[key] for key in row_keys(left, operator, bare) if key in found), None)
        if row is None:
            assert se in (0, None), (left, operator, right)
            assert _implied(graph, left, operator, right) == est, (left, operator, right)
            continue
        assert row.est == pytest.approx(est, abs=1e-4), (left, operator, right)
        if not {left, right} <= given | {""}:
            wanted = 0.0 if se is None else se  # a label that equals a number may have no error there
            assert row.se == pytest.approx(wanted, abs=1e-3), (left, operator, right)
        if operator not in ("~1", ":=") and std is not None:
            assert row.std == pytest.approx(std, abs=1e-4), (left, operator, right)


def _implied(graph: Graph, left: str, operator: str, right: str) -> float | None:
    """What a parameter without a row is fixed at: a covariance that is not there, a factor on its own scale."""
    if operator == "~~" and left != right:
        joined = {frozenset(pair) for pair in graph.bidirected}
        return 0.0 if frozenset((left, right)) not in joined else None
    if left in graph.latents:
        return {"~~": 1.0, "~1": 0.0}.get(operator)
    return None
