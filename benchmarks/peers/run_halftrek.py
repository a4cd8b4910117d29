"""halftrek, used as its tutorial says."""

from __future__ import annotations

from itertools import count

from driver import Refusal, run


def graph_of(problem):
    from halftrek import Graph

    return Graph(problem["directed"], problem["bidirected"], problem["factors"], problem["names"])


def answer(problem, path):
    import halftrek as ht

    fit = ht.fit(graph_of(problem), path)
    try:
        found = fit.effect(problem["cause"], problem["effect"])
    except ht.NotIdentifiedError as error:
        raise Refusal(str(error)) from None
    low, high = found.interval
    notes = "; ".join(found.warnings)[:160]
    return {"value": float(found.value), "low": float(low), "high": float(high), "warning": notes}


def timed(problem, folder, variant):
    import numpy as np

    import halftrek as ht

    graph, n = graph_of(problem), problem["rows"]
    if variant == "bootstrap":
        table = np.loadtxt(folder / "data_0.csv", delimiter=",", skiprows=1)
        seeds = count()

        def drawn():  # a new fit and a new seed each time: what was drawn once is remembered
            fit = ht.fit(graph, table, names=problem["names"])
            ask = {"interval": "bootstrap", "replicates": problem["replicates"], "random_state": next(seeds)}
            return fit.effect(problem["cause"], problem["effect"], **ask)

        return drawn
    cov = np.loadtxt(folder / "cov.csv", delimiter=",", skiprows=1)
    # as R's peers are given a matrix with names, so this is given moments with names
    moments = ht.Moments(names=tuple(problem["names"]), n=n, mean=np.zeros(len(cov)), cov=cov)
    if variant == "fit":
        return lambda: ht.fit(graph, moments)
    if variant == "new graph":
        from halftrek.estimation.plan import remembered_plan

        def cold():
            remembered_plan.cache_clear()
            ht.fit(graph_of(problem), moments)

        return cold
    return lambda: ht.fit(graph, moments).params(as_frame=variant == "frame")


if __name__ == "__main__":
    run(answer, timed)
