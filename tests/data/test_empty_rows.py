"""Rows in which no variable of the graph has a value, as at the end of many files."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from tests.test_workflow import clustered_rows


@pytest.mark.parametrize("options", [{}, {"cluster": "clinic"}, {"sampling_weights": "clinic"}])
def test_rows_without_any_value_are_as_if_they_were_not_there(options: dict[str, Any]) -> None:
    rows = clustered_rows().assign(clinic=lambda t: t["clinic"] + 1)
    empty = pd.DataFrame({"x": np.nan, "y": np.nan, "clinic": [41, 42, 42]})
    found, alone = (ht.fit("x -> y", table, **options) for table in (pd.concat([rows, empty]), rows))
    for drawn in ({"interval": "robust"}, {"interval": "bootstrap", "replicates": 20, "random_state": 1}):
        some, same = (fit.effect("x", "y", **drawn) for fit in (found, alone))
        assert some.se == pytest.approx(same.se, rel=1e-9)
