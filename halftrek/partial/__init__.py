"""When an answer is not identified, or only under an assumption."""

from halftrek.partial.bounding import bounds
from halftrek.partial.varied.asking import sensitivity
from halftrek.partial.varied.benchmark import Benchmark
from halftrek.partial.varied.contours import Contours
from halftrek.partial.varied.curve import Sensitivity
from halftrek.partial.varied.picture import plot_sensitivity
from halftrek.partial.varied.ranking import AbsentEdge, Ranking
from halftrek.partial.varied.robustness import Robustness

__all__ = [
    "AbsentEdge",
    "Benchmark",
    "Contours",
    "Ranking",
    "Robustness",
    "Sensitivity",
    "bounds",
    "plot_sensitivity",
    "sensitivity",
]
