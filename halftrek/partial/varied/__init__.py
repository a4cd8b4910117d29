"""An answer while an edge is varied: curves, contours, robustness, benchmarks, and a ranking of absent edges."""
