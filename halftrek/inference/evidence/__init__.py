"""What stands behind an answer: rows, clusters, kinds of variables, strength."""
