"""How much data say about parameters: expected, observed, from rows, with missing values."""
