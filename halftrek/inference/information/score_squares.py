"""How the scores of all parameters vary together: with it the sandwich errors of any number of effects at once.

A row moves a number by ``-g' I^+ s`` with s its score, so that the variance is ``g' I^+ M I^+ g`` with ``M = E[s s']``,
which one pass over the rows gives for all numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.fourth_moments import unit_products
from halftrek.inference.information.influence import Forms, informed, score_forms
from halftrek.inference.information.information import LEAK, DistrictInformation, district_information
from halftrek.inference.information.robust import cluster_correction

Squares = Callable[[Fitted, Sequence[Forms]], Floats]  # M, over the scores of all districts one after the other


def sandwich_errors(fit: Fitted, pieces: Iterable[EdgeSlopes], squares: Squares) -> Iterator[Floats]:
    """Standard errors of numbers with these gradients, a piece at a time; nan where data do not determine them."""
    place = {v: i for i, v in enumerate(fit.model.names)}
    touching = np.zeros(len(place), dtype=bool)
    touching[[place[v] for _, v in fit.graph.directed]] = True
    blocks = list(district_information(fit, "observed", touching=touching))
    M = squares(fit, [score_forms(fit, block, np.eye(len(block.matrix))) for block in blocks])
    bread, flat = None, []
    for piece in pieces:
        if bread is None:  # the same for all pieces: how the scores move with the slope of each edge
            edges = EdgeSlopes(np.eye(len(piece.tails)), piece.tails, piece.heads, piece.size)
            replies = [_Reply.of(block, edges.pulled(block)) for block in blocks]
            moves = np.concatenate([np.zeros((len(edges), 0)), *(reply.moves for reply in replies)], axis=1)
            bread, flat = moves @ M @ moves.T, [reply for reply in replies if reply.open]
        errors = np.sqrt(np.maximum(np.einsum("ka,ka->k", piece.values @ bread, piece.values), 0.0) / fit.n)
        for reply in flat:
            errors[reply.lost(piece.values)] = np.nan
        yield errors


@dataclass(frozen=True, eq=False)
class _Reply:
    """How a district's parameters answer to the slope of each edge: ``I^+ g``, a line for each.

    ``along`` and ``across`` are the shares of the slopes in what data determine and in what they do not; ``peak`` says
    whether the fit is at a maximum there.
    """

    moves: Floats
    along: Floats
    across: Floats
    peak: bool

    @staticmethod
    def of(block: DistrictInformation, pulled: Floats) -> _Reply:
        determined, flat = informed(block)
        along = pulled @ determined
        inner = determined.T @ block.matrix @ determined
        peak = not len(inner) or bool(np.linalg.eigvalsh(inner)[0] > 0.0)
        moves = np.linalg.solve(inner, along.T).T @ determined.T if peak else np.zeros_like(pulled)
        return _Reply(moves, along, pulled @ flat, peak)

    @property
    def open(self) -> bool:
        """True if some slopes may need what data do not determine."""
        return not self.peak or bool(self.across.any())

    def lost(self, values: Floats) -> Flags:
        """Which numbers need it."""
        along = np.abs(values @ self.along).max(axis=1, initial=0.0)
        across = np.abs(values @ self.across).max(axis=1, initial=0.0)
        touched = np.maximum(along, across) > 0.0
        return np.asarray(touched & (across > LEAK * np.maximum(along, across)) if self.peak else touched)


def row_squares(fit: Fitted, forms: Sequence[Forms]) -> Floats:
    """From the rows, or the clusters."""
    total, units = unit_products(fit, forms)
    clustered = fit.rows is not None and fit.rows.cluster is not None
    return total * (cluster_correction(int(units)) if clustered else 1.0) / fit.n


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
