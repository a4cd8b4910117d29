"""Standard errors of very many answers, each for itself: sums of squares over districts, no factor of them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.estimation import Fitted
from halftrek.estimation.plan import make_plan
from halftrek.inference.evidence.evidence import PLENTY, equation_sizes, student_quantile
from halftrek.inference.how import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.information.edge_slopes import EdgeSlopes
from halftrek.inference.information.information import DistrictInformation, Kind, district_information
from halftrek.inference.standard_errors.factor import Piece, leaks, refused, resolved, suited_factor


@dataclass(frozen=True, eq=False)
class _Squares:
    """Squared errors for large samples, with residual degrees of freedom, these with quantiles of t; what is lost."""

    plain: Floats
    grown: Floats
    far: Floats
    lost: Flags


@dataclass(frozen=True, eq=False)
class _Districts:
    """The information of all districts, by how much errors of each grow, and its quantiles of t."""

    blocks: list[DistrictInformation]
    growth: Floats
    quantile: Floats

    @staticmethod
    def of(fit: Fitted, information: Kind, level: float) -> _Districts:
        sizes = equation_sizes(make_plan(fit.graph, fit.model.names, fit.options))
        blocks = list(district_information(fit, information))
        left = np.array([fit.n - sizes[block.task.variables] for block in blocks])
        with np.errstate(divide="ignore"):
            growth = np.where(left > 0.0, fit.n / np.maximum(left, 1e-300), np.inf)
        return _Districts(blocks, growth, student_quantile(level, left) ** 2)

    def squares(self, piece: EdgeSlopes, n: float) -> _Squares:
        """What the districts add up to."""
        found = np.zeros((3, len(piece)))
        lost = np.zeros(len(piece), dtype=bool)
        for block, growth, quantile in zip(self.blocks, self.growth, self.quantile, strict=True):
            pulled = piece.pulled(block)
            some = np.flatnonzero(pulled.any(axis=1))
            if not len(some):
                continue
            inside, unknown, whole = resolved(block, pulled[some])
            lost[some] |= leaks(unknown, whole)
            own = (inside**2).sum(axis=1) / n
            some, own = some[own > 0.0], own[own > 0.0]  # nothing of what is infinite is nothing
            found[:, some] += np.stack([own, own * growth, own * growth * quantile])
        return _Squares(found[0], found[1], found[2], lost)


def separate_lengths(fit: Fitted, pieces: Iterable[Piece], how: How) -> tuple[Floats, Floats]:
    """Standard errors of answers and how far their intervals reach, a piece at a time: not how they vary together."""
    errors, reaches = zip(*_lengths(fit, pieces, how), strict=True)
    return np.concatenate(errors), np.concatenate(reaches)


def _lengths(fit: Fitted, pieces: Iterable[Piece], how: How) -> Iterator[tuple[Floats, Floats]]:
    from halftrek.inference.intervals import kind_of

    if how.interval is not None and not kind_of(how).in_tables:
        raise refused(how)
    if how.interval not in (None, "delta", "t"):
        yield from kind_of(how).lengths(fit, pieces, how)
        return
    by_district = kind_of_data(fit).by_district
    districts: dict[Kind, _Districts] = {}
    for piece in pieces:
        if by_district and isinstance(piece, EdgeSlopes):
            yield _of_piece(fit, piece, how, districts)
        elif how.interval is None:
            factor = suited_factor(fit, piece, how, together=False)
            yield factor.errors(), factor.reaches()
        else:
            yield from kind_of(how).lengths(fit, [piece], how)


def _of_piece(fit: Fitted, piece: EdgeSlopes, how: How, districts: dict[Kind, _Districts]) -> tuple[Floats, Floats]:
    """For large samples where rows are plenty, by Student's t where they are few, answer by answer."""

    def squares(kind: Kind) -> _Squares:
        if kind not in districts:
            districts[kind] = _Districts.of(fit, kind, how.level)
        return districts[kind].squares(piece, fit.n)

    few, careful = np.ones(len(piece), dtype=bool), None
    usual = None if how.interval == "t" else squares(how.information or "expected")
    if usual is None:
        careful = squares("observed")
    elif how.interval == "delta":
        few[:] = False
    else:
        far, near = np.sqrt(usual.far), np.sqrt(usual.plain) * how.quantile
        with np.errstate(divide="ignore", invalid="ignore"):
            few = np.asarray(np.where(near > 0.0, far / near, 1.0) >= PLENTY)
        careful = squares("observed") if few.any() else None
    errors, reaches = np.zeros(len(piece)), np.zeros(len(piece))
    for chosen, found in ((few, careful), (~few, usual)):
        if found is None:
            continue
        student = found is careful
        error = np.sqrt(found.grown if student else found.plain)
        reach = np.sqrt(found.far) if student else how.quantile * error
        errors[chosen] = np.where(found.lost, np.nan, error)[chosen]
        reaches[chosen] = np.where(found.lost, np.nan, reach)[chosen]
    return errors, reaches
