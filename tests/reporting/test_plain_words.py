"""What is printed is in words for users: those of our own algebra stand behind ``details=True`` alone."""

from __future__ import annotations

import re

import numpy as np
import pytest

import halftrek as ht
from halftrek.estimation.status import DistrictReport, overall
from halftrek.graphs import Graph
from halftrek.identification import identify_all
from halftrek.notes import data, fits, intervals
from halftrek.reporting.described.verdicts import describe_verdict, verdict_table
from halftrek.simulation import random_model

ALGEBRA = (
    r"jacobian|modulo|primes?|districts?|directions?|hedges?|kernels?|ranks?|null space|determinants?|polynomials?|"
    r"eliminat\w*|generic\w*|fib(?:re|er)s?|positive definite|complex|ideals?|tetrads?|verma|ridges?|flat|"
    r"linear systems?|branch(?:es)?|c-components?|finitely|manifolds?|singular|eigen\w*"
)
FOUND = re.compile(rf"\b(?:{ALGEBRA})\b", re.IGNORECASE)


def faces(verdict: ht.Verdict) -> dict[str, str]:
    """Everything that is printed of a verdict."""
    return {
        "str": str(verdict),
        "repr": repr(verdict),
        "explain": verdict.explain(),
        "command line": describe_verdict(verdict, front="command line"),
        "notebook": re.sub(r"<svg.*?</svg>", "", verdict._repr_html_(), flags=re.DOTALL),
    }


def check(verdict: ht.Verdict) -> None:
    names = {*verdict.graph.observed, *verdict.graph.latents}
    assert not any(FOUND.search(name) for name in names)
    for face, text in faces(verdict).items():
        seen = FOUND.search(text)
        assert seen is None, f"{verdict.query}, {face}: {text}"


def test_the_list_finds_what_it_is_for() -> None:
    verdict = ht.identify("x -> y; x <-> y", "x ~> y")
    assert FOUND.findall(verdict.explain(details=True)) == ["jacobian", "direction", "modulo", "primes"]
    assert FOUND.search("District {x, y}: one direction of its parameters")
    hedged = ht.identify("x -> y; x <-> y", "P(y | do(x))", scope="nonparametric")
    assert "hedge" in hedged.explain(details=True)


@pytest.mark.parametrize("name", ht.catalog())
def test_the_catalog_speaks_in_plain_words(name: str) -> None:
    entry = ht.catalog(name)
    assert entry.verdicts
    for question, known in entry.verdicts.items():
        for scope in known:
            check(ht.identify(entry.graph, question, scope=scope))


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs_speak_in_plain_words(seed: int) -> None:
    """Ten graphs each; every arrow and every total effect, and one refusal with all that it says."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        size = int(rng.integers(3, 5))
        graph = drawn(size, rng)
        verdicts = identify_all(graph, budget=0.2)
        assert FOUND.search(verdict_table(verdicts)) is None
        for verdict in verdicts:
            check(verdict)
        refused = [v for v in verdicts if v.status == "not identified"]
        if refused:
            check(ht.identify(graph, refused[0].query))


def drawn(size: int, rng: np.random.Generator) -> Graph:
    names = [f"v{k}" for k in range(size)]
    pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
    arrows = [p for p in pairs if rng.uniform() < 0.6]
    return Graph(arrows, [p for p in pairs if rng.uniform() < 0.45], observed=names)


@pytest.mark.parametrize("text", ["x -> y; x <-> y", "x -> m -> y; x <-> m; m <-> y; x <-> y; z -> x"])
def test_a_fit_speaks_in_plain_words(text: str) -> None:
    graph = ht.graph(text)
    fit = ht.fit(graph, random_model(graph, random_state=1).sample(300, random_state=1))
    rows = fit.effects()
    assert len(rows)
    for said in (str(fit.status), fit.summary(), repr(fit), str(rows)):
        assert FOUND.search(said) is None, said


@pytest.mark.parametrize("code", ["converged", "flat", "boundary", "no finite maximum", "not converged"])
def test_how_a_fit_ended_is_told_in_plain_words(code: str) -> None:
    report = DistrictReport(("x", "y"), code, 5, 8, 2, flat=2, several=True, runaway="x -> y", deviance=21.7, df=0)  # type: ignore[arg-type]
    said = str(overall([report]))
    assert "x, y" in said
    assert FOUND.search(said) is None, said


@pytest.mark.parametrize("table", [data.DATA, fits.FITS, intervals.INTERVALS], ids=["data", "fits", "intervals"])
def test_every_finding_is_told_in_plain_words(table: dict[str, object]) -> None:
    assert table
    for code, words in table.items():
        for text in (words.text, words.short, words.why):  # type: ignore[attr-defined]
            seen = FOUND.search(text)
            assert seen is None, f"{code}: {text}"
