"""pgmpy: a back-door set and linear regression if there is one, then front-door, then an instrument."""

from __future__ import annotations

from driver import Refusal, run


def answer(problem, path):
    import pandas as pd
    from pgmpy.base import DAG

    # estimators before inference: the other way round, the two import each other and IVEstimator cannot be called
    from pgmpy.estimators import IVEstimator  # isort: skip
    from pgmpy.inference import CausalInference  # isort: skip
    from pgmpy.models.SEM import SEMGraph

    edges, latents = [tuple(e) for e in problem["directed"]], set(problem["factors"])
    for k, (u, v) in enumerate(problem["bidirected"]):
        edges += [(f"U{k}", u), (f"U{k}", v)]
        latents.add(f"U{k}")
    edges += [(factor, v) for factor, kids in problem["factors"].items() for v in kids]
    data = pd.read_csv(path)
    cause, effect = problem["cause"], problem["effect"]
    inference = CausalInference(DAG(edges, latents=latents))
    adjustable = inference.get_minimal_adjustment_set(cause, effect) is not None
    if adjustable or any("door" in way for way in inference.identification_method(cause, effect)):
        return {"value": float(inference.estimate_ate(cause, effect, data))}
    if problem["factors"]:
        raise Refusal("finds no back-door or front-door set")
    arrows, arcs = ([tuple(e) for e in problem[kind]] for kind in ("directed", "bidirected"))
    model = SEMGraph(ebunch=arrows, latents=[], err_corr=arcs)
    inference = CausalInference(model)
    if not inference.get_ivs(cause, effect) and not inference.get_conditional_ivs(cause, effect):
        raise Refusal("finds no back-door or front-door set and no instrument")
    # its regressions have no intercept: they are for variables with mean zero, as its own models are
    return {"value": float(IVEstimator(model).fit(cause, effect, data - data.mean())[0])}


if __name__ == "__main__":
    run(answer)
