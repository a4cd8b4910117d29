"""Which parameters does a graph leave open where categories act, and with them the units of a column in categories?

The unit of such a column is the standard deviation of its error. Where data leave that open, as when a hidden cause is
shared with one of its own causes, an effect in this unit is no number, though risks are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.estimation.acts.ranks import mixed_ranks
from halftrek.inference.evidence.layered import leaves_of, middle
from halftrek.inference.kept import kept
from halftrek.inference.tables.parameter import UNDETERMINED, Parameter
from halftrek.inference.tables.parameters import parameter_rows
from halftrek.queries import ErrorCovariance, Query, variables_of
from halftrek.queries.kinds.effects import EFFECTS, ends_of


@kept
def _open(fit: Fitted) -> frozenset[tuple[str, str, str]]:
    """The parameters that covariances leave open."""
    return frozenset((r.lhs, r.op, r.rhs) for r in parameter_rows(fit, interval="delta") if isnan(r.est))


def open_units(fit: Fitted) -> frozenset[str]:
    """Columns in categories whose unit data do not determine."""
    margins = {} if fit.acting is None else fit.acting.margins
    return frozenset(v for v, m in margins.items() if m.cut and (v, "~~", v) in _open(fit))


@kept
def unplaced(fit: Fitted) -> dict[str, str]:
    """Columns that have to do with a ranked one on which a category acts while the graph leaves its equation open.

    Its equation says where it is behind its ranks, so that nothing is known there either, and about what it is fitted
    with: what shares hidden causes with it or comes after it. Each has the name of the ranked column.
    """
    graph, found = fit.graph, dict[str, str]()
    for v in mixed_ranks(graph, {} if fit.acting is None else fit.acting.margins):
        if any(v == lhs or (op == "~~" and v == rhs) for lhs, op, rhs in _open(fit)):
            near = next(names for names in graph.districts if v in names)
            found = dict.fromkeys((*near, *graph.descendants(v)), v) | found
    return found


def refuse_open_units(fit: Fitted, query: Query) -> None:
    """Raise QueryError for what data do not determine: an effect, or a covariance of errors, in a unit that is open."""
    if lost_by := [v for v in variables_of(query) if v in unplaced(fit)]:
        ranked = unplaced(fit)[lost_by[0]]
        raise QueryError(
            f"{query}: {ranked} is ranked and a category acts on it, and data do not determine its equation, which "
            f"would say where it is behind its ranks. Find an instrument, or cut {ranked} into up to twelve groups of "
            f"equal size and say kinds={{{ranked!r}: 'ordered'}} ('behind' if it has effects)"
        )
    lost = open_units(fit)
    for leaf in leaves_of(query) if lost else ():
        ends: tuple[str, ...] = ends_of(leaf) if isinstance(leaf, EFFECTS) else ()
        ends = (leaf.first, leaf.second) if isinstance(leaf, ErrorCovariance) else ends
        for v in ends:
            if v in lost and fit.acting is not None and (v != ends[0] or fit.acting.margins[v].kind != "acts"):
                event = f"{v} > {middle(fit.acting.margins[v]):g}"
                raise QueryError(
                    f"{leaf}: {v} is in categories, and data do not determine the standard deviation of its error, "
                    f"which is its unit; ask for what is seen, as in RD({event} | do(x=1) : do(x=0))"
                )


def without_open(fit: Fitted, rows: Sequence[Parameter]) -> list[Parameter]:
    """Parameters where categories act, without numbers for those that the graph does not determine.

    A cut is as well known as the intercept in whose place it stands. That errors are taken to be normal may give
    numbers to some of the others, which then rest on nothing else.
    """
    lost, units, found = _open(fit), open_units(fit), []
    for row in rows:
        key = (row.lhs, "~1", "") if row.op == "|" else (row.lhs, row.op, row.rhs)
        unit = row.lhs in units or (row.rhs in units and (row.op == "~~" or _behind(fit, row.rhs)))
        gone = bool({key, key[::-1]} & lost) or unit or row.lhs in unplaced(fit) or row.rhs in unplaced(fit)
        nothing = Parameter(row.lhs, row.op, row.rhs, nan, nan, nan, nan, nan, nan, nan, UNDETERMINED)
        found.append(nothing if gone and row.note != "fixed" else row)
    return found


def _behind(fit: Fitted, name: str) -> bool:
    return fit.acting is not None and name in fit.acting.margins and fit.acting.margins[name].kind == "behind"
