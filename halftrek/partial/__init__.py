"""When an answer is not identified, or only under an assumption."""

from halftrek.partial.bounding import bounds
from halftrek.partial.correlated_errors import Sensitivity, sensitivity
from halftrek.partial.picture import plot_sensitivity
from halftrek.partial.sets import IdentifiedSet, identified_set

__all__ = ["IdentifiedSet", "Sensitivity", "bounds", "identified_set", "plot_sensitivity", "sensitivity"]
