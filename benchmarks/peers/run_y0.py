"""y0: its formula for P(y | do(x)) without linearity, and its single-door regressions for linear models.

The regressions want pgmpy before version 1; with a newer one there is the formula alone. Its other estimates are
ananke's, for binary treatments.
"""

from __future__ import annotations

from itertools import combinations

from driver import Refusal, run, total_effect


def graph_of(problem):
    from y0.graph import NxMixedGraph

    arcs = [tuple(e) for e in problem["bidirected"]]
    arcs += [pair for kids in problem["factors"].values() for pair in combinations(kids, 2)]
    return NxMixedGraph.from_str_edges(
        nodes=problem["names"], directed=[tuple(e) for e in problem["directed"]], undirected=arcs
    )


def by_single_doors(problem, graph, data):
    """The effect from regressions for each edge, or None where an edge has no single door."""
    from y0.algorithm.estimation.linear_scm import get_single_door

    try:
        weights = {(u.name, v.name): float(b) for (u, v), b in get_single_door(graph, data).items()}
        return total_effect(problem, weights)
    except (ImportError, KeyError):
        return None


def answer(problem, path):
    import pandas as pd
    from y0.algorithm.identify import identify_outcomes
    from y0.dsl import Variable

    cause, effect = Variable(problem["cause"]), Variable(problem["effect"])
    graph, data = graph_of(problem), pd.read_csv(path)
    formula = identify_outcomes(graph, treatments=cause, outcomes=effect)
    if formula is None:
        raise Refusal("not identified without linearity")
    found = {"formula": str(formula)[:160]}
    value = None if problem["holes"] else by_single_doors(problem, graph, data)
    if value is not None:
        return {"value": value}
    if str(formula) == f"P({effect} | {cause})":  # what that says for a linear model: the slope of the regression
        cov = data[[problem["cause"], problem["effect"]]].cov().to_numpy()
        found["value"] = float(cov[0, 1] / cov[0, 0])
    return found


if __name__ == "__main__":
    run(answer)
