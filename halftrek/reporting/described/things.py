"""Smaller things that users hold, described: graphs, moments, distributions, models, groups, curves, notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.bottom.words import listed
from halftrek.reporting.document import Described, Facts, Heading, Paragraph, Printed, Remark, Span, Table, Words, known
from halftrek.reporting.tables import Cell, count, number

if TYPE_CHECKING:
    from halftrek.data import Moments
    from halftrek.estimation import BatchFit, Status
    from halftrek.estimation.many.groups import FittedGroups
    from halftrek.examples.entry import Entry
    from halftrek.examples.studies import DataSet
    from halftrek.graphs import Graph
    from halftrek.identification import AdjustmentSets, Implications
    from halftrek.inference import Profile
    from halftrek.models import CGLSCM, GLSCM, Gaussian
    from halftrek.notes import Note

_MANY = 40  # rows of a table
_NAMES = 12  # names in a sentence
_COVARIANCES = 6  # variables up to which all covariances are shown


def graph_document(graph: Graph) -> Described:
    """The variables, and every edge."""
    lines = [*(f"{u} -> {v}" for u, v in graph.directed), *(f"{u} <-> {v}" for u, v in graph.bidirected)]
    lines += [f"{u} -> {v}" for u, children in graph.latents.items() for v in children]
    held = {str(edge): value for edge, value in graph.coefficients.items()}
    facts: list[tuple[str, Words]] = [("variables", _names(graph.observed))]
    if graph.latents or graph.hidden:
        facts.append(("hidden", _names((*graph.latents, *graph.hidden))))
    rows: list[tuple[Cell, ...]] = [(edge, _held(held.get(edge))) for edge in lines]
    for word, part in (("variance", graph.variances), ("intercept", graph.intercepts)):
        rows += [(f"{word} of {v}", _held(value)) for v, value in part.items()]
    table = Table(("edge", "held at"), rows, most=_MANY, more="graph.to_dict()")
    return Facts(facts), *([table] if rows else [])


def moments_document(moments: Moments) -> Described:
    """Rows, and mean and standard deviation of each column."""
    rows = count(moments.n) + (f" ({moments.dropped:,} more left out)" if moments.dropped else "")
    spread = np.sqrt(np.diag(moments.cov))
    means = moments.mean if moments.has_mean else np.full(len(moments.names), np.nan)
    lines = [(v, known(float(m)), float(s)) for v, m, s in zip(moments.names, means, spread, strict=True)]
    heads = ("variable", "mean", "std. deviation")
    return Facts([("rows", rows)]), Table(heads, lines, most=_MANY, more="moments.to_dict()")


def gaussian_document(found: Gaussian) -> Described:
    """Mean and standard deviation of each variable, and of few variables their covariances."""
    shown = found.names if len(found.names) <= _COVARIANCES else ()
    rows: list[tuple[Cell, ...]] = [
        (v, float(found.mean[i]), float(found.sd[i]), *(float(found.cov[i, j]) for j in range(len(shown))))
        for i, v in enumerate(found.names)
    ]
    heads = ("variable", "mean", "std. deviation", *(f"cov with {v}" for v in shown))
    return Heading("A normal distribution"), Table(heads, rows, most=_MANY, more="its to_dict()")


def model_document(model: CGLSCM | GLSCM) -> Described:
    """The parameters: every weight that is not zero, intercepts and variances of errors."""
    names, hidden = model.names, model.latents
    weights: list[tuple[Cell, ...]] = [(f"{names[i]} -> {names[j]}", float(model.T[i, j])) for i, j in _places(model.T)]
    weights += [(f"{hidden[i]} -> {names[j]}", float(model.C[i, j])) for i, j in _places(model.C)]
    errors = getattr(model, "W", None)  # in a model that is not centred errors covary through hidden causes alone
    if errors is not None:
        weights += [(f"{names[i]} <-> {names[j]}", float(errors[i, j])) for i, j in _places(np.triu(errors, 1))]
    own = [(v, float(model.mu[i]), float(model.psi[i])) for i, v in enumerate(names)]
    facts: list[tuple[str, Words]] = [("variables", _names(names))]
    facts += [("hidden", _names(hidden))] if hidden else []
    parts: list[Printed] = [Heading("A linear model with known parameters"), Facts(facts)]
    if weights:
        parts.append(Table(("edge", "weight"), weights, most=_MANY, more="its to_dict()"))
    heads = ("variable", "intercept", "error variance")
    return [*parts, Table(heads, own, most=_MANY, more="its to_dict()")]


def batch_document(batch: BatchFit) -> Described:
    """How many data sets ended how."""
    counted = Counter(map(str, batch.code))
    head = Heading(f"Fits of one graph of {len(batch.names)} variables to {len(batch):,} data sets")
    return head, Table(("ended", "data sets"), [(code, many) for code, many in counted.most_common()])


def groups_document(fits: FittedGroups) -> Described:
    """A line for each group: its rows, and how its fit ended."""
    head = Heading(f"Fits of one graph of {len(fits.graph)} variables to {len(fits):,} groups")
    columns = (fits.keys, fits.groups.n, fits.groups.dropped, fits.batch.loglik, fits.status)
    lines: list[tuple[Cell, ...]] = [
        (str(key), count(float(n)), int(dropped) or None, known(float(height)), status)
        for key, n, dropped, height, status in zip(*columns, strict=True)
    ]
    heads = ("group", "rows", "left out", "log-likelihood", "status")
    used = [j for j in range(len(heads)) if j != 2 or fits.groups.dropped.any()]
    lines = [tuple(line[j] for j in used) for line in lines]
    table = Table([heads[j] for j in used], lines, digits=6, most=_MANY, more="fits.status")
    return head, table, Remark('fits["name of a group"] is the fit of one group; fits.query(...) asks all of them')


def profile_document(found: Profile) -> Described:
    """The deviance along the values of an answer."""
    low, high = found.interval
    inside = f"{number(low)} to {number(high)} ({100 * found.level:g}%)"
    facts = Facts(
        [
            ("estimate", number(found.estimate, 6)),
            ("interval", inside),
            ("deviance at its ends", number(found.cut)),
            *(("note", str(note)) for note in found.notes),
        ]
    )
    rows = [(float(v), known(float(d))) for v, d in zip(found.values, found.deviance, strict=True)]
    return facts, Table(("value", "deviance"), rows, most=_MANY)


def note_document(note: Note) -> Described:
    """The sentence, and what kind of finding it is."""
    against = note.level in ("doubt", "warning")
    words: Words = [Span(str(note), "warning")] if against else str(note)
    return (Facts([(note.level, words), ("code", note.code)]),)


def status_document(status: Status) -> Described:
    """How a fit ended, in words."""
    return (Facts([("status", [Span(str(status), "good" if status.code == "converged" else "bad")])]),)


def sets_document(found: AdjustmentSets) -> Described:
    """One set a line."""
    if not found.sets:
        return (Paragraph("No set of variables is enough to adjust for."),)
    lines = [("nothing" if not one else ", ".join(one), len(one)) for one in found.sets]
    table = Table(("adjust for", "variables"), lines, most=_MANY, more="list(sets)")
    more = [] if found.complete else [Remark("there are more, which are not listed here")]
    return Heading("Any one of these sets is enough"), table, *more


def implications_document(found: Implications) -> Described:
    """What data could contradict, in sentences."""
    return (Paragraph(found.explain()),)


def entry_document(entry: Entry) -> Described:
    """A graph of the catalog with its reference and what is known of it."""
    facts = Facts([("name", entry.name), ("about", entry.description), ("reference", entry.reference)])
    rows = [(question, scope, status) for question, known in entry.verdicts.items() for scope, status in known.items()]
    table = [Table(("question", "for", "verdict"), rows, most=_MANY)] if rows else []
    return Heading(entry.title), facts, *table


def data_set_document(study: DataSet) -> Described:
    """Rows with their graph, and where they are from."""
    pairs: list[tuple[str, Words]] = [
        ("name", study.name),
        ("rows", count(study.n)),
        ("columns", _names(tuple(study.columns))),
        ("about", study.description),
        ("question", [Span(study.question, "code")]),
        ("source", study.source),
        ("licence", study.licence),
    ]
    return Heading(study.title), Facts(pairs)


def in_short(value: object) -> str:
    """Anything, in a few words."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {in_short(part)}" for key, part in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(in_short, value[:_NAMES])) + (", ..." if len(value) > _NAMES else "")
    return str(value)


def _names(names: tuple[str, ...]) -> str:
    return f"{len(names):,}: {listed(names, _NAMES, quote=False)}" if len(names) > 1 else ", ".join(names)


def _held(value: object) -> Cell:
    return value if isinstance(value, float | int | str) else None


def _places(weights: Floats) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in np.argwhere(np.asarray(weights) != 0.0)]
