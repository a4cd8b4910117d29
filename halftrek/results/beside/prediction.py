"""The expected outcome of new rows, as they come or under an intervention; no mathematics here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Unpack

import numpy as np

from halftrek.bottom.choices import Unidentified
from halftrek.bottom.frames import Columns, Frame
from halftrek.bottom.words import listed
from halftrek.data.sources.tables import Table, read_table, table_like
from halftrek.errors import QueryError, depth_of_caller
from halftrek.estimation import Fitted
from halftrek.graphs import Graph, did_you_mean
from halftrek.inference.evidence.few_valued import takes_normal
from halftrek.inference.evidence.rows_behind import categories_behind, in_numbers
from halftrek.inference.how import Uncertainty
from halftrek.inference.tables.units import Maps, columns_named, estimated_maps, held_values, units_by
from halftrek.notes import in_short, note
from halftrek.queries.units import unit_query
from halftrek.results.answering import how_of, verdict_of
from halftrek.results.beside.behind import acting_table, layer_table
from halftrek.trust import table_how, unit_notes


def prediction_of(
    fitted: Fitted,
    rows: object,
    outcome: str | Sequence[str] | None,
    *,
    do: Mapping[str, object] | None,
    given: Sequence[str] | None,
    unidentified: Unidentified,
    **uncertainty: Unpack[Uncertainty],
) -> Frame:
    """A table with a line for each row: means, noise, errors, intervals of the mean and of the outcome itself."""
    graph, changed = fitted.graph, in_numbers(fitted, do or {})
    wanted = how_of(**uncertainty)
    if isinstance(rows, Mapping) and not any(map(np.ndim, rows.values())):  # one unit is a table of one row
        rows = {v: [np.nan if x is None else x] for v, x in rows.items()}
    named = () if outcome is None else (outcome,) if isinstance(outcome, str) else tuple(outcome)
    _refuse_unknown(graph, named, "outcome")
    table = read_table(rows, fitted.model.names, also=columns_named(changed), categories=categories_behind(fitted))
    outcomes = named or _absent(graph, table, changed)
    held = held_values(graph, changed, table) if changed else {}
    seen = _evidence(graph, table, outcomes, tuple(held), given)
    if fitted.acting is not None:
        return acting_table(fitted, rows, table.select(seen), held, outcomes, wanted, unidentified)
    if fitted.moments.layer is not None:
        return layer_table(fitted, rows, table.select(seen), held, outcomes, wanted, unidentified)
    normal = [v for v in outcomes if takes_normal(fitted, unit_query((), tuple(held), (v,)))]
    maps = estimated_maps(
        fitted, table.select(seen), tuple(held), outcomes, table_how(fitted, wanted),
        decide=partial(verdict_of, graph), unidentified=unidentified, predictive=True,
    )  # fmt: skip
    coarse = [v for v in outcomes if v not in normal]
    if coarse:
        warnings.warn(str(note("no prediction interval", variables=" and ".join(coarse))), stacklevel=depth_of_caller())
    heads = [f"{v}_" if len(outcomes) > 1 else "" for v in coarse]
    without = frozenset(f"{h}pi_{e}" for h in heads for e in ("low", "high"))
    said = in_short(unit_notes(fitted, held, outcomes, wanted))
    made = partial(_made, maps, graph, changed, seen, outcomes, said, without)
    return table_like(rows, made(table)) if table.add is None else table.add(made)


def _made(
    maps: Maps,
    graph: Graph,
    changed: Mapping[str, object],
    seen: tuple[str, ...],
    outcomes: tuple[str, ...],
    said: str,
    without: frozenset[str],
    table: Table,
) -> Columns:
    """The columns of some rows, but for those that do not hold for them."""
    held = held_values(graph, changed, table) if changed else {}
    found = replace(units_by(maps, graph, table.select(seen), held, outcomes), note=said)
    return {name: column for name, column in found.columns().items() if name not in without}


def _refuse_unknown(graph: Graph, names: Sequence[str], what: str) -> None:
    for v in names:
        if v not in graph:
            raise QueryError(f"{what}: the graph has no variable {v!r}.{did_you_mean(v, graph.observed)}")


def _absent(graph: Graph, table: Table, held: Mapping[str, object]) -> tuple[str, ...]:
    """The variables to predict where none is named."""
    found = tuple(v for v in graph.observed if v not in table.names and v not in held)
    if not found:
        last = [v for v in graph.observed if not graph.children(v)]
        raise QueryError(
            f"the rows have a column for every variable: say which is to be predicted, for instance outcome={last[0]!r}"
        )
    return found


def _evidence(
    graph: Graph, table: Table, outcomes: Sequence[str], held: tuple[str, ...], given: Sequence[str] | None
) -> tuple[str, ...]:
    """The columns to predict from: all but the outcomes, and under an intervention none that it changes."""
    after = graph.descendants(held) | set(held) if held else frozenset()
    at_hand = [v for v in table.names if v in graph and v not in outcomes]
    if given is None:
        return tuple(v for v in at_hand if v not in after)
    _refuse_unknown(graph, given, "given")
    for v in given:
        if v in outcomes:
            raise QueryError(f"given: {v!r} is to be predicted; leave it out")
        if v not in table.names:
            raise QueryError(f"given: the rows have no column {v!r}; they have {listed(at_hand)}")
        if v in after:
            raise QueryError(
                f"given: {v!r} is changed by do, so that what was seen of it does not hold under the intervention; "
                f"leave it out, or ask fit.counterfactual, which reasons from what was seen to what would have been"
            )
    return tuple(v for v in at_hand if v in given)
