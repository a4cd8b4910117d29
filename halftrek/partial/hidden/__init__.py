"""Bounds and sensitivity where hidden variables have causes: as if they were observed, where their items tell them."""
