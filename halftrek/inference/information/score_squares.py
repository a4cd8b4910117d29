"""How the scores of all parameters vary together: with it the sandwich errors of any number of effects at once.

A row moves a number by ``-g' I^+ s`` with s its score, so that the variance is ``g' I^+ M I^+ g`` with ``M = E[s s']``,
which one pass over the rows gives for all numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from halftrek.arrays import Floats
from halftrek.estimation import Fitted
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.influence import Forms, informed, score_forms
from halftrek.inference.information.information import LEAK, DistrictInformation, district_information
from halftrek.inference.information.robust import cluster_correction, contributions

Squares = Callable[[Fitted, Sequence[Forms]], Floats]  # M, over the scores of all districts one after the other


def sandwich_errors(fit: Fitted, pieces: Iterable[EdgeSlopes], squares: Squares) -> Iterator[Floats]:
    """Standard errors of numbers with these gradients, a piece at a time; nan where data do not determine them."""
    place = {v: i for i, v in enumerate(fit.model.names)}
    touching = np.zeros(len(place), dtype=bool)
    touching[[place[v] for _, v in fit.graph.directed]] = True
    blocks = list(district_information(fit, "observed", touching=touching))
    known = [informed(block) for block in blocks]
    M = squares(fit, [score_forms(fit, block, np.eye(len(block.matrix))) for block in blocks])
    for piece in pieces:
        parts = [_directions(block, *told, piece.pulled(block)) for block, told in zip(blocks, known, strict=True)]
        along = np.concatenate([np.zeros((len(piece), 0)), *parts], axis=1)
        yield np.sqrt(np.maximum(np.einsum("ka,ka->k", along @ M, along), 0.0) / fit.n)


def _directions(block: DistrictInformation, determined: Floats, flat: Floats, pulled: Floats) -> Floats:
    """``I^+ g`` for several g, one a line; nan where one needs what data do not determine."""
    found = np.zeros_like(pulled)
    some = pulled.any(axis=1)
    if not some.any():
        return found
    along, lost = pulled[some] @ determined, np.abs(pulled[some] @ flat).max(axis=1, initial=0.0)
    inner = determined.T @ block.matrix @ determined
    if np.linalg.eigvalsh(inner)[0] <= 0.0:  # not at a maximum
        found[some] = np.nan
        return found
    told = np.linalg.solve(inner, along.T).T @ determined.T
    largest = np.maximum(np.abs(along).max(axis=1, initial=0.0), lost)
    found[some] = np.where((lost > LEAK * largest)[:, None], np.nan, told)
    return found


def row_squares(fit: Fitted, forms: Sequence[Forms]) -> Floats:
    """From the rows, or the clusters."""
    size = sum(map(len, forms))
    total = np.zeros((size, size))
    for values, weights in contributions(fit, forms):
        weighted = values if weights is None else values * np.sqrt(weights)[:, None]
        total += weighted.T @ weighted
        if fit.rows is not None and fit.rows.cluster is not None:
            total *= cluster_correction(len(values))  # clusters come all at once
    return total / fit.n


def normal_squares(fit: Fitted, forms: Sequence[Forms]) -> Floats:
    """From moments alone: of normal rows whose covariance is that of the data."""
    ends = np.cumsum([0, *map(len, forms)])
    total = np.zeros((ends[-1], ends[-1]))
    for i, one in enumerate(forms):
        for j, other in enumerate(forms[: i + 1]):
            S = fit.moments.cov[np.ix_(one.at, other.at)]
            left, right = one.square @ S, (other.square @ S.T).transpose(0, 2, 1)
            part = 2.0 * left.reshape(len(one), -1) @ right.reshape(len(other), -1).T
            part += one.linear @ S @ other.linear.T
            total[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = part
            total[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = part.T
    return total
