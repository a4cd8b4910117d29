"""The set of values that data and assumptions leave to a question."""

from halftrek.partial.sets.identified import identified_set
from halftrek.partial.sets.value import End, IdentifiedSet

__all__ = ["End", "IdentifiedSet", "identified_set"]
