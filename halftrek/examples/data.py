"""Where the bundled data sets lie, and how the simulated one was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from halftrek.errors import InputError
from halftrek.examples.lookup import catalog
from halftrek.graphs import did_you_mean
from halftrek.models import Rows

DATASETS = ("front_door", "card", "mroz", "tal_or", "airquality")
FRONT_DOOR_ROWS = 2_000
FRONT_DOOR_SEED = 20_250


def data_path(name: str) -> Path:
    """Where a bundled data set lies, as a CSV file with a header."""
    if name not in DATASETS:
        raise InputError(f"there is no bundled data set {name!r}.{did_you_mean(name, DATASETS)}")
    return folder() / f"{name}.csv"


def folder() -> Path:
    """The folder of the bundled files."""
    from importlib.resources import files

    return Path(str(files("halftrek.examples") / "data"))


def load(name: str) -> Rows:
    """A bundled data set: rows with the names of their columns; a missing value is NaN."""
    with data_path(name).open(encoding="utf-8") as lines:
        header = tuple(next(lines).strip().split(","))
        return Rows(np.genfromtxt(lines, delimiter=",", ndmin=2), header)


def make_front_door() -> str:
    """The text of ``front_door.csv``: rows of the catalog's ``smoking`` model, whose parameters are known."""
    rows = catalog("smoking").model.sample(FRONT_DOOR_ROWS, FRONT_DOOR_SEED)
    lines = [",".join(catalog("smoking").model.names)]
    lines += [",".join(f"{value:.4f}" for value in row) for row in rows.tolist()]
    return "\n".join(lines) + "\n"
