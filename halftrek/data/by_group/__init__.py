"""One table's groups of rows, each with sums of its own."""
