"""ananke-causal: its linear Gaussian model of a mixed graph, fitted by residual iterative conditional fitting.

Its other estimators are for binary treatments. No intervals for the linear model.
"""

from __future__ import annotations

from itertools import combinations

from driver import run


def model_of(problem):
    from ananke.graphs import ADMG
    from ananke.models import LinearGaussianSEM

    arcs = [tuple(e) for e in problem["bidirected"]]
    arcs += [pair for kids in problem["factors"].values() for pair in combinations(kids, 2)]
    graph = ADMG(vertices=problem["names"], di_edges=[tuple(e) for e in problem["directed"]], bi_edges=arcs)
    return LinearGaussianSEM(graph)


def answer(problem, path):
    import pandas as pd

    data = pd.read_csv(path)
    model = model_of(problem).fit(data)
    return {"value": float(model.total_effect([problem["cause"]], [problem["effect"]]))}


def timed(problem, folder, variant):
    import pandas as pd

    data = pd.read_csv(folder / "data_0.csv")
    model_of(problem)  # its libraries take seconds to load
    return lambda: model_of(problem).fit(data)


if __name__ == "__main__":
    run(answer, timed)
