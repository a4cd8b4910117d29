"""An option that has no meaning where it is given is refused: whoever gives one expects it to count."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.estimation import fit_batch
from halftrek.reporting import plot_convergence, plot_profile, plot_sensitivity, sensitivity

TEXT = "z -> x -> y; z -> y"
RNG = np.random.default_rng(5)
ROWS = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["z", "x", "y"])
ROWS["x"] += ROWS["z"]
ROWS["y"] += 0.5 * ROWS["x"]
MOMENTS = ht.moments(ROWS)
INCOMPLETE = ROWS.mask(RNG.random(ROWS.shape) < 0.2)
FIT = ht.fit(TEXT, ROWS)
IN_CLUSTERS = ht.fit(TEXT, ROWS, cluster=np.arange(60) // 6)
COV: dict[str, Any] = {"cov": MOMENTS.cov, "n": 60, "names": MOMENTS.names}
UNIT = {"x": 0.2, "y": 1.0}


def patterns() -> Any:
    return ht.fit(TEXT, INCOMPLETE).patterns


REFUSED: dict[str, Callable[[], Any]] = {
    "starts has no meaning with method='cgl-go'": lambda: ht.fit(TEXT, ROWS, method="cgl-go", starts=3),
    "finish has no meaning with method='cgl-go'": lambda: ht.fit(TEXT, ROWS, method="cgl-go", finish=True),
    "finish has no meaning with method='cgl-go': leave": lambda: ht.fit(TEXT, ROWS, method="cgl-go", finish=False),
    "mask has no meaning with method='em'": lambda: ht.fit(TEXT, ROWS, mask="edge"),
    "mask has no meaning with method='em': leave it out, or use": lambda: ht.fit(TEXT, ROWS, mask="ancestor"),
    "mask cannot be used with groups": lambda: ht.fit(TEXT, ROWS, by=np.arange(60) % 2, mask="edge"),
    "divisor cannot be used with groups": lambda: ht.fit(TEXT, ROWS, by=np.arange(60) % 2, divisor="n-1"),
    "finish cannot be used with groups": lambda: ht.fit(TEXT, ROWS, by=np.arange(60) % 2, finish=False),
    "divisor='n-1' goes with cov": lambda: ht.fit(TEXT, ROWS, divisor="n-1"),
    "n and mean go with cov": lambda: ht.fit(TEXT, MOMENTS, n=60),
    "weights go with rows": lambda: ht.fit(TEXT, **COV, weights=np.ones(60)),
    "weights go with rows; give them where": lambda: ht.fit(TEXT, MOMENTS, weights=np.ones(60)),
    "missing='drop' goes with rows": lambda: ht.fit(TEXT, **COV, missing="drop"),
    "missing='error' goes with rows, and there are none": lambda: ht.fit(TEXT, MOMENTS, missing="error"),
    "missing='drop' goes with rows, and there are none any more": lambda: ht.fit(TEXT, patterns(), missing="drop"),
    "no rows to leave out": lambda: ht.moments(MOMENTS, missing="drop"),
    "a list of moments brings cov, mean and n": lambda: fit_batch(ht.graph(TEXT), [MOMENTS], n=60),
    "syntax='lavaan' goes with text, not with a Graph": lambda: ht.graph(ht.graph(TEXT), syntax="lavaan"),
    "syntax='dot' goes with text, not with a DiGraph": lambda: ht.graph(nx.DiGraph([("x", "y")]), syntax="dot"),
    'replicates has no meaning for the interval "delta"': lambda: FIT.query("x -> y", interval="delta", replicates=50),
    "replicates has no meaning where no interval is asked for": lambda: FIT.query("x -> y", replicates=50),
    'ends has no meaning for the interval "profile"': lambda: FIT.query("x -> y", interval="profile", ends="bca"),
    'information has no meaning for the interval "robust"': lambda: FIT.effect(
        "x", "y", interval="robust", information="observed"
    ),
    'information has no meaning for the interval "bootstrap"': lambda: FIT.effects(
        interval="bootstrap", information="expected"
    ),
    "replicates has no meaning where no interval is asked for: leave": lambda: IN_CLUSTERS.params(replicates=20),
    'information has no meaning for the interval "parametric"': lambda: FIT.params(
        interval="parametric", information="observed"
    ),
    'replicates has no meaning for the interval "t"': lambda: FIT.mediation("z", "y", interval="t", replicates=20),
    'ends has no meaning for the interval "robust"': lambda: FIT.report("none.html", interval="robust", ends="bca"),
    "unidentified='nan' is for the rows of a table": lambda: FIT.counterfactual(
        UNIT, {"x": 1}, "y", unidentified="nan"
    ),
    "level=0.9 is for the intervals of a question": lambda: ht.compare({"a": FIT, "b": FIT}, level=0.9),
    "data are for graphs, and all models are fitted": lambda: ht.compare({"a": FIT, "b": FIT}, ROWS),
    "rows=True is for a fit": lambda: ht.save(ht.graph(TEXT), "none.json", rows=True),
    "a fit knows its maximum": lambda: plot_convergence(FIT, best=0.0),
    "a profile has its cut and estimate": lambda: plot_profile(FIT.profile("x -> y", points=5), cut=3.0),
    "takes no data, question, arc, values or level": lambda: plot_sensitivity(
        sensitivity(TEXT, MOMENTS, "x -> y", arc=("x", "y"), values=[0.0, 0.1]), level=0.9
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_an_option_without_a_meaning_is_refused(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ht.InputError, match=re.escape(words)):
        REFUSED[words]()
    assert not any(tmp_path.iterdir())


def test_options_with_a_meaning_are_heard() -> None:
    short = ht.fit(TEXT, ROWS, method="cgl-go", max_iter=3)
    assert not short.converged
    assert "stopped after 3 rounds" in str(short.status)
    whole = ht.fit(TEXT, ROWS, method="cgl-go")
    assert whole.converged
    assert whole.loglik > short.loglik
    other = ht.fit("latent U; U -> {x, y, z}; x -> y", ROWS, method="cgl-go", max_iter=2, mask="ancestor")
    assert other.loglik != ht.fit(other.graph, ROWS, method="cgl-go", max_iter=2, mask="edge", random_state=1).loglik
    for method in ("em", "cgl-go"):
        with pytest.raises(ht.InputError, match="max_iter must be at least 1, not 0"):
            ht.fit(TEXT, ROWS, method=method, max_iter=0)
    assert FIT.query("x -> y", interval="profile", information="observed").interval is not None
    assert IN_CLUSTERS.query("x -> y", interval="delta", information="observed").se


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("rows.csv", index=False)
    Path("cov.csv").write_text("z,x,y\n1,0.5,0.2\n0.5,1,0.3\n0.2,0.3,1\n")
    Path("a.toml").write_text(f'graph = "{TEXT}"\nquestions = ["x -> y"]\n[data]\nfile = "rows.csv"\n')


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["fit", TEXT, "rows.csv", "--divisor", "n-1"], "divisor goes with a covariance"),
        (["fit", TEXT, "--cov", "cov.csv", "--n", "60", "--missing", "drop"], "missing drop is for rows"),
        (["fit", TEXT, "rows.csv", "--interval", "bootstrap", "--ends", "bca"], "--ends bca is for one question"),
        (["fit", TEXT, "rows.csv", "--replicates", "20"], "or ask for --interval bootstrap"),
        (["query", TEXT, "rows.csv", "x -> y", "--replicates", "20"], "replicates has no meaning"),
        (["query", TEXT, "rows.csv", "x -> y", "--ends", "bca"], "ends has no meaning"),
        (["effect", TEXT, "rows.csv", "--all", "--replicates", "20"], "replicates has no meaning"),
        (["report", "a.toml", "--interval", "robust"], "--interval has no meaning beside an analysis file"),
        (["report", "a.toml", "--method", "cgl-go"], "--method has no meaning beside an analysis file"),
        (["report", "a.toml", "--missing", "drop"], "--missing has no meaning beside an analysis file"),
        (["report", "a.toml", "--random-state", "3"], "--random-state has no meaning beside an analysis file"),
        (
            ["counterfactual", TEXT, "rows.csv", "--do=x=1", "--outcome=y", "--unit=x=0", "--unidentified=nan"],
            "--unidentified nan is for the rows of a table",
        ),
        (["compare", TEXT, "z -> x -> y", "--data=rows.csv", "--level=0.9"], "is for the intervals of a question"),
    ],
)  # fmt: skip
def test_so_it_is_on_the_command_line(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_run_gives_parameters_the_interval_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    shown = {}
    for interval in ("delta", "robust", "profile"):
        text = Path("a.toml").read_text() + f'[uncertainty]\ninterval = "{interval}"\n'
        Path(f"{interval}.toml").write_text(text)
        assert main(["run", f"{interval}.toml", "--json"]) == 0
        out = capsys.readouterr().out
        shown[interval] = [row["se"] for row in json.loads(out)["fit"]["parameters"]]
    robust, delta = FIT.params(interval="robust", as_frame=False), FIT.params(interval="delta", as_frame=False)
    for interval, rows in (("robust", robust), ("delta", delta), ("profile", delta)):
        assert shown[interval] == pytest.approx([row.se for row in rows], rel=1e-12)
    assert shown["robust"] != pytest.approx(shown["delta"], rel=1e-3)
