"""Other forms of a graph: without hidden variables, with indicators, in networkx, as drawn."""
