"""Named graphs with a reference, known parameters and known verdicts, and a small data set."""

from halftrek.catalog.data import data_path, load
from halftrek.catalog.entry import Entry
from halftrek.catalog.lookup import catalog, names, resolve

__all__ = ["Entry", "catalog", "data_path", "load", "names", "resolve"]
