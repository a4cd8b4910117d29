"""ID, IDC, adjustment and the front door, against discrete models with hidden causes that are summed out exactly."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings

from halftrek.errors import QueryError
from halftrek.graphs import Graph
from halftrek.graphs.independences.separation import Walks
from halftrek.identification import identify
from halftrek.identification.arrows.adjustment import adjustment_set, front_door_set
from halftrek.identification.arrows.estimand import Formula, Probability, Product, Ratio, Sum, as_text, free_variables
from halftrek.identification.arrows.named import Finding, from_the_arrows
from halftrek.identification.arrows.nonparametric import Hedge, id_formula, idc_formula
from halftrek.identification.local.jacobian import jacobian_test
from halftrek.queries.types import DirectEffect, Distribution, TotalEffect
from tests.graphs import random_graphs
from tests.identification.samples import graphs

FRONT_DOOR = Graph([("x", "m"), ("m", "y")], [("x", "y")])
NAPKIN = Graph([("w", "z"), ("z", "x"), ("x", "y")], [("w", "x"), ("w", "y")])


class BinaryModel:
    """Binary variables with random tables; every hidden cause and bidirected edge is a hidden fair coin or die."""

    def __init__(self, graph: Graph, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.graph, self.names = graph, graph.observed
        arcs = {f"arc{i}": pair for i, pair in enumerate(graph.bidirected)}
        self.hidden = {**arcs, **graph.latents}
        self.above = {
            v: [*graph.parents(v), *(u for u, kids in self.hidden.items() if v in kids)] for v in graph.observed
        }
        self.chance = {v: rng.uniform(0.1, 0.9, (2,) * len(self.above[v])) for v in graph.observed}

    def joint(self, do: Mapping[str, int]) -> np.ndarray:
        """P(observed | do) as a table over the observed variables."""
        table = np.zeros((2,) * len(self.names))
        for coins in product((0, 1), repeat=len(self.hidden)):
            hidden = dict(zip(self.hidden, coins, strict=True))
            for values in product((0, 1), repeat=len(self.names)):
                world = dict(zip(self.names, values, strict=True)) | hidden
                weight = 0.5 ** len(coins)
                for v in self.names:
                    one = self.chance[v][tuple(world[u] for u in self.above[v])]
                    weight *= float(world[v] == do[v]) if v in do else (one if world[v] else 1 - one)
                table[values] += weight
        return table


def marginal(table: np.ndarray, names: Sequence[str], values: Mapping[str, int]) -> float:
    return table[tuple(values.get(v, slice(None)) for v in names)].sum()


def evaluate(formula: Formula, table: np.ndarray, names: Sequence[str], values: dict[str, int]) -> float:
    """The formula at values of its free variables, from the observed table: the slow and literal way."""
    match formula:
        case Probability(variables, given):
            above = marginal(table, names, {v: values[v] for v in (*variables, *given)})
            return above / marginal(table, names, {v: values[v] for v in given})
        case Sum(over, body):
            worlds = (dict(zip(over, w, strict=True)) for w in product((0, 1), repeat=len(over)))
            return sum(evaluate(body, table, names, values | w) for w in worlds)
        case Product(factors):
            return float(np.prod([evaluate(f, table, names, values) for f in factors]))
        case Ratio(top, bottom):
            return evaluate(top, table, names, values) / evaluate(bottom, table, names, values)


def check_formula(
    graph: Graph,
    formula: Formula,
    outcomes: Sequence[str],
    do: Sequence[str],
    conditions: Sequence[str],
    seed: int = 0,
) -> None:
    model = BinaryModel(graph, seed)
    seen = model.joint({})
    for held in product((0, 1), repeat=len(do)):
        action = dict(zip(do, held, strict=True))
        after = model.joint(action)
        arbitrary = sorted(free_variables(formula) - {*outcomes, *do, *conditions})
        for rest in product((0, 1), repeat=len(outcomes) + len(conditions) + len(arbitrary)):
            values = action | dict(zip((*outcomes, *conditions, *arbitrary), rest, strict=True))
            given = action | {z: values[z] for z in conditions}
            truth = marginal(after, graph.observed, given | {y: values[y] for y in outcomes})
            truth /= marginal(after, graph.observed, given)
            assert np.isclose(evaluate(formula, seen, graph.observed, values), truth), as_text(formula)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs(most=4))
def test_every_formula_is_right_in_a_random_discrete_model(graph: Graph) -> None:
    assume(len(graph.bidirected) <= 4)
    for x, y in combinations(graph.observed, 2):
        found = from_the_arrows(graph, Distribution.after((y,), {x: None}))
        if isinstance(found, Finding):
            check_formula(graph, found.formula, (y,), (x,), ())
        formula = id_formula(graph, (y,), (x,))
        assert isinstance(formula, Hedge) == isinstance(found, Hedge)
        if not isinstance(formula, Hedge):
            check_formula(graph, formula, (y,), (x,), ())


@settings(deadline=None, max_examples=40, derandomize=True)
@given(graphs(most=4))
def test_conditional_and_joint_formulas_are_right(graph: Graph) -> None:
    assume(len(graph) >= 3)
    assume(len(graph.bidirected) <= 4)
    a, b, c = graph.observed[0], graph.observed[1], graph.observed[-1]
    checked = 0
    for y, x, z in ((c, a, b), (c, b, a), (b, a, c)):
        formula = idc_formula(graph, (y,), (x,), (z,))
        if not isinstance(formula, Hedge):
            check_formula(graph, formula, (y,), (x,), (z,))
            checked += 1
    for outcomes, do in (((c,), (a, b)), ((b, c), (a,))):
        formula = id_formula(graph, outcomes, do)
        if not isinstance(formula, Hedge):
            check_formula(graph, formula, outcomes, do, ())
            checked += 1
    assume(checked)


def connected(graph: Graph, names: Sequence[str]) -> bool:
    part = graph.induced(names)
    return len(part.districts) == 1


@settings(deadline=None, max_examples=80, derandomize=True)
@given(graphs(most=6))
def test_every_hedge_is_one(graph: Graph) -> None:
    """The definition of Shpitser and Pearl (2006), which proves that no formula exists."""
    found = [(x, y, id_formula(graph, (y,), (x,))) for x, y in combinations(graph.observed, 2)]
    hedges = [(x, y, hedge) for x, y, hedge in found if isinstance(hedge, Hedge)]
    assume(hedges)
    for x, y, hedge in hedges:
        rest = graph.induced([v for v in graph.observed if v != x])
        assert x in hedge.district
        assert x not in hedge.inner
        assert set(hedge.inner) <= set(hedge.district)
        assert set(hedge.inner) <= rest.ancestors(y)
        assert connected(graph, hedge.district)
        assert connected(graph, hedge.inner)
        assert graph.induced(hedge.district).ancestors(hedge.inner) == set(hedge.district)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(graphs(most=5))
def test_what_the_arrows_identify_the_jacobian_does_not_contradict(graph: Graph) -> None:
    queries = [Distribution.after((y,), {x: None}) for x, y in combinations(graph.observed, 2)]
    if len(graph) > 2:
        x, z, y = graph.observed[:3]
        queries.append(Distribution.after((y,), {x: None}, {z: None}))
    found = [query for query in queries if isinstance(from_the_arrows(graph, query), Finding)]
    assume(found)
    assert all(jacobian_test(graph, query) for query in found)


def test_a_bow_has_two_models_that_agree_on_what_is_seen() -> None:
    assert id_formula(Graph([("x", "y")], [("x", "y")]), "y", "x") == Hedge(("x", "y"), ("y",))


def test_front_doors() -> None:
    assert front_door_set(FRONT_DOOR, "x", "y") == ("m",)
    two = Graph([("x", "m"), ("x", "n"), ("m", "y"), ("n", "y")], [("x", "y")])
    assert front_door_set(two, "x", "y") == ("m", "n")
    assert front_door_set(Graph([*FRONT_DOOR.directed, ("x", "y")], FRONT_DOOR.bidirected), "x", "y") is None
    assert front_door_set(Graph(FRONT_DOOR.directed, [("x", "y"), ("x", "m")]), "x", "y") is None
    assert front_door_set(Graph(FRONT_DOOR.directed, [("x", "y"), ("m", "y")]), "x", "y") is None
    verdict = identify(FRONT_DOOR, Distribution.after(("y",), {"x": 1.0}))
    assert (verdict.method, verdict.scope) == ("front-door", "nonparametric")
    assert verdict.estimand == "Σ_m P(m | x) Σ_x' P(y | x', m) P(x')"
    assert verdict.latex == "\\sum_{m} P(m \\mid x) \\sum_{x'} P(y \\mid x', m) P(x')"


def test_back_doors_and_m_bias() -> None:
    graph = Graph([("w", "x"), ("w", "y"), ("x", "y")])
    verdict = identify(graph, Distribution.after(("y",), {"x": None}))
    assert (verdict.method, verdict.estimand) == ("back-door", "Σ_w P(y | x, w) P(w)")
    m_bias = Graph([("x", "y")], [("x", "m"), ("m", "y")])
    assert adjustment_set(m_bias, ("x",), ("y",)) == ()
    assert identify(m_bias, TotalEffect("x", "y")).estimand == "slope of x in the regression of y on x"


def test_the_napkin_needs_the_id_algorithm() -> None:
    verdict = identify(NAPKIN, Distribution.after(("y",), {"x": None}))
    assert (verdict.method, verdict.scope) == ("ID", "nonparametric")
    assert verdict.estimand == "[Σ_w P(y | w, z, x) P(x | w, z) P(w)] / [Σ_w P(x | w, z) P(w)]"
    assert "every value of z" in verdict.explain()
    assert verdict.recipe is not None


def test_without_linearity_an_instrument_does_not_help() -> None:
    graph = Graph([("z", "x"), ("x", "y")], [("x", "y")])
    query = Distribution.after(("y",), {"x": None})
    verdict = identify(graph, query, scope="nonparametric")
    assert verdict.status == "not identified"
    assert verdict.hedge == Hedge(("x", "y"), ("y",))
    assert "hedge" in verdict.explain(details=True)
    assert identify(graph, query).identified
    assert identify(graph, query).scope == "linear"


def test_coefficients_mean_nothing_without_linearity() -> None:
    with pytest.raises(QueryError, match="linear equations"):
        identify(FRONT_DOOR, DirectEffect("m", "y"), scope="nonparametric")


def test_a_variable_without_a_path_is_not_changed() -> None:
    verdict = identify(FRONT_DOOR, Distribution.after(("x",), {"y": None}))
    assert (verdict.method, verdict.estimand) == ("no path", "P(x)")


def slow_front_door_set(graph: Graph, cause: str, outcome: str, largest: int = 3) -> tuple[str, ...] | None:
    """Every set of clean mediators in turn, and every directed path walked for each."""
    down, up = graph.descendants(cause) - {cause}, graph.ancestors(outcome) - {outcome}
    clean = [
        m
        for m in graph.topological_order
        if m in down & up and Walks(graph, [(cause, v) for v in graph.children(cause)]).separated((cause,), (m,), ())
    ]
    for size in range(1, min(largest, len(clean)) + 1):
        for chosen in combinations(clean, size):
            left = [(u, v) for u, v in graph.directed if u not in chosen and v not in chosen]
            if outcome in Graph(left, observed=graph.observed).descendants(cause):
                continue
            out = [(u, v) for u in chosen for v in graph.children(u)]
            if Walks(graph, out).separated(chosen, (outcome,), (cause,)):
                return chosen
    return None


@random_graphs.quick
@given(random_graphs.graphs("abcdefgh", latents=1, smallest=4))
def test_front_doors_are_those_of_a_plain_search(graph: Graph) -> None:
    cause, outcome = graph.topological_order[0], graph.topological_order[-1]
    assert front_door_set(graph, cause, outcome) == slow_front_door_set(graph, cause, outcome)
    sparse = Graph(graph.directed[::2], graph.bidirected[:2], observed=graph.observed)
    for outcome in sparse.descendants(cause) - {cause}:
        assert front_door_set(sparse, cause, outcome) == slow_front_door_set(sparse, cause, outcome)
