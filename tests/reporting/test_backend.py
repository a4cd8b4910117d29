"""Pictures where matplotlib has been told to use a backend that it does not have."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.project.pages import ROOT

DRAWN = """
import halftrek as ht
from halftrek.reporting.plots.figures import axes_or_new, new_figure
for draw in (lambda: axes_or_new(None, (3, 2)), lambda: new_figure(3, 2)):
    try:
        draw()
        print("drawn")
    except ht.HalftrekError as error:
        print(type(error).__name__, str(error).count("MPLBACKEND=agg"), error.__cause__ is not None)
"""


@pytest.mark.parametrize(
    ("backend", "said"),
    [
        ("nosuch", ["InputError 1 True", "InputError 1 True"]),
        ("module://nosuch", ["InputError 1 True", "drawn"]),
        ("agg", ["drawn", "drawn"]),
    ],
)
def test_a_backend_that_is_not_there(backend: str, said: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAWN], capture_output=True, text=True, cwd=ROOT, timeout=120, check=True,
        env={**os.environ, "MPLBACKEND": backend},
    )  # fmt: skip
    assert done.stdout.splitlines() == said
