"""What users of yes/no columns and scales read: an epidemiologist with smokers, a psychologist with items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import ColumnKind
from halftrek.cli import main
from halftrek.errors import DataError, QuestionSyntaxError

FRONT_DOOR = "smoker -> tar -> ill; smoker <-> ill"
YES_NO: dict[str, ColumnKind] = {"smoker": "acts", "ill": "ordered"}
ITEMS = ("c1", "c2", "c3", "m1", "m2", "m3")
FACTORS = "latent C, M; treated -> {C, M}; C -> M; C -> {c1, c2, c3}; M -> {m1, m2, m3}"


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    hidden, u, v, w = np.random.default_rng(11).normal(size=(4, 500))
    smoker = 0.8 * hidden + u > 0.3
    tar = 0.9 * smoker + 0.8 * v
    ill = 0.7 * tar + 0.9 * hidden + 0.9 * w > 1.2
    return pd.DataFrame({"smoker": np.where(smoker, "yes", "no"), "tar": tar, "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def trial() -> pd.DataFrame:
    random = np.random.default_rng(5)
    treated = random.integers(0, 2, 600)
    cope = 0.6 * treated + random.normal(size=600)
    mood = 0.5 * cope + 0.2 * treated + 0.8 * random.normal(size=600)
    behind = [0.8 * (cope if v[0] == "c" else mood) + 0.8 * random.normal(size=600) for v in ITEMS]
    scales = {v: np.digitize(x, [-1.2, -0.3, 0.5, 1.4]) + 1 for v, x in zip(ITEMS, behind, strict=True)}
    return pd.DataFrame({"treated": treated, **scales})


def test_answers_say_what_texts_became(study: pd.DataFrame) -> None:
    text = str(ht.fit(FRONT_DOOR, study, kinds=YES_NO).query("RD(ill=1 | do(smoker=1) : do(smoker=0))"))
    assert "note: smoker is 1 for 'yes' and 0 for 'no'" in text
    assert "note: ill is 1 for 'yes' and 0 for 'no'" in text
    with pytest.raises(QuestionSyntaxError, match="not 'yes'; texts such as yes and no are read as numbers"):
        ht.fit(FRONT_DOOR, study, kinds=YES_NO).query("P(ill = yes | do(smoker=1))")


def test_a_summary_names_the_model_and_what_is_fixed(study: pd.DataFrame) -> None:
    text = ht.fit(FRONT_DOOR, study, kinds=YES_NO).summary()
    assert "Fit of a model with 3 edges in which smoker acts as a category" in text
    assert "linear" not in text.splitlines()[0]
    line = next(line for line in text.splitlines() if line.split()[:1] == ["ill"])
    assert line.split() == ["ill", "0.00000", "fixed", "1.000", "fixed"]
    assert ht.fit(FRONT_DOOR, study).summary().startswith("Fit of a linear model with 3 edges")


def test_units_stay_within_their_categories(study: pd.DataFrame) -> None:
    table = ht.fit(FRONT_DOOR, study, kinds=YES_NO).counterfactual(study, {"smoker": 0}, "ill")
    numbers = table[["ill", "ci_low", "ci_high"]].to_numpy()
    assert ((numbers >= 0.0) & (numbers <= 1.0)).all()
    as_it_was = table["ill"][(study["smoker"] == "no").to_numpy()].to_numpy()
    np.testing.assert_allclose(as_it_was, (study["ill"] == "yes")[study["smoker"] == "no"], atol=1e-12)


def test_the_command_line_takes_texts_and_speaks_of_its_options(
    study: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    study.to_csv("study.csv", index=False)
    asked = ["counterfactual", FRONT_DOOR, "study.csv", "--do", "smoker=0", "--outcome", "ill"]
    kinds = ["--kind", "smoker=acts", "--kind", "ill=ordered"]
    assert main([*asked, "--unit", "smoker=yes,ill=yes", *kinds]) == 0
    by_text = capsys.readouterr().out
    assert main([*asked, "--unit", "smoker=1,ill=1", *kinds]) == 0
    assert capsys.readouterr().out == by_text
    assert main([*asked, "--unit", "smoker=often,ill=yes", *kinds]) == 2
    assert "--unit: smoker needs a number, for instance smoker=1, not smoker=often" in capsys.readouterr().err
    assert main(["query", FRONT_DOOR, "study.csv", "smoker ~> ill", "--kind", "ill=ordered"]) == 0
    assert "--kind 'smoker=acts' if" in " ".join(capsys.readouterr().out.split())


def test_scales_alike_are_named_together(trial: pd.DataFrame) -> None:
    fit = ht.fit(FACTORS, trial, kinds=dict.fromkeys(ITEMS, "ordered"))
    assert "c1, c2, c3, m1, m2 and m3 are ordered (1, 2, 3, 4, 5). Behind each" in " ".join(fit.summary().split())
    said = fit.effects().set_index(["cause", "effect", "kind"])["note"]
    assert "treated was taken for normal" in said["treated", "m1", "total"]
    assert "normal" not in said["M", "m1", "direct"]  # a loading has enough to say


def test_factors_and_a_category_that_acts_are_refused_by_name(trial: pd.DataFrame) -> None:
    kinds: dict[str, ColumnKind] = {**dict.fromkeys(ITEMS, "ordered"), "treated": "acts"}
    with pytest.raises(
        DataError, match=r"hidden variables \('C', 'M'\) and a column that acts.*say nothing of 'treated'"
    ):
        ht.fit(FACTORS, trial, kinds=kinds)


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_how_texts_were_read_and_what_weights_count_is_said_with_and_without_missing_values(holes: float) -> None:
    rng = np.random.default_rng(11)
    n = 400
    x = rng.normal(size=n) > 0
    y = x + rng.normal(size=n)
    table = {
        "drug": np.where(x, "yes", "no"),
        "y": np.where(rng.random(n) < holes, np.nan, y),
        "z": (y + rng.normal(size=n) > 0.5).astype(float),
        "w": rng.integers(1, 4, n).astype(float),
    }
    graph = ht.graph("drug -> y -> z; drug -> z")
    fit = ht.fit(graph, table, kinds={"drug": "acts", "z": "ordered"}, weights="w")

    assert "drug is 1 for 'yes' and 0 for 'no'" in str(fit.query("drug ~> y"))
    assert "sampling weights" in " ".join(str(fit.summary()).split())
