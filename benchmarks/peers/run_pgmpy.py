"""pgmpy: a back-door set and linear regression if there is one, then front-door, then an instrument."""

from __future__ import annotations

from driver import Refusal, run


def answer(problem, path):
    import pandas as pd
    from pgmpy.base import DAG
    from pgmpy.inference import CausalInference

    edges, latents = [tuple(e) for e in problem["directed"]], set(problem["factors"])
    for k, (u, v) in enumerate(problem["bidirected"]):
        edges += [(f"U{k}", u), (f"U{k}", v)]
        latents.add(f"U{k}")
    edges += [(factor, v) for factor, kids in problem["factors"].items() for v in kids]
    data = pd.read_csv(path)
    cause, effect = problem["cause"], problem["effect"]
    inference = CausalInference(DAG(edges, latents=latents))
    adjustable = inference.get_minimal_adjustment_set(cause, effect) is not None
    if not adjustable and not any("door" in way for way in inference.identification_method(cause, effect)):
        return by_instrument(problem, data)
    return {"value": float(inference.estimate_ate(cause, effect, data))}


def by_instrument(problem, data):
    """Its estimator for instruments that it finds itself; failing that, its two-stage regressor for a plain one."""
    from pgmpy.base import DAG
    from pgmpy.estimators import IVEstimator
    from pgmpy.inference import CausalInference
    from pgmpy.models.SEM import SEMGraph
    from pgmpy.prediction import NaiveIVRegressor

    cause, effect = problem["cause"], problem["effect"]
    if problem["factors"]:
        raise Refusal("finds no back-door or front-door set")
    arrows, arcs = ([tuple(e) for e in problem[kind]] for kind in ("directed", "bidirected"))
    model = SEMGraph(ebunch=arrows, latents=[], err_corr=arcs)
    plain = CausalInference(model).get_ivs(cause, effect)
    if not plain and not CausalInference(model).get_conditional_ivs(cause, effect):
        raise Refusal("finds no back-door or front-door set and no instrument")
    if not plain:
        return {"value": float(IVEstimator(model).fit(cause, effect, data)[0])}
    (instrument,) = plain
    roles = {"exposures": cause, "outcomes": effect, "instrument": instrument}
    regressor = NaiveIVRegressor(causal_graph=DAG([(instrument, cause), (cause, effect)], roles=roles))
    regressor.fit(data[[cause, instrument]], data[effect])
    return {"value": float(regressor.coef_[0])}


if __name__ == "__main__":
    run(answer)
