"""Which independences a graph implies, and the paths that carry or break them."""
