"""What of a fit's rows goes into its file."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from halftrek.data.rows import RowReader
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.models import Rows


def with_rows(fit: Fitted, wanted: bool) -> Fitted:
    """The fit with its rows as arrays if they are wanted; else with the name of their file, or with no rows."""
    reader = fit.rows
    if wanted:
        if reader is None and fit.rows_left_out:
            raise InputError("rows=True: the rows were not saved with this fit; fit again, or leave rows out")
        if reader is None:
            raise InputError("rows=True: this fit has no rows, only moments; leave rows out")
        return replace(fit, rows=_copied(reader, fit))
    if reader is None:
        return fit
    named = _named(reader)
    lost = named is None
    return replace(fit, rows=named, rows_left_out=lost, clusters_left_out=lost and reader.cluster is not None)


def _copied(reader: RowReader, fit: Fitted) -> RowReader:
    """The rows as the fit used them; those that it left out stay out."""
    blocks = list(reader.blocks(like=None if reader.missing == "fiml" else fit.moments))
    values = Rows(np.concatenate([b.values for b in blocks]), reader.names)
    weights = [b.weights for b in blocks if b.weights is not None]
    clusters = [b.cluster for b in blocks if b.cluster is not None]
    return RowReader(
        values,
        reader.names,
        np.concatenate(weights) if weights else None,
        reader.missing,
        np.concatenate(clusters) if clusters else None,
        sampling=None if reader.sampling is None else 1.0,
    )


def _named(reader: RowReader) -> RowReader | None:
    beside = (reader.weights, reader.cluster)
    if not isinstance(reader.source, (str, os.PathLike)) or not all(v is None or isinstance(v, str) for v in beside):
        return None
    return replace(reader, source=os.fspath(reader.source))
