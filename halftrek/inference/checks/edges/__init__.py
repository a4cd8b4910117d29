"""Edges that are not in the graph: which of them the data ask for, and what freeing them would do."""
