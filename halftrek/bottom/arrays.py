"""The kinds of arrays, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]  # of anything
Floats = NDArray[Any]  # of floats; numpy types linear algebra too loosely to say so
Ints = NDArray[np.intp]  # places in other arrays, and counts
Codes = NDArray[np.int64]  # whole numbers out of data: which group or cluster, how many rows
Flags = NDArray[np.bool_]
