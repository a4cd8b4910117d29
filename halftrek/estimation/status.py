"""How a fit ended, in words."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import numpy as np

from halftrek.estimation.district.doubt import is_doubtful
from halftrek.estimation.plan import PAD, Task
from halftrek.notes import Note, note
from halftrek.notes.words import Front
from halftrek.upward import Faces

if TYPE_CHECKING:
    from halftrek.estimation.district.piece import Piece
    from halftrek.estimation.solve import Solution

Code = Literal["converged", "boundary", "flat", "no finite maximum", "not converged"]

_SHORT: dict[str, str] = {
    "flat": "converged, not every parameter determined",
    "boundary": "converged, with a noise variance of zero",
    "no finite maximum": "no best value",
}
HEADS: dict[str, str] = {**_SHORT, "flat": "converged"}  # of the message; of other codes the code itself


@dataclass(frozen=True)
class Status(Faces):
    """The outcome of a fit: a code for programs, sentences for people, and the findings that these are made of.

    - ``converged``: a maximum inside the parameter space (a hidden cause of two counts as one covariance);
    - ``flat``: a maximum, but some parameters (not necessarily your question) are not determined;
    - ``boundary``: a maximum at which a noise variance is zero;
    - ``no finite maximum``: the likelihood keeps rising while a parameter runs off;
    - ``not converged``: the steps ran out.
    """

    code: Code
    notes: tuple[Note, ...] = ()

    @property
    def message(self) -> str:
        """How it ended, and what there is to know of it."""
        return self.words()

    def words(self, front: Front | None = None) -> str:
        """The message, in the words of a front."""
        return f"{HEADS.get(self.code, self.code)}: {self.findings(front)}" if self.notes else ""

    def findings(self, front: Front | None = None) -> str:
        """The same without its head: a sentence for each district that there is something to say of, and the rest."""
        sentences: list[str] = []
        for district, same in groupby(self.notes, lambda n: n.facts.get("who")):
            texts = dict.fromkeys(n.words(front) for n in same)
            sentences += texts if district is None else [_capital("; ".join(texts))]
        return ". ".join([*sentences[:1], *map(_capital, sentences[1:])]) + "."

    @property
    def converged(self) -> bool:
        """True if a maximum of the likelihood was reached."""
        return self.code in ("converged", "boundary", "flat")

    @property
    def short(self) -> str:
        """The code in words, for a line that has no room for sentences."""
        return _SHORT.get(self.code, self.code)

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class DistrictReport:
    """How the fit of one district went.

    ``deviance`` is twice the log-likelihood by which it falls short of what no model can exceed, on ``df`` degrees of
    freedom; None where that is not known.
    """

    members: tuple[str, ...]
    code: Code
    iterations: int
    starts: int
    agreeing: int
    flat: int = 0
    several: bool = False
    runaway: str = ""
    deviance: float | None = None
    df: int = 0

    @property
    def certain(self) -> bool:
        """True if no model has a higher likelihood, so that this is the maximum whatever the others are."""
        return self.deviance == 0.0

    @property
    def doubtful(self) -> bool:
        """True if the likelihood falls further short of what the moments allow than it should in a true graph."""
        return self.deviance is not None and bool(is_doubtful(self.deviance, self.df))

    @property
    def unexplained(self) -> bool:
        """True if it falls short of the moments though the graph restricts nothing that would explain it."""
        return self.doubtful and self.df == 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """What there is to say of this district; nothing if all went well."""
        notes = list(self.warnings)
        if self.flat and self.code in ("flat", "boundary"):
            notes.append(note("not determined", who=self._who, many=self.flat))
        if self.several:
            notes.append(note("several solutions", who=self._who))
        return tuple(notes)

    @property
    def _who(self) -> str:
        return ", ".join(self.members[:6]) + (", ..." if len(self.members) > 6 else "")

    @property
    def warnings(self) -> tuple[Note, ...]:
        """What to know before trusting even an identified answer that involves this district."""
        who = self._who
        notes = []
        if self.code == "not converged":
            notes.append(note("steps ran out", who=who, iterations=self.iterations))
        if self.code == "no finite maximum":
            notes.append(note("no finite maximum", who=who, runaway=self.runaway or "a parameter"))
        if self.code == "boundary":
            notes.append(note("boundary", who=who))
        found = self.code in ("converged", "flat", "boundary")
        if found and self.starts > 1 and 2 * self.agreeing < self.starts and not self.several and not self.certain:
            notes.append(note("several peaks", who=who, agreeing=self.agreeing, starts=self.starts))
        if found and self.unexplained:
            notes.append(note("maximum missed", who=who, lost=(self.deviance or 0.0) / 2.0))
        return tuple(notes)


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


WORSE: tuple[Code, ...] = ("converged", "flat", "boundary", "no finite maximum", "not converged")  # and worse


def overall(reports: Sequence[DistrictReport]) -> Status:
    """The status of a whole fit: the worst code, every finding."""
    code: Code = max((r.code for r in reports), key=WORSE.index, default="converged")
    return Status(code, tuple(n for r in reports for n in r.notes) or (note("at the maximum"),))


def incomplete(inner: Status, converged: bool, undetermined: int, apart: Sequence[tuple[str, str]]) -> Status:
    """The status of a fit with missing values, from that of its last inner fit."""
    code, notes = inner.code, inner.notes
    if not converged and inner.converged:
        code, notes = "not converged", (note("steps ran out, observed values"),)
    if undetermined > 0 and converged:
        code = max(code, "flat", key=WORSE.index)
        notes += (note("not determined, observed values"),)
    if apart:
        u, v = apart[0]
        others = len(apart) - 1
        pair = (
            note("pairs apart", first=u, second=v, others=others) if others else note("pair apart", first=u, second=v)
        )
        notes += (pair,)
    return Status(code, notes)


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def troubles(
    status: Status, reports: Sequence[DistrictReport], involved: Container[str] | None = None
) -> tuple[Note, ...]:
    """What went wrong in the fit where the variables in question are involved (left out: anywhere)."""
    found = [n for r in reports if involved is None or any(v in involved for v in r.members) for n in r.warnings]
    if not status.converged and not any(r.warnings for r in reports):
        found.append(note("no maximum", status=status.message, code=status.code))
    return tuple(found)
