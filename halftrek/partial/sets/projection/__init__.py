"""A question about one coordinate, exactly: what changes for the others, and by which signs."""
