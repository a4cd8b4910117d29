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
    if problem["holes"]:
        data = data.dropna()  # it has no way with missing values
    cause, effect = problem["cause"], problem["effect"]
    inference = CausalInference(DAG(edges, latents=latents))
    adjustable = inference.get_minimal_adjustment_set(cause, effect) is not None
    if not adjustable and not any("door" in way for way in inference.identification_method(cause, effect)):
        return by_instrument(problem, data)
    return {"value": float(inference.estimate_ate(cause, effect, data))}


def by_instrument(problem, data):
    """Its two-stage regressor, told the instrument by its user; covariates would enter the second stage only."""
    from pgmpy.base import DAG
    from pgmpy.prediction import NaiveIVRegressor

    if not problem["instrument"] or problem["controls"]:
        raise Refusal("no back-door or front-door set, and no instrument that holds without covariates")
    cause, effect, instrument = problem["cause"], problem["effect"], problem["instrument"]
    roles = {"exposures": cause, "outcomes": effect, "instrument": instrument}
    model = NaiveIVRegressor(causal_graph=DAG([(instrument, cause), (cause, effect)], roles=roles))
    model.fit(data[[cause, instrument]], data[effect])
    return {"value": float(model.coef_[0])}


if __name__ == "__main__":
    run(answer)
