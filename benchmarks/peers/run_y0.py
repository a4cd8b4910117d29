"""y0: its identification of P(y | do(x)) without linearity; its estimates want a binary treatment, and ananke."""

from __future__ import annotations

from itertools import combinations

from driver import Refusal, run


def graph_of(problem):
    from y0.graph import NxMixedGraph

    arcs = [tuple(e) for e in problem["bidirected"]]
    arcs += [pair for kids in problem["factors"].values() for pair in combinations(kids, 2)]
    return NxMixedGraph.from_str_edges(
        nodes=problem["names"], directed=[tuple(e) for e in problem["directed"]], undirected=arcs
    )


def answer(problem, path):
    from y0.algorithm.identify import identify_outcomes
    from y0.dsl import Variable

    cause, effect = Variable(problem["cause"]), Variable(problem["effect"])
    formula = identify_outcomes(graph_of(problem), treatments=cause, outcomes=effect)
    if formula is None:
        raise Refusal("not identified without linearity")
    if str(formula) != f"P({effect} | {cause})":
        return {"formula": str(formula)[:160]}
    import pandas as pd

    # what the formula says for a linear model: the slope of the regression
    data = pd.read_csv(path)[[problem["cause"], problem["effect"]]].cov().to_numpy()
    return {"formula": str(formula), "value": float(data[0, 1] / data[0, 0])}


if __name__ == "__main__":
    run(answer)
