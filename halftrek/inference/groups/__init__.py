"""Many fitted groups of rows: their answers at once, and tests that they are alike."""
