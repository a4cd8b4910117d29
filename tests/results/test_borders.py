"""Where the likelihood of rows has no maximum short of errors that determine each other, the fit says so by name."""

from __future__ import annotations

import numpy as np

from halftrek.results.given.column_kinds import short_of_the_top


def test_errors_that_determine_each_other_are_named() -> None:
    """a, b and y: the error of y is a sum of the two others; z has nothing to do with it."""
    errors = np.diag([4.0, 1.0, 1.0, 1.0])
    errors[1, 3] = errors[3, 1] = 0.6
    errors[2, 3] = errors[3, 2] = 0.8 - 1e-5
    found = short_of_the_top(("z", "a", "b", "y"), errors)
    assert found.code == "border, acting"
    assert "the errors of a and b and y determine each other" in str(found)
    errors[2, 3] = errors[3, 2] = 0.7
    assert short_of_the_top(("z", "a", "b", "y"), errors).code == "steps ran out, acting"
