"""Tables, record batches and readers of Arrow."""

from halftrek.data.sources.memory import from_arrow as source_of

__all__ = ["source_of"]
