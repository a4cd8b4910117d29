"""The faces of what users hold: one description of each kind of thing, as text, in a notebook and as plain data.

A new kind of result derives from ``halftrek.upward.Faces`` and has a line in ``_DESCRIBED`` (what people read) and one
in ``_RECORDS`` (what programs read). Without them its fields are listed as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any, TypeVar, cast

from halftrek.reporting import records
from halftrek.reporting.described import things
from halftrek.reporting.described.adjustments import adjustments_document
from halftrek.reporting.described.answers import answer_document
from halftrek.reporting.described.bounds import bounds_document
from halftrek.reporting.described.comparisons import (
    comparison_document,
    invariance_document,
    together_document,
)
from halftrek.reporting.described.effects import decomposition_document, mediation_document
from halftrek.reporting.described.fits import fit_document
from halftrek.reporting.described.instruments import instruments_document
from halftrek.reporting.described.varied import (
    benchmark_document,
    contours_document,
    ranking_document,
    robustness_document,
    sensitivity_document,
)
from halftrek.reporting.described.verdicts import verdict_document
from halftrek.reporting.document import Described, Facts
from halftrek.reporting.papers.table import answer_table_document
from halftrek.reporting.text import as_text
from halftrek.results.beside.adjustments import Adjustments
from halftrek.results.beside.instruments import Instruments

Made = TypeVar("Made")

_DESCRIBED: dict[str, Callable[[Any], Described]] = {
    "Adjustments": adjustments_document,
    "AdjustmentSets": things.sets_document,
    "Answer": answer_document,
    "AnswerTable": answer_table_document,
    "BatchFit": things.batch_document,
    "Benchmark": benchmark_document,
    "Bounds": bounds_document,
    "CGLSCM": things.model_document,
    "Comparison": comparison_document,
    "Contours": contours_document,
    "DataSet": things.data_set_document,
    "Decomposition": decomposition_document,
    "Entry": things.entry_document,
    "Fitted": fit_document,
    "FitsTogether": together_document,
    "FittedGroups": things.groups_document,
    "GLSCM": things.model_document,
    "Gaussian": things.gaussian_document,
    "Graph": things.graph_document,
    "Implications": things.implications_document,
    "Instruments": instruments_document,
    "MeasurementInvariance": invariance_document,
    "Mediation": mediation_document,
    "Moments": things.moments_document,
    "Note": things.note_document,
    "Profile": things.profile_document,
    "Ranking": ranking_document,
    "Robustness": robustness_document,
    "Sensitivity": sensitivity_document,
    "Status": things.status_document,
    "Verdict": verdict_document,
}
_RECORDS: dict[str, Callable[[Any], records.Record]] = {
    "Adjustments": Adjustments.fields,
    "Answer": records.answer_record,
    "AnswerTable": records.answers_record,
    "Bounds": records.bounds_record,
    "CGLSCM": partial(records.fields_record, keys=("names", "latents", "T", "C", "mu", "W")),
    "Comparison": records.comparison_record,
    "DataSet": records.data_set_record,
    "Entry": records.entry_record,
    "BatchFit": partial(records.fields_record, keys=("names", "latents", "T", "C", "W", "mu", "loglik", "code")),
    "Fitted": records.fit_record,
    "FitsTogether": partial(
        records.fields_record, keys=("groups", "n", "loglik", "converged", "fit", "at_zero", "rows")
    ),
    "FittedGroups": records.groups_record,
    "GLSCM": records.fields_record,
    "Gaussian": records.gaussian_record,
    "Graph": records.graph_record,
    "Instruments": Instruments.fields,
    "Mediation": partial(
        records.fields_record, keys=("cause", "effect", "mediators", "level", "rows", "proportion", "notes")
    ),
    "Decomposition": partial(records.fields_record, keys=("cause", "effect", "paths", "level", "rows", "total")),
    "MeasurementInvariance": partial(records.fields_record, keys=("groups", "n", "levels")),
    "Note": records.note_record,
    "Benchmark": records.without_library,
    "Contours": records.without_library,
    "Ranking": records.without_library,
    "Robustness": records.without_library,
    "Sensitivity": records.sensitivity_record,
    "Status": records.status_record,
}


def document(value: object) -> Described:
    """What people read of a thing, as a value."""
    describe = _found(_DESCRIBED, value)
    return _listed(value) if describe is None else describe(value)


def text(value: object) -> str:
    """A thing as text."""
    return as_text(document(value))


def html(value: object) -> str:
    """A thing in a notebook, with its picture where it has one."""
    from halftrek.reporting import html as notebook  # draws, which text does not need

    picture = _found(notebook.PICTURED, value)
    return notebook.as_html(document(value)) if picture is None else picture(value)


def record(value: object) -> records.Record:
    """A thing as plain data: mappings, lists, texts, numbers and null."""
    make = _found(_RECORDS, value) or records.fields_record
    return cast(records.Record, records.plain(make(value)))


def _found(table: dict[str, Callable[[Any], Made]], value: object) -> Callable[[Any], Made] | None:
    """The entry of a thing's class, or of one that it derives from."""
    return next((table[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in table), None)


def _listed(value: object) -> Described:
    """Fields and what they hold, of a thing that nobody has described."""
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} has no description: add one to halftrek/reporting/faces.py")
    return (Facts([(f.name.replace("_", " "), things.in_short(getattr(value, f.name))) for f in fields(value)]),)
