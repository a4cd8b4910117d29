"""Named graphs with a reference, known parameters and known verdicts, and small data sets."""

from halftrek.catalog.data import data_path, load
from halftrek.catalog.entry import Entry
from halftrek.catalog.lookup import catalog, names, resolve
from halftrek.catalog.studies import DataSet, dataset

__all__ = ["DataSet", "Entry", "catalog", "data_path", "dataset", "load", "names", "resolve"]
