"""The data behind a report: how many rows, their means and spreads, what is missing, and a digest to know them by."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Patterns
from halftrek.data.layers import seen_as
from halftrek.data.weights import Counted
from halftrek.estimation.given.data_kind import data_of
from halftrek.inference.evidence.few_valued import kind_notes
from halftrek.inference.evidence.rows_behind import data_notes
from halftrek.inference.information.base import kind_of_data
from halftrek.reporting.document import (
    Chapter,
    Document,
    Facts,
    Heading,
    Paragraph,
    Piece,
    Remark,
    Span,
    Table,
    p_words,
)
from halftrek.reporting.tables import Cell, count

if TYPE_CHECKING:
    from halftrek.results.fit import Fit

_COLUMNS = 80
_PATTERNS = 12


def data_chapter(fit: Fit) -> Chapter:
    """Rows, columns, missing values."""
    parts: list[Piece] = [Paragraph(_sentence(fit))]
    notes = [str(note) for note in (*data_notes(fit), *kind_notes(fit))]
    if notes:
        parts.append(Paragraph("; ".join(notes) + "."))
    moments = data_of(fit)
    if isinstance(moments, Patterns):
        parts += _missing(moments)
    else:
        moments = moments if moments.layer is None else seen_as(moments.layer, moments.n) or moments
        sd = np.sqrt(np.diag(moments.cov))
        means: list[Cell] = [float(m) if moments.has_mean else None for m in moments.mean]
        rows = [(v, count(moments.n), m, float(s)) for v, m, s in zip(moments.names, means, sd, strict=True)]
        parts.append(Table(("variable", "rows", "mean", "standard deviation"), rows, digits=5, most=_COLUMNS))
        if not moments.has_mean:
            parts.append(Remark("Only a covariance matrix was given, without means."))
    parts.append(Remark("Standard deviations have the number of rows as divisor, as maximum likelihood has."))
    return Chapter("data", "The data", parts)


def _sentence(fit: Fit) -> str:
    if kind_of_data(fit).sentence(fit):
        return f"{kind_of_data(fit).sentence(fit)}."
    counted = isinstance(fit.moments.weighting, Counted)
    what = f"{count(fit.n)} {'rows by the sum of their weights' if counted else 'rows'}"
    if fit.moments.dropped:
        return f"{what}; {count(fit.moments.dropped)} more with missing values were left out."
    return f"{what}, without missing values."


def _missing(patterns: Patterns) -> Document:
    mean, variance = patterns.available
    there = patterns.rows @ patterns.observed
    total = int(patterns.rows.sum())
    rows: list[tuple[Cell, ...]] = [
        (v, int(k), int(total - k), f"{100 * (total - k) / total:.1f}%", float(m), float(np.sqrt(s)))
        for v, k, m, s in zip(patterns.names, there, mean, variance, strict=True)
    ]
    headers = ("variable", "values", "missing", "share missing", "mean", "standard deviation")
    order = np.argsort(-patterns.rows, kind="stable")
    several: list[tuple[Cell, ...]] = []
    for k in order:
        lacking = [v for v, seen in zip(patterns.names, patterns.observed[k], strict=True) if not seen]
        several.append((", ".join(lacking) or "nothing (complete rows)", int(patterns.rows[k])))
    parts: list[Piece] = [
        Table(headers, rows, digits=5, most=_COLUMNS),
        Remark("Means and standard deviations are of the values that are there."),
    ]
    parts += [Heading("Which values are missing together"), Table(("missing", "rows"), several, most=_PATTERNS)]
    return [*parts, *_little(patterns)]


def _little(patterns: Patterns) -> Document:
    """Are values missing completely at random? Left out where the test has no degrees of freedom."""
    if patterns.apart or not patterns.unrestricted.converged:
        return []
    chi2, df, p = patterns.little()
    if not df:
        return []
    means = "speaks against" if p < 0.05 else "does not speak against"
    return [
        Paragraph(
            f"Little's test that values are missing completely at random: χ² = {chi2:.2f} with {df} degrees of "
            f"freedom, {p_words(p)}. This {means} it; the estimates need only missing at random."
        )
    ]


def digests(fit: Fit) -> Facts:
    """What the data are known by."""
    pairs = [("digest of the moments", (Span(moments_digest(fit), "code"),))]
    path = source_file(fit)
    if path is not None:
        pairs.insert(0, (f"digest of {path.name}", (Span(file_digest(path), "code"),)))
    return Facts(pairs)


def file_name(fit: Fit) -> str | None:
    """The file that the rows came from; None for rows in memory, and for those of standard input, which are gone."""
    if fit.rows is None or not isinstance(fit.rows.source, (str, os.PathLike)):
        return None
    name = os.fspath(fit.rows.source)
    return None if Path(name).stem == "standard-input" else name


def source_file(fit: Fit) -> Path | None:
    """That file, if it is one and still there."""
    name = file_name(fit)
    try:
        return Path(name) if name is not None and Path(name).is_file() else None
    except OSError:
        return None


def file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def moments_digest(fit: Fit) -> str:
    """A digest of what the fit used of the data, variables by name; rounding in the tenth digit does not change it."""
    data = data_of(fit)
    order = np.argsort(np.array(data.names))
    hashed = hashlib.sha256("\n".join(data.names[i] for i in order).encode())
    if not isinstance(data, Patterns):
        _add_moments(hashed.update, data.n, data.mean[order], data.cov[np.ix_(order, order)])
    else:
        keys = [data.observed[k, order].tobytes() for k in range(len(data))]
        for k in sorted(range(len(data)), key=lambda k: keys[k]):
            hashed.update(keys[k])
            cov = data.cov[k][np.ix_(order, order)] if k < len(data.cov) else np.zeros((len(order),) * 2)
            _add_moments(hashed.update, float(data.n[k]), data.mean[k, order], cov)
    return f"sha256:{hashed.hexdigest()}"


def _add_moments(add: Callable[[bytes], object], n: float, mean: Floats, cov: Floats) -> None:
    """In units of standard deviations, so that a mean of zero within rounding is zero."""
    sd = np.sqrt(np.diag(cov))
    scale = np.where(sd > 0.0, sd, 1.0)
    lower = (cov / np.outer(scale, scale))[np.tril_indices(len(sd), -1)]
    add(" ".join(f"{x:.8e}" for x in (n, *sd)).encode())
    add(" ".join(f"{round(float(x), 9) + 0.0:.9f}" for x in (*(mean / scale), *lower)).encode())
