"""Graphical criteria for linear models, each a search for a recipe."""
