"""From a graph and moments to a fitted model."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand
from halftrek.estimation.fit import Fitted, fit
from halftrek.estimation.status import DistrictReport, Status

if TYPE_CHECKING:
    from halftrek.estimation.many.batch import BatchFit, fit_batch

__all__ = ["BatchFit", "DistrictReport", "Fitted", "Status", "fit", "fit_batch"]

_HOMES = {  # loaded when first used
    "estimation.many.batch": ("BatchFit", "fit_batch"),
}
__getattr__ = on_demand(__name__, _HOMES)
