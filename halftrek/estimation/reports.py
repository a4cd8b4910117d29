"""How each district of a fit went, in words that a user can read."""

from __future__ import annotations

import numpy as np

from halftrek.estimation.district.piece import Piece
from halftrek.estimation.plan import PAD, Task
from halftrek.estimation.solve import Solution
from halftrek.estimation.status import Code, DistrictReport


def reports_of(names: tuple[str, ...], solution: Solution) -> tuple[DistrictReport, ...]:
    """One report for each district that is not a regression, in the order of the variables."""
    return tuple(
        _report(names, task, piece, rows.start) for task, rows, piece in sorted(solution.pieces, key=_by_first)
    )


def code_of(piece: Piece, i: int) -> Code:
    """The code of one member of a piece's batch."""
    if piece.ridge[i]:
        return "no finite maximum"
    if not piece.converged[i]:
        return "not converged"
    if piece.boundary[i]:
        return "boundary"
    return "flat" if piece.flat[i] else "converged"


def _by_first(item: tuple[Task, slice, Piece]) -> int:
    return item[0].variables[0]


def _report(names: tuple[str, ...], task: Task, piece: Piece, i: int) -> DistrictReport:
    code, runaway = code_of(piece, i), ""
    if code == "no finite maximum" and task.slots:
        a = int(np.abs(piece.t[i]).argmax())
        slot, member = task.slots[a], task.variables[task.shape.column[a]]
        runaway = (
            f"{names[slot]} -> {names[member]}" if PAD < slot < len(names) else f"the intercept of {names[member]}"
        )
    return DistrictReport(
        members=tuple(names[v] for v in task.variables),
        code=code,
        iterations=int(piece.iterations[i]),
        starts=int(piece.starts[i]),
        agreeing=int(piece.agreeing[i]),
        flat=int(piece.flat[i]),
        several=bool(piece.several[i]),
        runaway=runaway,
        deviance=float(piece.deviance[i]) if piece.deviance[i] == piece.deviance[i] else None,
        df=int(piece.df[i]),
    )
