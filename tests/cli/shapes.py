"""The reader of JSON Schema with which the schemas of the command line are checked."""

from halftrek.web.interface.checking import faults

__all__ = ["faults"]
