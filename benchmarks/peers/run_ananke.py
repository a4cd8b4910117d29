"""ananke-causal: its linear Gaussian model of a mixed graph, fitted by residual iterative conditional fitting.

Its other estimators are for binary treatments. No intervals for the linear model. The linear model does not ask whether
the effect is identified; its algorithm for models of any form does, and what that says is taken as a warning.
"""

from __future__ import annotations

from itertools import combinations

from driver import run


def graph_of(problem):
    from ananke.graphs import ADMG

    arcs = [tuple(e) for e in problem["bidirected"]]
    arcs += [pair for kids in problem["factors"].values() for pair in combinations(kids, 2)]
    return ADMG(vertices=problem["names"], di_edges=[tuple(e) for e in problem["directed"]], bi_edges=arcs)


def model_of(problem):
    from ananke.models import LinearGaussianSEM

    return LinearGaussianSEM(graph_of(problem))


def answer(problem, path):
    import pandas as pd
    from ananke.identification import OneLineID

    data, ends = pd.read_csv(path), ([problem["cause"]], [problem["effect"]])
    found = {"value": float(model_of(problem).fit(data).total_effect(*ends))}
    if not OneLineID(graph_of(problem), *ends).id():
        found["warning"] = "OneLineID: not identified without linearity"
    return found


def timed(problem, folder, _variant):
    import pandas as pd

    data = pd.read_csv(folder / "data_0.csv")
    model_of(problem)  # its libraries take seconds to load
    return lambda: model_of(problem).fit(data)


if __name__ == "__main__":
    run(answer, timed)
