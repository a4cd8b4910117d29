"""Units where normal variables are behind columns: what is expected of them on the scale of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from halftrek.bottom.arrays import Floats
from halftrek.bottom.choices import Unidentified
from halftrek.bottom.frames import Columns, Frame
from halftrek.data.sources.tables import Table, table_like
from halftrek.errors import QueryError
from halftrek.estimation import Fitted
from halftrek.inference import How
from halftrek.inference.evidence.layered import unsaid_notes
from halftrek.inference.evidence.separated import rule_notes
from halftrek.inference.tables.acting_units import acting_units
from halftrek.inference.tables.layer_units import layer_units
from halftrek.notes import Note, in_short, note
from halftrek.queries import Distribution, Query, Statistic
from halftrek.queries.units import unit_query
from halftrek.results.answering import verdict_of
from halftrek.trust import table_how, unit_notes


def layer_table(
    fitted: Fitted,
    rows: object,
    table: Table,
    held: Mapping[str, Floats],
    outcomes: Sequence[str],
    wanted: How,
    unidentified: Unidentified,
) -> Frame:
    """A table with a line for each row, in the library of the rows."""
    layer = fitted.moments.layer
    assert layer is not None  # asked for only where kinds of columns were given
    found = layer_units(
        fitted, table, held, outcomes, table_how(fitted, wanted), decide=partial(verdict_of, fitted.graph),
        unidentified=unidentified,
    )  # fmt: skip
    cut = [v for v in outcomes if (m := layer.margin(v)) is not None and m.cut]
    return _with_notes(rows, found, _notes(fitted, table, held, outcomes, wanted, cut))


def acting_table(
    fitted: Fitted,
    rows: object,
    table: Table,
    held: Mapping[str, Floats],
    outcomes: Sequence[str],
    wanted: How,
    unidentified: Unidentified,
) -> Frame:
    """The same where categories act."""
    found = acting_units(
        fitted, table, held, outcomes, wanted, decide=partial(verdict_of, fitted.graph), unidentified=unidentified
    )
    margins = {} if fitted.acting is None else fitted.acting.margins
    cut = [v for v in outcomes if v in margins and margins[v].cut]
    return _with_notes(rows, found, _notes(fitted, table, held, outcomes, wanted, cut))


def _notes(
    fitted: Fitted,
    table: Table,
    held: Mapping[str, Floats],
    outcomes: Sequence[str],
    wanted: How,
    cut: Sequence[str],
) -> list[Note]:
    """What there is to know of all units together."""
    seen = tuple(v for v in table.names if v in fitted.graph)
    question = unit_query(seen, tuple(held), outcomes)
    said = [*unsaid_notes(fitted, question), *rule_notes(fitted, question)]
    return [*unit_notes(fitted, held, outcomes, wanted), *said, *_kinked(table, held, cut)]


def _kinked(table: Table, held: Mapping[str, Floats], cut: Sequence[str]) -> list[Note]:
    """That an outcome in categories is asked for in another world, where it was seen in this one."""
    return [note("kinked behind")] if held and any(v in table.names for v in cut) else []


def _with_notes(rows: object, found: Columns, notes: Sequence[Note]) -> Frame:
    """The columns as a table like the rows, with a column of notes where there is something to say."""
    said, count = in_short(notes), len(next(iter(found.values())))
    return table_like(rows, {**found, "note": [said] * count} if said else found)


def on_the_scale(fitted: Fitted, question: Distribution) -> Query:
    """The question about one unit: about the mean where an outcome is in categories or ranked, or a category acts."""
    layer = fitted.moments.layer
    names = [v.variable for of in question.of for _, v in of.parts]
    if fitted.acting is None and (layer is None or all(layer.margin(v) is None for v in names)):
        return question
    if len(names) > 1:
        raise QueryError(
            f"{', '.join(names)}: where columns are ordered or ranked, or a category acts, one unit has one outcome at "
            f"a time; name one of them"
        )
    return Statistic("E", question.of, question.case)
