"""Graphs, fits and answers as plain data for JSON: numbers that are not finite become null."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING

import numpy as np

from halftrek.notes import Note

if TYPE_CHECKING:
    from halftrek.comparison import Comparison
    from halftrek.estimation import Status
    from halftrek.estimation.many.groups import FittedGroups
    from halftrek.examples.entry import Entry
    from halftrek.examples.studies import DataSet
    from halftrek.graphs import Graph
    from halftrek.inference import Parameter
    from halftrek.models import Gaussian
    from halftrek.partial import Sensitivity
    from halftrek.reporting.papers.table import AnswerTable
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit
    from halftrek.results.sets.bounds import Bounds

Record = dict[str, object]


def to_json(record: Mapping[str, object]) -> str:
    """The record as JSON that every reader accepts, keys in the order given."""
    return json.dumps(plain(record), indent=2, ensure_ascii=False, allow_nan=False)


def plain(value: object) -> object:
    """Mappings, lists, texts, numbers and null, whatever went in."""
    if type(value) is str:  # most of a long record
        return value
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (str, bool)) or value is None:
        return value
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, int) else str(value)


def graph_record(graph: Graph) -> Record:
    """The pieces of a graph."""
    return {
        "observed": list(graph.observed),
        "directed": [list(e) for e in graph.directed],
        "bidirected": [list(e) for e in graph.bidirected],
        "latents": {u: list(kids) for u, kids in graph.latents.items()},
        "coefficients": dict(graph.coefficients),
        "hidden": list(graph.hidden),
        "variances": dict(graph.variances),
        "intercepts": dict(graph.intercepts),
        "definitions": dict(graph.definitions),
    }


def fit_record(fit: Fit, rows: Sequence[Parameter] | None = None) -> Record:
    """A fit: how it ended, and every parameter (``rows``: with another kind of interval)."""
    from halftrek.inference.evidence.few_valued import kind_notes
    from halftrek.inference.evidence.rows_behind import data_notes
    from halftrek.trust import judged_parameters

    return {
        "n": fit.n,
        "loglik": fit.loglik,
        "converged": bool(fit.converged),
        "status": status_record(fit.status),
        "notes": [str(note) for note in (*data_notes(fit), *kind_notes(fit))],
        "parameters": [asdict(row) for row in (judged_parameters(fit) if rows is None else rows)],
        "districts": [
            {"members": list(d.members), "iterations": d.iterations, "starts": d.starts, "agreeing": d.agreeing}
            for d in fit.districts
        ],
    }


def answer_record(answer: Answer) -> Record:
    """An answer: the number, or the distribution."""
    from halftrek.results.answers import Refusal, Several
    from halftrek.results.sets.bounds import Bounds

    record: Record = {"query": str(answer.query), "identified": bool(answer.identified), "method": answer.method}
    record["estimand"] = answer.estimand
    record["form"] = answer.form
    if isinstance(answer.result, Bounds):
        record |= {"low": answer.result.low, "high": answer.result.high, "bounds": bounds_record(answer.result)}
    elif isinstance(answer.result, Several):
        record |= asdict(answer.result)
    elif isinstance(answer.result, Refusal):
        record["leaves"] = None if answer.result.leaves is None else bounds_record(answer.result.leaves)
    elif answer.distribution is None:
        record["value"] = answer.value
        if answer.outcome is not None:
            record["outcome"] = gaussian_record(answer.outcome)
    else:
        record["distribution"] = gaussian_record(answer.distribution)
    if answer.estimate is not None:
        record["level"] = answer.estimate.level
        record["se"] = answer.se
        record["interval"] = answer.interval
        record["variance_interval"] = answer.variance_interval
        record["interval_kind"] = answer.estimate.kind
    record["warnings"] = [str(w) for w in answer.warnings]
    record["notes"] = [n.to_dict() for n in answer.notes]
    if answer.crude is not None:
        record["crude"] = crude_record(answer.crude)
    record["latex"] = answer.query.latex
    record["explanation"] = answer.explain()
    return record


def answers_record(found: AnswerTable) -> Record:
    """Several answers, with their labels if they have any."""
    return {"labels": list(found.labels), "answers": [answer_record(one) for one in found.answers]}


def crude_record(crude: Answer) -> Record:
    """What the rows say without the graph."""
    whole = answer_record(crude)
    return {"n": crude.n, **{key: whole[key] for key in _CRUDE if key in whole}}


_CRUDE = ("query", "value", "distribution", "level", "se", "interval", "variance_interval", "interval_kind", "warnings")


def note_record(note: Note) -> Record:
    """A finding: its code for programs, its words for people."""
    return {"code": note.code, "level": note.level, "text": str(note), "facts": dict(note.facts)}


def status_record(status: Status) -> Record:
    """How a fit ended."""
    return {
        "code": str(status.code),
        "message": str(status),
        "notes": [n.to_dict() for n in status.notes],
    }


def groups_record(fits: FittedGroups) -> Record:
    """The groups, with how their fits ended."""
    rows = zip(fits.keys, fits.groups.n, fits.groups.dropped, fits.batch.loglik, fits.status, strict=True)
    names = ("group", "n", "dropped", "loglik", "status")
    return {
        "variables": list(fits.graph.observed),
        "groups": [dict(zip(names, (_label(key), *rest), strict=True)) for key, *rest in rows],
    }


def _label(key: object) -> str | float | int:
    return key if isinstance(key, str | int | float) else str(key)


def comparison_record(found: Comparison) -> Record:
    """Models side by side."""
    return {
        "models": [asdict(m) for m in found.models],
        "nested": [asdict(t) for t in found.nested],
        "unrelated": [list(pair) for pair in found.unrelated],
        "question": None if found.query is None else str(found.query),
        "answers": [asdict(a) for a in found.asked],
        "warnings": list(found.warnings),
    }


def refusal_record(refused: Answer) -> Record:
    """A refusal: the verdict, and what the data leave, null where that is not known."""
    from halftrek.results.answers import Refusal

    left = refused.result.leaves if isinstance(refused.result, Refusal) else None
    verdict = {} if refused.verdict is None else refused.verdict.to_dict()
    return {**verdict, "explanation": refused.explain(), "leaves": None if left is None else bounds_record(left)}


def bounds_record(found: Bounds) -> Record:
    """Bounds: the set, its interval, what holds each end; infinite ends are null, and ``bounded`` says so."""
    test = found.refuted
    return {
        "question": None if found.question is None else str(found.question),
        "assume": list(found.assumptions),
        "low": found.low,
        "high": found.high,
        "empty": found.empty,
        "bounded": [math.isfinite(found.low), math.isfinite(found.high)],
        "pieces": [list(piece) for piece in found.pieces],
        "interval": None if found.interval is None else list(found.interval),
        "interval_pieces": [list(piece) for piece in found.interval_pieces],
        "interval_kind": found.kind,
        "level": found.level,
        "binding": {side: list(texts) for side, texts in found.binding.items()},
        "attained": dict(found.attained),
        "models": {
            side: None if model is None else fields_record(model, keys=("names", "latents", "T", "C", "mu", "W"))
            for side, model in found.models.items()
        },
        "certificate": found.certificate,
        "refuted": None if test is None else asdict(test),
        "n": found.n,
        "warnings": list(found.warnings),
        "notes": [n.to_dict() for n in found.notes],
        "explanation": found.explain(),
    }


def without_library(found: object) -> Record:
    """All fields, but for whose frames the data were."""
    return {key: part for key, part in fields_record(found).items() if key != "library"}


def sensitivity_record(found: Sensitivity) -> Record:
    """An answer along the values of an edge; of an arc these are covariances."""
    return {**without_library(found), "arc": list(found.arc), "covariance": found.covariance.tolist()}


def entry_record(entry: Entry) -> Record:
    """A graph of the catalog."""
    words = fields_record(entry, keys=("name", "title", "description", "reference", "aliases", "verdicts"))
    return {**words, "graph": graph_record(entry.graph)}


def data_set_record(study: DataSet) -> Record:
    """A data set, without its rows."""
    words = fields_record(study, keys=("name", "title", "description", "source", "licence", "question"))
    return {**words, "n": study.n, "columns": list(study.columns), "graph": graph_record(study.graph)}


def fields_record(value: object, keys: Sequence[str] | None = None) -> Record:
    """The fields of a value, or some of them."""
    if keys is None:
        assert is_dataclass(value)
        keys = [field.name for field in fields(value)]
    return {key: _part(getattr(value, key)) for key in keys}


def _part(value: object) -> object:
    """A field: notes as records, values within as their fields."""
    if isinstance(value, Note):
        return note_record(value)
    if isinstance(value, tuple | list):
        return [_part(one) for one in value]
    return fields_record(value) if is_dataclass(value) else value


def gaussian_record(distribution: Gaussian) -> Record:
    """Names, means, covariances."""
    return {"names": list(distribution.names), "mean": distribution.mean, "cov": distribution.cov}
