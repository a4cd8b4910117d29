"""Bounds where factors count as observed: as if their values were in the data, and no model lies outside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import halftrek as ht
from halftrek.bottom.arrays import Floats
from halftrek.errors import GraphError, InputError
from halftrek.identification.hidden.measured import with_known_loadings
from halftrek.models import CGLSCM
from halftrek.partial.hidden.counted import as_observed, counted
from halftrek.partial.hidden.outer import absorbed
from halftrek.queries import evaluate
from halftrek.results.sets.bounds import Bounds
from tests.partial.hidden.oracles import Parameters, deviance, rows_like, same_covariance

ITEMS = "latent F; F -> {a, b, c}; F -> a [1]; "
PLAIN = "F -> {a, b, c}; "
CASES = [
    ("F -> y", "F ~> y", ["abs(corr(F <-> y)) <= 0.3"]),
    ("F -> y", "F ~> y", ["corr(F <-> y) in [0, 0.2]"]),
    ("z -> x -> F; x <-> F", "x ~> F", ["abs(z -> F) <= 0.1"]),
    ("z -> x -> F; x <-> F", "x ~> F", ["abs(z -> F) <= 0.1", "abs(corr(x <-> F)) <= 0.3"]),
    ("x -> F -> y; x <-> y", "x ~> y", ["abs(corr(x <-> F)) <= 0.2"]),
    ("x -> F -> y; x <-> y", "x ~> y", ["abs(corr(x <-> F)) <= 0.2", "abs(corr(F <-> y)) <= 0.1"]),
    ("x -> F -> y; x <-> y", "E[y | do(x=1)]", ["abs(x <-> F) <= 0.2"]),
    ("x -> F -> y; x <-> y", "P(y > 1 | do(x=1))", ["abs(corr(x <-> F)) <= 0.2"]),
    ("w -> {F, y}; F -> y", "F ~> y", ["confounding(F, y) <= 1 * w"]),
    ("w -> {F, y}; F -> y", "F ~> y", ["share(F) <= 0.9", "abs(corr(F <-> y)) <= 0.2"]),
    ("x -> F -> y; x <-> y; x <-> F", "F ~> y", []),
]  # fmt: skip


def population(text: str, seed: int = 1) -> tuple[ht.Graph, CGLSCM]:
    """A model of a graph without hidden variables: weights and covariances that are nothing special."""
    graph, rng = ht.graph(text), np.random.default_rng(seed)
    names = graph.observed
    p = len(names)
    T, W = np.zeros((p, p)), np.diag(rng.uniform(0.6, 1.4, p))
    for u, v in graph.directed:
        T[names.index(u), names.index(v)] = rng.uniform(0.4, 0.9) * (1.0 if u == "F" else rng.choice([-1.0, 1.0]))
    T[names.index("F"), names.index("a")] = 1.0
    for u, v in graph.bidirected:
        i, j = names.index(u), names.index(v)
        W[i, j] = W[j, i] = 0.3 * np.sqrt(W[i, i] * W[j, j])
    return graph, CGLSCM(names, T, np.zeros((0, p)), rng.normal(size=p), W, (), graph)


def both(structure: str, question: str, assume: Sequence[str]) -> tuple[Bounds, Bounds, dict[str, Floats]]:
    """Bounds with the factor hidden, and with its values among the data."""
    graph, model = population(PLAIN + structure)
    data = rows_like(graph.observed, np.asarray(model.cov))
    seen = {v: column for v, column in data.items() if v != "F"}
    text = ITEMS + structure + ("" if "-> F" in structure or "<-> F" in structure else "; variance F")
    hidden = ht.bounds(text, seen, question, assume=assume)
    return hidden, ht.bounds(PLAIN + structure + "; F -> a [1]", data, question, assume=assume), seen


@pytest.mark.parametrize(("structure", "question", "assume"), CASES)
def test_a_factor_is_as_good_as_its_values(structure: str, question: str, assume: list[str]) -> None:
    found, wanted, _ = both(structure, question, assume)
    assert np.array(found.pieces) == pytest.approx(np.array(wanted.pieces), rel=1e-5, abs=1e-5)
    assert found.certificate in ("closed form", "proved to 1e-7")
    assert found.binds_low == wanted.binds_low
    assert found.interval is not None
    assert found.question is not None
    assert found.interval[0] <= found.low
    assert found.high <= found.interval[1]
    for model, end in ((found.model_low, found.low), (found.model_high, found.high)):
        if model is None or not np.isfinite(end):
            continue
        assert model.graph.hidden == ("F",)  # a model of the graph as it was drawn, that has the answer
        answer = evaluate(found.question, model)
        value = answer if isinstance(answer, float) else float(answer.mean[0])
        assert value == pytest.approx(end, rel=1e-5, abs=1e-5)


def _starts(parameters: Parameters, found: Bounds) -> list[Floats]:
    assert found.model_low is not None
    assert found.model_high is not None
    ends = [parameters.vector(m.T, m.W) for m in (found.model_low, found.model_high)]
    return [*ends, 0.6 * ends[0] + 0.4 * ends[1]]


@pytest.mark.parametrize("which", [0, 2])
def test_no_model_of_the_items_lies_outside(which: int) -> None:
    structure, question, assume = CASES[which]
    found, _, seen = both(structure, question, assume)
    assert found.model_low is not None
    parameters = Parameters(found.model_low.graph, {})
    at = {v: i for i, v in enumerate(parameters.names)}
    cov = np.cov(np.array([seen[v] for v in parameters.graph.observed]), bias=True)
    cause, effect = question.split(" ~> ")

    def answer(T: Floats, _: Floats) -> Floats:
        return np.linalg.inv(np.eye(len(T)) - T)[at[cause], at[effect]][None]

    def broken(T: Floats, W: Floats) -> Floats:
        corr = W / np.sqrt(np.abs(np.outer(np.diag(W), np.diag(W))))
        limited = {
            0: lambda: [(corr[at["F"], at["y"]], 0.3)],
            2: lambda: [(T[at["z"], at["F"]], 0.1)],
        }[which]()
        return np.array([sign * value - most for value, most in limited for sign in (1.0, -1.0)])

    starts, width = _starts(parameters, found), found.high - found.low
    gap = same_covariance(parameters, cov)
    for end, out in ((found.low, -1.0), (found.high, 1.0)):
        assert parameters.reaches(gap, broken, answer, end - 1e-4 * out * width, starts)
        assert not parameters.reaches(gap, broken, answer, end + 1e-3 * out * width, starts)
    # the interval: at its ends a deviance of 3.84 is lost, the cut where one limit binds one free weight
    assert found.interval is not None
    assert found.n is not None
    loss = deviance(parameters, cov, found.n)
    for value, start in zip(found.interval, starts, strict=False):
        assert parameters.least(loss, broken, answer, value, start) == pytest.approx(3.841458820694124, abs=0.02)


def test_the_unit_of_a_factor_does_not_matter_for_others() -> None:
    structure, question, assume = CASES[4]
    _, wanted, seen = both(structure, question, assume)
    text = (ITEMS + structure).replace("F -> a [1]; ", "")
    found = ht.bounds(text, seen, question, assume=assume)
    assert np.array(found.pieces) == pytest.approx(np.array(wanted.pieces), abs=1e-5)
    marked = ht.bounds(ITEMS + structure, seen, question, assume=assume)
    assert found.interval == pytest.approx(marked.interval, abs=1e-4)
    for model in (found.model_low, found.model_high):
        assert model is not None
        assert model.W[-1, -1] == pytest.approx(1.0)  # its error has the variance that the graph says
    with pytest.raises(GraphError, match=r"the scale of hidden 'F' is that its error has the variance 1.*F -> a \[1\]"):
        ht.bounds(text, seen, "x ~> F", assume=assume)
    with pytest.raises(GraphError, match="the scale of hidden 'F'"):
        ht.bounds(text, seen, question, assume=[*assume, "abs(x -> F) <= 2"])


def test_a_hidden_root_that_an_assumption_names() -> None:
    structure, question, assume = CASES[0]
    found, _, seen = both(structure, question, assume)
    unit = ht.bounds("latent F; F -> {a, b, c, y}", seen, question, assume=assume)
    scale = np.sqrt(found.model_low.cov[-1, -1]) if found.model_low is not None else np.nan
    assert (unit.low, unit.high) == pytest.approx((scale * found.low, scale * found.high), abs=1e-5)


def test_levels_of_factors_are_known_or_refused() -> None:
    structure, _, assume = CASES[4]
    _, _, seen = both(structure, "x ~> y", assume)
    with pytest.raises(GraphError, match="about values of hidden 'F', and its mean is not known"):
        ht.bounds(ITEMS + structure, seen, "E[F | do(x=1)]", assume=assume)
    found = ht.bounds(ITEMS + structure, seen, "E[F | do(x=1)]", assume="abs(corr(F <-> y)) <= 0.1")
    fit = ht.fit(ITEMS + structure, seen)
    assert found.low == found.high == pytest.approx(fit.query("E[F | do(x=1)]").value, abs=1e-5)


def test_what_stands_in_the_way_is_named() -> None:
    def why(text: str, **given: object) -> str:
        return counted(ht.graph(text), **given).why_not  # type: ignore[arg-type]

    assert why(ITEMS + "x -> F") == ""
    assert "effects of hidden 'F' do not tell" in why("latent F; F -> {a, b}; F -> a [1]; variance F")
    assert why("latent F; x -> F -> {a, b}; F -> a [1]") == ""  # two items, and x covaries with F
    impure = "latent F; F -> {a, b, c, d}; F -> d [1]; x -> {F, d}"
    assert "set by F -> d, which is no plain item" in why(impure)
    held = ITEMS + "x -> F; x <-> F; variance F [2]"
    assert "the error variance of 'F' is held" in why(held)
    level = ITEMS + "x -> F; x <-> F; intercept a [0]"
    assert "intercepts are held, that of 'a' for one, and x -> F is not known" in why(level)
    assert why(ITEMS + "x -> F; intercept a [0]") == ""
    assert counted(ht.graph("latent F; F -> {a, b, c}; x -> F; x <-> F")).loose == ("F",)
    assert as_observed(ht.graph(ITEMS + "x -> F")).hidden == ()


def test_an_item_that_is_the_factor_itself_is_refused() -> None:
    cov = np.array([[1.0, 0.6, 0.6, 0.6], [0.6, 1.0, 0.2, 0.2], [0.6, 0.2, 1.0, 0.2], [0.6, 0.2, 0.2, 1.0]])
    data = rows_like("abcy", cov, n=500)
    with pytest.raises(InputError, match="the error of 'a' has no variance"):
        ht.bounds(ITEMS + "F -> y; variance F", data, "F ~> y", assume="abs(corr(F <-> y)) <= 0.3")


def test_a_hidden_variable_with_one_effect_adds_nothing() -> None:
    """Any model without m is one with m: a small weight out of it, and large ones into it."""
    text = ITEMS + "latent m; z -> x; x -> m -> F; x <-> F"
    graph = ht.graph(text)
    assert absorbed(graph, ["m"]) == ht.graph(ITEMS + "z -> x -> F; x <-> F").with_(observed=graph.observed)
    for more in (
        "m <-> z",
        "m -> y",
        "variance m [2]",
        "x -> m [0.5]",
        "m -> F [k]; z -> x [k]",
    ):  # each says something of m
        kept = ht.graph(f"{text}; {more}")
        assert absorbed(kept, ["m"]) == kept
    structure, question, assume = CASES[2]
    found, _, seen = both(structure, question, assume)
    again = ht.bounds(text, seen, question, assume=assume)
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=1e-9)
    assert again.certificate == found.certificate
    # the model at an end, with m in it
    T, W = np.array(found.model_low.T), np.array(found.model_low.W)  # type: ignore[union-attr]
    names, e = (*found.model_low.names, "m"), 0.05  # type: ignore[union-attr]
    x, F, p = names.index("x"), names.index("F"), len(names)
    T1, W1 = np.zeros((p, p)), np.eye(p)
    T1[:-1, :-1], W1[:-1, :-1] = T, W
    T1[x, -1], T1[-1, F], T1[x, F] = T[x, F] / e, e, 0.0
    W1[F, F] -= e * e
    B0, B1 = np.linalg.inv(np.eye(p - 1) - T), np.linalg.inv(np.eye(p) - T1)
    assert (B1.T @ W1 @ B1)[:-1, :-1] == pytest.approx(B0.T @ W @ B0, abs=1e-10)
    assert np.linalg.eigvalsh(W1)[0] > 0.0


def test_assumptions_that_mean_another_thing_without_a_hidden_variable() -> None:
    structure, question, assume = CASES[2]
    _, _, seen = both(structure, question, assume)
    text = ITEMS + "latent m; z -> x; x -> m -> F; x <-> F"
    with pytest.raises(GraphError, match="beside hidden 'm'"):
        ht.bounds(text, seen, question, assume="abs(corr(x <-> F)) <= 0.1")
    with pytest.raises(GraphError, match="is about hidden 'm'"):
        ht.bounds(text, seen, question, assume="abs(z -> m) <= 0.1")
    with pytest.raises(GraphError, match="about hidden 'm'"):
        ht.bounds(text, seen, "x ~> m", assume=assume)


def test_two_items_beside_a_cause_that_is_assumed_to_be_none_tell_no_factor() -> None:
    data = rows_like("abx", np.array([[2.0, 0.7, 0.0], [0.7, 1.5, 0.0], [0.0, 0.0, 1.0]]))
    with pytest.raises(GraphError, match="effects of hidden 'F' do not tell"):
        ht.bounds("latent F; x -> F -> {a, b}; F -> a [1]", data, "F ~> b", assume="x -> F = 0")


def test_rows_in_clusters_that_lack_values() -> None:
    """A cluster for each row says hardly more than the rows; copies in one cluster say what each says once."""
    structure, question, assume = CASES[0]
    _, _, seen = both(structure, question, assume)
    rows = {v: np.where((np.arange(2000) + k) % 7 == 0, np.nan, x)[:600] for k, (v, x) in enumerate(seen.items())}
    text = ITEMS + structure + "; variance F"
    plain = ht.bounds(text, rows, question, assume=assume)
    one = ht.bounds(text, rows, question, assume=assume, cluster=np.arange(600))
    twice = {v: np.tile(x, 2) for v, x in rows.items()}
    copies = ht.bounds(text, twice, question, assume=assume, cluster=np.tile(np.arange(600), 2))
    assert one.pieces == plain.pieces
    assert one.interval == pytest.approx(plain.interval, abs=0.1 * (plain.high - plain.low))
    assert copies.interval == pytest.approx(one.interval, abs=0.02 * (plain.high - plain.low))


GROWTH = "i -> {p, q, r, s} [1]; c -> q [1]; c -> r [2]; c -> s [3]; x -> {i, c}; i <-> c"


def test_growth_curves_count_as_observed() -> None:
    """All loadings are known numbers, so that what nobody sees solves linear equations."""
    seen = ht.graph(GROWTH)
    names = seen.observed
    T, W = np.zeros((len(names),) * 2), np.eye(len(names))
    weights = {("x", "i"): 0.6, ("x", "c"): 0.3} | {("i", v): 1.0 for v in "pqrs"}
    for (u, v), w in (weights | {("c", "q"): 1.0, ("c", "r"): 2.0, ("c", "s"): 3.0}).items():
        T[names.index(u), names.index(v)] = w
    a, b = names.index("i"), names.index("c")
    W[a, b] = W[b, a] = 0.4
    model = CGLSCM(names, T, np.zeros((0, len(names))), np.zeros(len(names)), W, (), seen)
    data = rows_like(names, np.asarray(model.cov))
    shown = {v: column for v, column in data.items() if v not in "ic"}
    levels = "; intercept {p, q, r, s} [0]; intercept {i, c}"
    for text, assume in (("latent i, c; " + GROWTH, "abs(corr(x <-> c)) <= 0.2"),
                         ("latent i, c; " + GROWTH + levels, "abs(x <-> c) <= 0.3")):  # fmt: skip
        found = ht.bounds(text, shown, "x ~> c", assume=assume)
        wanted = ht.bounds(GROWTH, data, "x ~> c", assume=assume)
        assert np.array(found.pieces) == pytest.approx(np.array(wanted.pieces), abs=1e-5)
        assert found.certificate == "closed form"
    assert with_known_loadings(ht.graph("latent i, c; " + GROWTH)).keys() == {"i", "c"}
    assert not with_known_loadings(
        ht.graph("latent i, c; " + GROWTH.replace("[2]", "").replace("[3]", ""))
    )  # two items
    assert not with_known_loadings(ht.graph("latent i, c; " + GROWTH + "; p <-> q; q <-> r; r <-> s"))
    assert not with_known_loadings(ht.graph("latent i, c; i -> {p, q} [1]; c -> {p, q} [2]; x -> {i, c}"))  # one sum
