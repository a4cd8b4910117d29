"""Many data sets of one graph: batches and groups."""
