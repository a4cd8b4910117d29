"""When an answer is not identified, or only under an assumption."""

from halftrek.partial.correlated_errors import Sensitivity, sensitivity
from halftrek.partial.picture import plot_sensitivity

__all__ = ["Sensitivity", "plot_sensitivity", "sensitivity"]
