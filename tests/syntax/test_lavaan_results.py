"""What lavaan made of texts that we read and of texts that we wrote, see ``tests/reference/lavaan_results.py``."""

import json
from pathlib import Path
from typing import Any

import pytest

import halftrek as ht
from halftrek.errors import GraphSyntaxError
from halftrek.syntax import format_graph, parse_graph
from halftrek.syntax.graphs.formulas import Formula, parse_formulas
from halftrek.syntax.graphs.lavaan_model import sorted_formulas
from halftrek.syntax.graphs.lavaan_notes import outcomes_apart
from tests.narrow import some

Rows = list[tuple[str, str, str, float | None, str]]  # of lavaan: left, operator, right, fixed value, label

STORED = json.loads((Path(__file__).parents[1] / "reference" / "lavaan_results.json").read_text())
READ = [(text, rows) for text, rows in STORED["read"] if rows is not None]  # None: lavaan refuses the text


def free_parameters(graph: ht.Graph) -> int:
    """Weights, error covariances and error variances; those of one label are one."""
    known = graph.coefficients.values()
    return len(graph) + len(graph.edges()) - len(known) + len({c for c in known if isinstance(c, str)})


def lavaan_free(rows: Rows) -> int:
    labels = [label for *_, fixed, label in rows if fixed is None]
    return labels.count("") + len(set(labels) - {""})


def has_a_scale(factor: str, rows: Rows) -> bool:
    """lavaan counts a variance and all loadings even where nothing says how large the factor is."""
    return any(
        fixed and left == factor and (operator, right == factor) in {("=~", False), ("~~", True)}
        for left, operator, right, fixed, _ in rows
    )


@pytest.fixture(scope="module")
def both() -> list[tuple[str, Rows, ht.Graph]]:
    """Texts that lavaan reads and we read, with the two readings."""
    found = []
    for text, rows in READ:
        try:
            found.append((text, rows, parse_graph(text, "lavaan")))
        except GraphSyntaxError:
            continue
    assert len(found) > 120
    return found


def test_arrows_and_covariances_are_lavaans(both: list[tuple[str, Rows, ht.Graph]]) -> None:
    for text, rows, graph in some(both):
        arrows = {(a, b) for a, op, b, *_ in rows if op == "=~" and a != b} | {
            (b, a) for a, op, b, *_ in rows if op == "~"
        }
        assert {(u, v) for u, kind, v in graph.edges() if kind == "->"} == arrows, text
        arcs = {frozenset((a, b)) for a, op, b, fixed, _ in rows if op == "~~" and a != b and fixed != 0}
        formulas = [one for one in parse_formulas(text) if isinstance(one, Formula)]
        added = {frozenset(pair) for pair in outcomes_apart(sorted_formulas(text, formulas))}
        assert {frozenset(pair) for pair in graph.bidirected} == arcs - added, text
        assert added <= arcs, text
        codes = [note.code for note in graph.notes]
        assert codes.count("lavaan outcomes") == bool(added), text


def test_free_parameters_are_lavaans(both: list[tuple[str, Rows, ht.Graph]]) -> None:
    counted = 0
    for text, rows, graph in both:
        if all(has_a_scale(factor, rows) for factor in graph.latents):
            formulas = [one for one in parse_formulas(text) if isinstance(one, Formula)]
            errorless = sum(a == b and a not in graph.latents and fixed == 0 for a, _, b, fixed, _ in rows)
            added = len(list(outcomes_apart(sorted_formulas(text, formulas))))
            assert free_parameters(graph) - errorless == lavaan_free(rows) - added, text
            counted += 1
    assert counted > 100


@pytest.mark.parametrize("case", STORED["written"], ids=lambda case: case["graph"].replace("\n", "; "))
def test_what_we_write_is_the_same_model_in_sem(case: dict[str, Any]) -> None:
    graph = parse_graph(case["graph"], "arrows")
    text = format_graph(graph, "lavaan")
    assert text == case["text"]  # another text: run lavaan again, tests/reference/lavaan_results.py
    back = parse_graph(text)
    assert (back, back.observed, back.notes) == (graph, graph.observed, ())
    assert case["npar"] == free_parameters(graph)
    fit = ht.fit(graph, cov=case["cov"], n=case["n"], names=case["names"])
    if case["logl"] is not None:  # None: lavaan found no maximum
        assert fit.loglik == pytest.approx(case["logl"], abs=1e-4)
