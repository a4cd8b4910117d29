"""What a fit lists beside single answers: measures, effects, paths, mediators, units; no mathematics here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from halftrek.bottom.choices import EffectKind, Interval, Multiplicity, RobustTest, Unidentified
from halftrek.bottom.frames import Columns, Frame
from halftrek.bottom.frames import as_frame as frame_of
from halftrek.data.sources.tables import Table, read_table, table_like
from halftrek.errors import InputError, depth_of_caller
from halftrek.estimation import Fitted
from halftrek.graphs import Graph
from halftrek.inference import How, Parameter, Profile, measures, profile_curve, robust_measures
from halftrek.inference.checks.contradictions import Contradiction, restrictions_behind
from halftrek.inference.checks.robust_fit import NORMAL_THEORY, usual_measures
from halftrek.inference.evidence.few_valued import few_valued
from halftrek.inference.evidence.rows_behind import categories_behind, in_numbers
from halftrek.inference.how import Uncertainty, asked
from halftrek.inference.information.behind.dwls import dwls_measures, which_test
from halftrek.inference.information.information import Kind
from halftrek.inference.tables.acting_effects import acting_effects
from halftrek.inference.tables.decomposition import Decomposition, decompose
from halftrek.inference.tables.effects import Effect, columns_of, effect_rows
from halftrek.inference.tables.mediation import Mediation, mediate
from halftrek.inference.tables.units import (
    Maps,
    columns_named,
    estimated_maps,
    exact_maps,
    held_values,
    one_unit,
    units_by,
)
from halftrek.models import CGLSCM
from halftrek.notes import in_short, warnings_of
from halftrek.queries import Query, check_query
from halftrek.queries.kinds.effects import EFFECTS
from halftrek.queries.units import unit_query
from halftrek.results.answering import answer, answer_from_model, how_of, identified, verdict_of
from halftrek.results.answers import Answer
from halftrek.results.beside.behind import acting_table, layer_table, on_the_scale
from halftrek.trust import (
    judged_columns,
    judged_decomposition,
    judged_effects,
    judged_mediation,
    judged_parameters,
    table_how,
    unit_notes,
)


def measures_of(fitted: Fitted, robust: bool | RobustTest | None = None) -> dict[str, Any]:
    """How well the fitted model reproduces the moments; ``robust`` adds tests that do not need normal data.

    Left out, test and indices are those that suit the rows: they count clusters and sampling weights, if there are any.
    """
    if fitted.acting is not None:
        if robust not in (None, True, False):
            raise InputError(f"robust={robust!r} is not known where a category acts; say robust=True, or leave it out")
        from halftrek.inference.checks.acting.overall import acting_measures  # here, for few need it

        found, words, added = acting_measures(fitted, robust)
        return found.to_dict() | {"test": words, "added": added}
    if fitted.method == "dwls":
        return dwls_measures(fitted).to_dict() | {"test": which_test(fitted)}
    if robust is None:
        suited, words = usual_measures(fitted)
        return suited.to_dict() | {"test": words}
    found = measures(fitted)
    plain = found.to_dict() | {"test": NORMAL_THEORY}
    if robust is False:
        return plain
    test: RobustTest = "yuan-bentler" if robust is True else robust
    return plain | robust_measures(fitted, test, found).to_dict()


def restrictions_of(
    fitted: Fitted, question: str | Query, *, multiplicity: Multiplicity = "holm", robust: bool | None = None
) -> list[Contradiction]:
    """What an identified answer rests on, tested; those restrictions first whose relaxing would move it most."""
    if fitted.acting is not None:
        raise InputError(
            "what an answer rests on is not known where a category acts; ask fit.tests() for all that is left out"
        )
    query = identified(fitted.graph, question)
    if fitted.moments.layer is not None and not isinstance(query, EFFECTS):
        raise InputError(
            f"what {query} rests on is not known where columns are ordered or ranked; ask for an effect, x ~> y, or "
            f"fit.tests() for all"
        )
    return restrictions_behind(fitted, query, multiplicity=multiplicity, robust=robust)


def profile_of(fitted: Fitted, question: str | Query, *, points: int, level: float) -> Profile:
    """The profile of an identified answer."""
    return profile_curve(fitted, identified(fitted.graph, question), points=points, level=level)


def parameter_table(
    fitted: Fitted,
    *,
    level: float = 0.95,
    interval: Interval | None = None,
    information: Kind | None = None,
    replicates: int = 1000,
    random_state: int = 0,
    as_frame: bool = True,
) -> Frame | list[Parameter]:
    """All parameters as a tidy frame, or as a list of values."""
    how = asked(
        interval=interval, level=level, information=information, replicates=replicates, random_state=random_state
    )
    return frame_of(judged_columns(fitted, how), fitted.frame) if as_frame else judged_parameters(fitted, how)


def effects_of(fitted: Fitted, kind: EffectKind, *, budget: float, **uncertainty: Unpack[Uncertainty]) -> Frame:
    """Every effect with its uncertainty, as a tidy frame."""
    rows = effect_rows_of(fitted, how_of(**uncertainty), kind=kind, budget=budget)
    return frame_of(columns_of(rows, Effect), fitted.frame)


def effect_rows_of(fitted: Fitted, how: How, *, kind: EffectKind = "all", budget: float = 5.0) -> list[Effect]:
    """Every effect with its uncertainty; one whose interval may mislead says so."""
    if fitted.acting is not None:
        return judged_effects(fitted, acting_effects(fitted, how, kind=kind, budget=budget), how)
    return judged_effects(fitted, effect_rows(fitted, table_how(fitted, how), kind=kind, budget=budget), how)


def decomposition_of(
    fitted: Fitted, cause: str, effect: str, *, most: int, **uncertainty: Unpack[Uncertainty]
) -> Decomposition:
    """A total effect path by path."""
    how = how_of(**uncertainty)
    return judged_decomposition(fitted, decompose(fitted, cause, effect, table_how(fitted, how), most=most), how)


def mediation_of(
    fitted: Fitted, cause: str, effect: str, mediators: Sequence[str] | None, **uncertainty: Unpack[Uncertainty]
) -> Mediation:
    """A total effect split at mediators."""
    how = how_of(**uncertainty)
    return judged_mediation(fitted, mediate(fitted, cause, effect, table_how(fitted, how), mediators=mediators), how)


def counterfactual_of(
    source: Fitted | CGLSCM,
    rows: object,
    do: Mapping[str, object],
    outcome: str | Sequence[str],
    *,
    unidentified: Unidentified = "raise",
    **uncertainty: Unpack[Uncertainty],
) -> Answer | Frame:
    """What would have been: an answer for one unit, a table for a table."""
    outcomes = (outcome,) if isinstance(outcome, str) else tuple(outcome)
    graph = source.graph
    known = categories_behind(source) if isinstance(source, Fitted) else ()
    if isinstance(source, Fitted):
        do = in_numbers(source, do)
    check_query(unit_query((), tuple(do), outcomes), graph)
    if isinstance(rows, Mapping) and not any(map(np.ndim, rows.values())):
        if unidentified != "raise":
            raise InputError(f"unidentified={unidentified!r} is for the rows of a table; for one unit leave it out")
        unit = in_numbers(source, rows) if isinstance(source, Fitted) else rows
        question = one_unit(graph, unit, do, outcomes)
        if isinstance(source, Fitted):
            return answer(source, on_the_scale(source, question), **uncertainty)
        return answer_from_model(source, question)
    names = source.model.names if isinstance(source, Fitted) else source.names
    table = read_table(rows, names, also=columns_named(do), categories=known)
    if isinstance(source, Fitted) and (source.moments.layer is not None or source.acting is not None):
        values = held_values(graph, do, table)
        made_by = layer_table if source.acting is None else acting_table
        return made_by(source, rows, table, values, outcomes, how_of(**uncertainty), unidentified)
    held, said = tuple(held_values(graph, do, table)), ""
    if isinstance(source, Fitted):
        decide = partial(verdict_of, graph)
        wanted = how_of(**uncertainty)
        how = table_how(source, wanted)
        maps = estimated_maps(source, table, held, outcomes, how, decide=decide, unidentified=unidentified)
        said = in_short(unit_notes(source, held, outcomes, wanted))
        seen = tuple(v for v in table.names if v in graph)
        for text in warnings_of(few_valued(source, unit_query(seen, held, outcomes))):
            warnings.warn(text, stacklevel=depth_of_caller())
    else:
        maps = exact_maps(source, table, held, outcomes)
    made = partial(_made, maps, graph, do, outcomes, said)
    return table_like(rows, made(table)) if table.add is None else table.add(made)


def _made(
    maps: Maps, graph: Graph, do: Mapping[str, object], outcomes: tuple[str, ...], said: str, table: Table
) -> Columns:
    """The columns of some rows."""
    return replace(units_by(maps, graph, table, held_values(graph, do, table), outcomes), note=said).columns()
