"""What completion shows of ``ht`` and ``ht.plot``: all that is public, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import halftrek as ht
from halftrek import reporting
from tests.narrow import some

REFERENCE = Path(__file__).parent.parent / "docs" / "reference" / "api.md"


def test_dir_shows_only_what_is_public() -> None:
    headings = re.findall(r"^### (\w+)\.\w+", REFERENCE.read_text(), re.MULTILINE)
    rooms = {room for room in headings if room != "ht"}
    assert dir(ht) == sorted({*ht.__all__, *rooms, "errors", "__version__"})
    for name in some(dir(ht)):
        assert getattr(ht, name) is not None
    assert not [name for name in dir(ht) if name.startswith("_") and name != "__version__"]


def test_dir_of_plot_shows_the_drawing_functions() -> None:
    long = {"graph": "draw_graph", "save": "save"}
    assert dir(ht.plot) == sorted(dir(ht.plot)) == ht.plot.__all__
    for name in some(dir(ht.plot)):
        assert getattr(ht.plot, name) is getattr(reporting, long.get(name, f"plot_{name}"))
    known = {name for name in reporting.__all__ if name.startswith("plot_")}
    assert {f"plot_{name}" for name in dir(ht.plot) if name not in long} == known  # a new one is here too
    with pytest.raises(AttributeError, match=r"has no attribute 'efects'; there are adjustments, .* effects, graph"):
        _ = ht.plot.efects


def test_looking_does_not_load_what_draws() -> None:
    code = (
        "import sys, halftrek as ht\n"
        "assert 'numpy' not in sys.modules\n"
        "dir(ht), dir(ht.plot), ht.plot.effects, ht.plot.graph, ht.plot.sensitivity\n"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_pictures_by_their_short_names() -> None:
    fit = ht.fit(ht.dataset("front_door").graph, ht.dataset("front_door").data)
    ax = ht.plot.graph(fit, cause="smoking", effect="cancer_risk")
    assert {text.get_text() for text in ax.texts} >= {"smoking", "tar"}
    ht.plot.effects({"all": fit.effect("smoking", "cancer_risk")}, ax=ax)
    assert ax.get_yticklabels()[0].get_text() == "all"
    import matplotlib.pyplot as plt

    plt.close("all")
