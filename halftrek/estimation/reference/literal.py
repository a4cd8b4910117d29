"""The paper's CGL-Go as a fit like any other."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.choices import Intercepts, Mask, Noise
from halftrek.data import Moments
from halftrek.errors import InputError
from halftrek.estimation.fit import Fitted, select
from halftrek.estimation.given.checks import refuse_dependent, well_posed
from halftrek.estimation.given.options import resolve_options
from halftrek.estimation.reference.cgl_go import MAX_ROUNDS, cgl_go
from halftrek.estimation.status import Status
from halftrek.graphs import Graph
from halftrek.models import CGLSCM
from halftrek.notes import note


def fit_literally(
    graph: Graph,
    moments: Moments,
    *,
    noise: Noise | None,
    mask: Mask,
    random_state: int,
    max_iter: int | None,
    intercepts: Intercepts,
) -> Fitted:
    """The fit by Algorithm 1; what it does not know is refused."""
    if noise not in (None, "unit"):
        raise InputError("method='cgl-go' is the paper's algorithm, which holds noise variances at 1: leave noise out")
    if intercepts != "free":
        raise InputError("method='cgl-go' estimates every intercept: leave intercepts out, or use method='em'")
    data = select(moments, graph)
    if not well_posed(data.cov[None], data.n)[0]:
        refuse_dependent(data, graph)
    found = cgl_go(graph, data, mask=mask, random_state=random_state, max_iter=max_iter or MAX_ROUNDS)
    names = graph.observed
    model = CGLSCM(names, found.T, found.C, found.mu, np.eye(len(names)), tuple(graph.latents), graph)
    if found.converged:
        status = Status("converged", (note("literal at rest"),))
    else:
        status = Status("not converged", (note("literal rounds ran out", rounds=found.iterations),))
    return Fitted(graph, data, model, found.loglik, status, (), "cgl-go", resolve_options(graph, "unit", "free"))
