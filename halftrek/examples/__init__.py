"""Named graphs with a reference, known parameters and known verdicts, and small data sets."""

from halftrek.examples.data import data_path, load
from halftrek.examples.entry import Entry
from halftrek.examples.lookup import catalog, names, resolve
from halftrek.examples.studies import DataSet, dataset

__all__ = ["DataSet", "Entry", "catalog", "data_path", "dataset", "load", "names", "resolve"]
