"""From a graph and moments to a fitted model."""

from halftrek.estimation.fit import Fitted, fit
from halftrek.estimation.many.batch import BatchFit, fit_batch
from halftrek.estimation.status import DistrictReport, Status

__all__ = ["BatchFit", "DistrictReport", "Fitted", "Status", "fit", "fit_batch"]
