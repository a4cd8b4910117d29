"""What to know where causes tell the categories of a column that acts apart: a sharp rule.

Everybody above a cut is treated, say. What the category does is told by the rows on both sides. How steep the rule is
has no most likely value, and of the column's own errors nothing is seen where the rule has no exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.inference.evidence.few_valued import parts_of, resting_on
from halftrek.inference.evidence.layered import leaves_of, middle
from halftrek.inference.tables.parameter import Parameter
from halftrek.notes import Note, note
from halftrek.queries import DirectEffect, ErrorCovariance, Query
from halftrek.queries.kinds.effects import EFFECTS, ends_of

Sides = tuple[str, str, str]


def rules(fit: Fitted) -> dict[str, dict[str, int]]:
    """Columns whose categories are told apart, with the causes that do it, and the sign of each if it is known."""
    found: dict[str, dict[str, int]] = {}
    for first, kind, second, side in () if fit.acting is None else fit.acting.off:
        if kind == "->":
            found.setdefault(second, {})[first] = side
    return found


def rule_notes(fit: Fitted, query: Query | None = None) -> tuple[Note, ...]:
    """The sharp rules that an answer rests on; without a question, all."""
    found = rules(fit)
    return tuple(_note(fit, v) for v in found if query is None or _rests(fit, query, v))


def _note(fit: Fitted, v: str) -> Note:
    causes = _needed(rules(fit)[v])
    return note("separated", variable=v, causes=" and ".join(causes), s="" if len(causes) > 1 else "s")


def _needed(causes: dict[str, int]) -> list[str]:
    """Those without which the categories overlap: others may run off to either side, or not."""
    return [u for u, side in causes.items() if side] or list(causes)


def _rests(fit: Fitted, query: Query, v: str) -> bool:
    """True if an answer asks how a column comes about, and not only what it does."""
    for part in parts_of(query):
        on = resting_on(fit.graph, part) | part.evidence | part.selected
        if not part.held:
            on |= fit.graph.ancestors(part.outcomes & set(fit.graph.observed))
        if v in on:
            return True
    return False


def run_off_lines(fit: Fitted) -> dict[Sides, Note]:
    """Parameters that have no most likely value, as lines of a table, each with a word on it."""
    found: dict[Sides, Note] = {}
    known = rules(fit)
    for first, kind, second, _ in () if fit.acting is None else fit.acting.off:
        if kind == "<->":
            v = next(v for v in (first, second) if v in known)
            found |= dict.fromkeys(((first, "~~", second), (second, "~~", first)), note("unseen error", variable=v))
        elif kind == "->":
            found[second, "~", first] = slope_note(fit, first, second)
        else:
            found[first, "|", second] = note("separated line", causes=" and ".join(_needed(known[first])))
    return found


def slope_note(fit: Fitted, cause: str, variable: str) -> Note:
    """What is known of a slope that runs off."""
    causes = rules(fit)[variable]
    if not causes[cause]:
        return note("separated line", causes=" and ".join(_needed(causes)))
    sign = "positive" if causes[cause] > 0 else "negative"
    return note("separated slope", causes=" and ".join(_needed(causes)), sign=sign)


def without_run_off(fit: Fitted, rows: Sequence[Parameter]) -> list[Parameter]:
    """Lines of a table without numbers for parameters that have no most likely value."""
    gone = run_off_lines(fit)
    if not gone:
        return list(rows)
    found = []
    for row in rows:
        lost = gone.get((row.lhs, row.op, row.rhs))
        said = "" if lost is None else lost.short
        nothing = Parameter(row.lhs, row.op, row.rhs, nan, nan, nan, nan, nan, nan, nan, said)
        found.append(row if lost is None else nothing)
    return found


def lost_slope(fit: Fitted, cause: str, effect: str, *, direct: bool) -> Note | None:
    """What is said of an effect that is made of slopes that run off; None if it is not."""
    for u in rules(fit).get(effect, ()):
        if u == cause or (not direct and u in fit.graph.descendants(cause)):
            return slope_note(fit, u, effect)
    return None


def refuse_run_off(fit: Fitted, query: Query) -> None:
    """Raise QueryError for an effect, or a covariance of errors, that has no most likely value."""
    if fit.acting is None or not fit.acting.off:
        return
    for leaf in leaves_of(query):
        lost: Note | None = None
        if isinstance(leaf, EFFECTS):
            cause, v = ends_of(leaf)
            lost = lost_slope(fit, cause, v, direct=isinstance(leaf, DirectEffect))
            ask = f"; ask for what is seen, as in P({v} > {middle(fit.acting.margins[v]):g} | do(...))" if lost else ""
        elif isinstance(leaf, ErrorCovariance):
            lost, ask = run_off_lines(fit).get((leaf.first, "~~", leaf.second)), ""
        if lost is not None:
            raise QueryError(f"{leaf}: {lost}{ask}")
