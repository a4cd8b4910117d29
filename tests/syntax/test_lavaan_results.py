"""What lavaan made of texts that we read and of texts that we wrote, see ``tests/reference/lavaan_results.py``."""

import json
from pathlib import Path
from typing import Any

import pytest

import halftrek as ht
from halftrek.errors import GraphSyntaxError
from halftrek.graphs import Coefficient, Edge
from halftrek.graphs.hidden import settled
from halftrek.syntax import format_graph, parse_graph
from halftrek.syntax.graphs.conventions import Conventions
from halftrek.syntax.graphs.lavaan import parse
from tests.narrow import some

Rows = list[tuple[str, str, str, float | None, str]]  # of lavaan: left, operator, right, fixed value, label
Key = tuple[str, frozenset[str] | tuple[str, str]]
Known = dict[Key, Coefficient | None]

STORED = json.loads((Path(__file__).parents[1] / "reference" / "lavaan_results.json").read_text())
READ = [case for case in STORED["read"] if case[-1] is not None]  # None: lavaan refuses the text


def table_of(graph: ht.Graph) -> Known:
    """Every parameter with the number that it is fixed at, its label, or None."""
    variances, intercepts = settled(graph)
    found: Known = {}
    for u, kind, v in graph.edges():
        value = graph.known.get(Edge(u, kind, v))
        found["->" if kind == "->" else "~~", (u, v) if kind == "->" else frozenset((u, v))] = value
    for v in graph.nodes:
        found["~~", frozenset((v,))] = graph.variances.get(v, variances.get(v))
        found["1", (v, v)] = graph.intercepts.get(v, intercepts.get(v))
    for u in graph.latents:
        found["~~", frozenset((u,))], found["1", (u, u)] = 1.0, 0.0
    return found


def lavaan_table(rows: Rows) -> Known:
    """The same of lavaan's rows; a covariance that is fixed at zero is no parameter."""
    found: Known = {}
    for left, operator, right, fixed, label in rows:
        value = label or None if fixed is None else fixed
        if operator == "~1":
            found["1", (left, left)] = value
        elif operator == "~~" and not (left != right and fixed == 0):
            found["~~", frozenset((left, right))] = value
        elif operator in ("=~", "~") and left != right:
            found["->", (left, right) if operator == "=~" else (right, left)] = value
    return found


def shared(table: Known) -> set[frozenset[Key]]:
    """Which parameters are equal to others."""
    labels = {value for value in table.values() if isinstance(value, str)}
    groups = [frozenset(key for key, value in table.items() if value == label) for label in labels]
    return {group for group in groups if len(group) > 1}


@pytest.fixture(scope="module")
def both() -> list[tuple[str, Conventions, Rows, ht.Graph]]:
    """Texts that lavaan reads and we read, with the two readings."""
    found = []
    for text, function, std_lv, orthogonal, rows in READ:
        conventions = Conventions(function, std_lv, orthogonal, outcomes_covary=True)
        try:
            found.append((text, conventions, rows, parse(text, conventions)))
        except GraphSyntaxError:
            continue
    assert len(found) > 140
    return found


def test_every_parameter_is_lavaans(both: list[tuple[str, Conventions, Rows, ht.Graph]]) -> None:
    """Left out: hidden variables that were taken out, and the variance of one to which nothing gives a scale."""
    for text, conventions, rows, graph in some(both):
        ours, theirs = table_of(graph), lavaan_table(rows)
        gone = {str(n.facts["variable"]) for n in graph.notes if n.code.startswith("hidden ")}
        unscaled = {frozenset((str(n.facts["factor"]),)) for n in graph.notes if n.code == "lavaan scale"}
        unscaled |= {frozenset((f,)) for f, kids in graph.latents.items() if not kids}
        theirs = {key: value for key, value in theirs.items() if gone.isdisjoint(key[1]) and key[1] not in unscaled}
        ours = {key: value for key, value in ours.items() if key[1] not in unscaled}
        if conventions.function == "growth":  # lavaan with fixed.x = FALSE holds the means of covariates at zero
            roots = {(v, v) for v in graph.observed if not graph.parents(v) and v not in graph.intercepts}
            theirs = {key: value for key, value in theirs.items() if key[0] != "1" or key[1] not in roots}
        words = f"{text}\n{conventions}"
        assert ours.keys() >= theirs.keys(), words
        assert {key[1] for key in ours.keys() - theirs.keys() if key[0] != "1"} == set(), words
        for key, value in theirs.items():
            assert isinstance(value, float | int) == isinstance(ours[key], float | int), (words, key)
            assert isinstance(value, str) or value is None or value == ours[key], (words, key)
        assert shared(ours) == shared(theirs), words


def free_parameters(graph: ht.Graph) -> int:
    """Parameters that are not fixed, those of one label once; means only where something is said of them."""
    values = [value for key, value in table_of(graph).items() if key[0] != "1" or graph.intercepts]
    return values.count(None) + len({value for value in values if isinstance(value, str)})


@pytest.mark.parametrize("case", STORED["written"], ids=lambda case: case["graph"].replace("\n", "; "))
def test_what_we_write_is_the_same_model_in_sem(case: dict[str, Any]) -> None:
    graph = parse_graph(case["graph"], "arrows")
    text = format_graph(graph, "lavaan")
    assert text == case["text"]  # another text: run lavaan again, tests/reference/lavaan_results.py
    back = parse_graph(text)
    assert (back, back.observed, back.notes) == (graph, graph.observed, ())
    assert case["npar"] == free_parameters(graph)
    fit = ht.fit(graph, cov=case["cov"], n=case["n"], names=case["names"], mean=case["mean"])
    if case["logl"] is not None:  # None: lavaan found no maximum
        assert fit.loglik == pytest.approx(case["logl"], abs=1e-4)
