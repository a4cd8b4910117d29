"""What makes saved columns in categories sound: their margins, the normal variables behind them, and what acts."""

from __future__ import annotations

import numpy as np

from halftrek.estimation.acts.fit import Acting
from halftrek.layer import Layer, Margin
from halftrek.storage.demands import covariance, finite, must, named, number, shaped


def sound_margin(margin: Margin) -> None:
    """Values in their order with their shares."""
    k = len(margin.values)
    shaped(margin.values, (k,), "values")
    shaped(margin.shares, (k,), "shares")
    finite(margin.values, "values")
    number(margin.mean, "the mean of a column")
    number(margin.sd, "the standard deviation of a column", above=0.0)
    must(margin.kind == "plain" or k > 1, "a column in categories has fewer than two values")
    must(bool((np.diff(margin.values) > 0.0).all()), "the values of a column are not in their order")
    must(k == 0 or bool((margin.shares > 0.0).all() and abs(margin.shares.sum() - 1.0) < 1e-9), "shares are no shares")
    for name, part, size in (("given_cuts", margin.given_cuts, k - 1), ("given_scores", margin.given_scores, k)):
        if part is not None:
            shaped(part, (size,), name)
            must(bool((np.diff(part) >= 0.0).all()), f"{name} are not in their order")


def sound_layer(layer: Layer) -> None:
    """One margin and one line of each matrix for each name."""
    p = len(layer.names)
    named(layer.names, "names")
    must(len(layer.margins) == p, "margins are not one for each name")
    for name in ("cov", "have", *(() if layer.spread is None else ("spread",))):
        shaped(getattr(layer, name), (p, p), name)
    if layer.moves is not None:
        most = max(2 if m.kind in ("plain", "ranked") else len(m.values) - 1 for m in layer.margins)
        wide = layer.moves.shape[-1]
        must(wide % 2 == 1 and wide > 2 * most, "moves have too few numbers")
        shaped(layer.moves, (p, p, wide), "moves")
        finite(layer.moves, "moves")
    must(layer.larger >= 1.0, "larger is less than 1")
    covariance(layer.cov, "cov")
    must(bool(((layer.have > 0.0) & (layer.have <= 1.0)).all()), "have holds what is no share of the rows")


def sound_acting(acting: Acting) -> None:
    """Parameters and their spread, units of the columns."""
    size = len(acting.theta)
    shaped(acting.theta, (size,), "theta")
    shaped(acting.spread, (size, size), "spread")
    finite(acting.theta, "theta")
    if acting.flat is not None:
        shaped(acting.flat, (len(acting.flat), size), "flat")
        finite(acting.flat, "flat")
    if acting.have is not None:
        shaped(acting.have, (len(acting.centre),), "have")
        must(bool(((acting.have > 0.0) & (acting.have <= 1.0)).all()), "have holds what is no share of the rows")
    shaped(acting.scale, (len(acting.centre),), "scale")
    must(bool((acting.scale > 0.0).all()), "a scale is not positive")
    number(acting.loglik, "the log-likelihood")
