"""How the fit of a district came out, for each member of a batch."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from halftrek.bottom.arrays import Flags, Floats, Ints
from halftrek.estimation.district.doubt import is_doubtful
from halftrek.estimation.fast.alone import Found
from halftrek.estimation.fast.together import Ends
from halftrek.estimation.plan import Task


@dataclass(frozen=True, eq=False)
class Piece:
    """The solution for each member of the batch, and how it went.

    ``C`` has a row for every hidden cause of the task: those with loadings of their own, then those of two children.
    """

    t: Floats
    W: Floats
    C: Floats
    value: Floats
    iterations: Ints
    starts: Ints
    agreeing: Ints
    several: Flags  # equally good starts ended at different coefficients
    converged: Flags
    flat: Ints
    boundary: Flags
    ridge: Flags  # no maximum was reached, and the likelihood is almost flat in some direction
    deviance: Floats  # twice the log-likelihood by which it falls short of what the moments allow any model ...
    df: Ints  # ... and how many numbers it leaves unexplained

    @property
    def unexplained(self) -> Flags:
        """Where it falls short of the moments inside the parameter space, though no restriction explains that."""
        return np.asarray(is_doubtful(self.deviance, self.df) & (self.df == 0) & ~self.boundary)

    def with_rows(self, rows: Ints, other: Piece) -> Piece:
        """The piece with some members of the batch done again; the steps of both count."""
        new = {}
        for field in fields(self):
            new[field.name] = getattr(self, field.name).copy()  # several fields may be one array
            new[field.name][rows] = getattr(other, field.name)
        new["iterations"][rows] += self.iterations[rows]
        return Piece(**new)


_NO, _YES = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)
_NONE, _ONE = np.zeros(1, dtype=np.intp), np.ones(1, dtype=np.intp)


def piece_of(task: Task, found: Found, deviance: Floats, df: Ints) -> Piece:
    """The piece of a single data set that needed nothing special."""
    return Piece(
        t=found.t[None],
        W=found.W[None],
        C=np.zeros((1, len(task.pair_latents), task.shape.size)),
        value=np.array([found.value]),
        iterations=np.array([found.iterations]),
        starts=_ONE,
        agreeing=_ONE,
        several=_NO,
        converged=_YES,
        flat=_NONE,
        boundary=np.array([found.boundary]),
        ridge=_NO,
        deviance=deviance,
        df=df,
    )


def bunch_piece(ends: Ends, deviance: Floats, df: Ints) -> Piece:
    """The piece of all tasks of a bunch, with the padding; hidden causes are not in it."""
    b = len(ends.found)
    no, one = np.zeros(b, dtype=bool), np.ones(b, dtype=np.intp)
    return Piece(
        t=ends.t,
        W=ends.W,
        C=np.zeros((b, 0, ends.W.shape[1])),
        value=ends.value,
        iterations=ends.iterations,
        starts=one,
        agreeing=one,
        several=no,
        converged=ends.found,
        flat=np.zeros(b, dtype=np.intp),
        boundary=ends.boundary,
        ridge=no,
        deviance=deviance,
        df=df,
    )


def single_piece(task: Task, whole: Piece, i: int) -> Piece:
    """The piece of one task out of that of a bunch."""
    m, d = task.shape.slots, task.shape.size
    found = Found(
        whole.t[i, :m],
        whole.W[i, :d, :d].copy(),
        float(whole.value[i]),
        int(whole.iterations[i]),
        bool(whole.boundary[i]),
    )
    return piece_of(task, found, whole.deviance[i : i + 1], whole.df[i : i + 1])
