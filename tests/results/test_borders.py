"""Where the likelihood of rows has no maximum short of errors that determine each other, the fit says so by name."""

from __future__ import annotations

import numpy as np
import pytest

import halftrek as ht
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


@pytest.mark.parametrize("seed", [103, 203, 259])
def test_a_fit_that_ends_there_is_one_and_says_so(seed: int) -> None:
    """The graph leaves out that z causes y, so that errors take it up; next to their border nothing bends."""
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 60))
    z, w, u, _ = random.normal(size=(4, n))
    x = (4.0 * random.random() * z + random.random() * w + 0.3 * u > 0.2) * 1
    y = 0.5 * x + z + u
    fit = ht.fit("z -> x -> y; x <-> y; w -> x", {"z": z, "w": w, "x": x, "y": y}, kinds={"x": "acts"})
    assert not fit.converged
    assert "the errors of x and y determine each other" in str(fit.status)
    found = fit.query("x ~> y")
    assert "border, acting" in [note.code for note in found.notes]
    assert "not converged, see fit.status" in {text for cell in fit.params()["note"] for text in cell.split("; ")}
