"""Answers that are sets: all values that the graph, the data and assumptions leave."""
