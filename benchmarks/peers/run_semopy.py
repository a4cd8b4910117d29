"""semopy: a model in lavaan-like text, maximum likelihood, with means where values are missing.

Hidden causes as covariances want ``mimic_lavaan=True``: by default outcomes are treated as indicators, and what a cause
shares with one of them does not reach what that cause changes. semopy has no syntax for effects that are products of
coefficients: they are multiplied here, and only an effect that is one edge has a standard error. It has no bootstrap
interval either.
"""

from __future__ import annotations

import io
import logging
import sys
from itertools import combinations

from driver import run, total_effect


def text_of(problem, hidden="covariance"):
    """A hidden cause of two variables as their covariance (``~~``) or as a latent variable (``=~``)."""
    lines = []
    for v in problem["names"]:
        causes = [u for u, w in problem["directed"] if w == v]
        if causes:
            lines.append(f"{v} ~ {' + '.join(causes)}")
    for factor, kids in problem["factors"].items():
        lines.append(f"{factor} =~ {' + '.join(kids)}")
    for k, (u, v) in enumerate(problem["bidirected"]):
        lines.append(f"{u} ~~ c{k}*{v}" if hidden == "covariance" else f"U{k} =~ {u} + {v}")
    if hidden == "latent":  # latent variables covary unless it is said that they do not
        lines += [f"U{j} ~~ 0*U{k}" for j, k in combinations(range(len(problem["bidirected"])), 2)]
    elif problem["bidirected"]:  # the napkin's default starting values have no finite likelihood
        lines.append(f"START(0.1) {' '.join(f'c{k}' for k in range(len(problem['bidirected'])))}")
    return "\n".join(lines)


def alone(problem):
    """Variables that have neither causes nor effects: a model has them only by their means, or by an effect of zero."""
    placed = {v for kids in (*problem["directed"], *problem["factors"].values()) for v in kids}
    return [v for v in problem["names"] if v not in placed]


def answer(problem, path):
    import pandas as pd
    import semopy

    said = io.StringIO()
    logging.basicConfig(stream=said, force=True)
    hidden = sys.argv[3] if len(sys.argv) > 3 else "covariance"
    unplaced = alone(problem) if hidden == "covariance" else []
    # with missing values the model with means: the plain model's FIML centres by the observed means, which are off
    kind = semopy.ModelMeans if problem["holes"] or unplaced else semopy.Model
    text = "\n".join([text_of(problem, hidden), *(f"{v} ~ 1" for v in unplaced)])
    model = kind(text, mimic_lavaan=hidden == "covariance")
    solved = model.fit(pd.read_csv(path))
    table = model.inspect()
    rows = table[table["op"] == "~"]
    weights = {(r["rval"], r["lval"]): float(r["Estimate"]) for _, r in rows.iterrows()}
    notes = [said.getvalue().replace("WARNING:root:", "").strip()] + ([] if solved.success else [str(solved.message)])
    found = {"value": total_effect(problem, weights), "warning": "; ".join(filter(None, notes))[:160]}
    if len(problem["paths"]) == 1 and len(problem["paths"][0]) == 2:
        cause, effect = problem["paths"][0]
        row = rows[(rows["lval"] == effect) & (rows["rval"] == cause)].iloc[0]
        se = float(row["Std. Err"]) if row["Std. Err"] != "-" else float("nan")
        if se == se:
            found.update(low=found["value"] - 1.959964 * se, high=found["value"] + 1.959964 * se)
    return found


def timed(problem, folder, variant):
    import pandas as pd
    import semopy

    cov, text, n = pd.read_csv(folder / "cov.csv"), text_of(problem), problem["rows"]
    cov.index = cov.columns
    first = problem["directed"][0][0]
    text = "\n".join([text, *(f"{v} ~ 0*{first}" for v in alone(problem))])

    def call():
        model = semopy.Model(text, mimic_lavaan=True)
        model.fit(cov=cov, n_samples=n)
        if variant == "standard errors":
            model.inspect()

    return call


if __name__ == "__main__":
    run(answer, timed)
