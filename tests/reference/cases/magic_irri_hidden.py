"""Makes magic_irri_hidden.json: python magic_irri_hidden.py magic-irri.json (as in the wheel of pgmpy 1.1.2).

The network MAGIC-IRRI of the bnlearn repository (64 rice genes and traits), 1,000 rows drawn from it. Roots with three
or more children are hidden. Kept are the variables of the two districts that this makes, and their causes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

SEED, ROWS = 20240607, 1000


def main() -> None:
    network = json.loads(Path(sys.argv[1]).read_text())
    names = network["nodes"]
    place = {v: i for i, v in enumerate(names)}
    T, mu, noise = np.zeros((len(names), len(names))), np.zeros(len(names)), np.zeros(len(names))
    for v, cpd in network["cpds"].items():
        mu[place[v]], noise[place[v]] = cpd["coefficients"]["(Intercept)"][0], cpd["variance"][0]
        for u in cpd["parents"]:
            T[place[u], place[v]] = cpd["coefficients"][u][0]
    errors = np.random.default_rng(SEED).standard_normal((ROWS, len(names))) * np.sqrt(noise)
    rows = (errors + mu) @ np.linalg.inv(np.eye(len(names)) - T)
    children = {v: [w for w in names if T[place[v], place[w]]] for v in names}
    hidden = {v: children[v] for v in names if not T[:, place[v]].any() and len(children[v]) >= 3}
    members = {w for kids in hidden.values() for w in kids}
    arrows = [(u, v) for v in names if v in members for u in names if T[place[u], place[v]] and u not in hidden]
    kept = [v for v in names if v in members or any(v == u for u, _ in arrows)]
    cov = np.cov(rows[:, [place[v] for v in kept]].T, ddof=0)
    case = {
        "case": "magic_irri_hidden",
        "source": "bnlearn Bayesian network repository (CC BY-SA 3.0), Gaussian networks: MAGIC-IRRI, as shipped in "
        "pgmpy 1.1.2 (MIT); rows drawn by magic_irri_hidden.py",
        "graph": {
            "observed": kept,
            "directed": arrows,
            "latents": [{"name": u, "children": kids} for u, kids in hidden.items()],
        },
        "n": ROWS,
        "covariance": [[float(f"{x:.9g}") for x in row[: i + 1]] for i, row in enumerate(cov)],
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(case) + "\n")


if __name__ == "__main__":
    main()
