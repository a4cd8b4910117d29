"""What a fit with kinds says of causes of two values, of columns that separate others, and of few events."""

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.bottom.choices import ColumnKind
from halftrek.errors import DataError

ILL = "age -> {drug, ill}; drug -> ill"
RISK = "RD(ill=1 | do(drug=1) : do(drug=0))"


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    random = np.random.default_rng(3)
    age, chance, error = random.normal(size=(3, 4000))
    drug = (0.5 * age + chance > 1.0) * 1
    return pd.DataFrame({"age": age, "drug": drug, "ill": (drug + 0.5 * age + error > 1.0) * 1})


def codes(fit: ht.Fit, question: str) -> list[str]:
    return [note.code for note in fit.query(question).notes]


def test_a_cause_of_two_values_of_which_nobody_said_what_acts_is_named(patients: pd.DataFrame) -> None:
    fit = ht.fit(ILL, patients, kinds={"ill": "ordered"})
    text = str(fit.query(RISK))
    assert "warning: drug has two values, causes ill, and was taken for normal" in text
    assert "kinds={'drug': 'acts'}" in text
    assert "drug has two values" in " ".join(fit.summary().split())
    assert "two values, unsaid" not in codes(fit, "age -> drug")  # a question that it does not come before
    assert "two values, unsaid" in codes(fit, "age ~> ill")


def test_tables_say_it_in_the_lines_that_it_concerns(patients: pd.DataFrame) -> None:
    fit = ht.fit(ILL, patients, kinds={"ill": "ordered"})
    said, effects = "drug was taken for normal", fit.effects()
    for line in effects.itertuples():
        assert (said in line.note) == (line.effect == "ill"), line
    notes = {(line.lhs, line.op, line.rhs): line.note for line in fit.params().itertuples()}
    assert {sides for sides, text in notes.items() if said in text} == {
        ("ill", "~", "age"), ("ill", "~", "drug"), ("ill", "~~", "ill")
    }  # fmt: skip
    assert all(said in text for text in fit.counterfactual(patients.head(3), {"drug": 1}, "ill")["note"])
    assert all(said in text for text in fit.predict(patients[["age"]].head(3), "ill")["note"])
    assert "drug has two values, causes ill" in str(fit.mediation("age", "ill"))
    assert said in str(fit.decompose("age", "ill"))
    groups = ht.fit(ILL, patients.assign(half=np.arange(len(patients)) % 2), kinds={"ill": "ordered"}, by="half")
    by_group = groups.params()
    assert by_group.loc[by_group["rhs"] == "drug", "note"].str.contains(said).any()
    assert groups.query("drug ~> ill")["note"].str.contains(said).all()
    for plain in (ht.fit(ILL, patients), ht.fit(ILL, patients, kinds={"ill": "ordered", "drug": "acts"})):
        assert not plain.effects()["note"].str.contains(said).any()
        assert not plain.params()["note"].str.contains(said).any()


def test_tables_say_it_beside_categories_that_act(patients: pd.DataFrame) -> None:
    random = np.random.default_rng(12)
    tired = (patients["drug"] + random.normal(size=len(patients)) > 0.5) * 1
    kinds: dict[str, ColumnKind] = {"ill": "ordered", "drug": "acts"}
    graph = f"{ILL}; drug -> tired -> ill"  # tired has a cause, and nobody said what acts
    fit = ht.fit(graph, patients.assign(tired=tired), kinds=kinds)
    said = "tired was taken for normal"
    effects = fit.effects("total").dropna(subset="est")  # others have no single number
    assert effects["effect"].tolist().count("ill") == 2
    for line in effects.itertuples():
        alone = "two values, unsaid" in codes(fit, f"{line.cause} ~> {line.effect}")
        assert (said in line.note) == (line.effect == "ill") == alone, line
    params = fit.params()
    assert params.loc[params["rhs"] == "tired", "note"].str.contains(said).tolist() == [True, False]


@pytest.mark.parametrize("kind", ["acts", "behind"])
def test_nothing_is_said_where_it_was_said(patients: pd.DataFrame, kind: ColumnKind) -> None:
    fit = ht.fit(ILL, patients, kinds={"ill": "ordered", "drug": kind})
    assert "two values, unsaid" not in codes(fit, "drug ~> ill")
    assert "taken for normal" not in fit.summary()


def test_nothing_is_said_without_kinds_or_of_what_is_only_conditioned_on(patients: pd.DataFrame) -> None:
    assert "two values, unsaid" not in codes(ht.fit(ILL, patients), "drug ~> ill")
    sex = np.random.default_rng(4).integers(0, 2, len(patients))
    kinds: dict[str, ColumnKind] = {"ill": "ordered", "drug": "acts"}
    given = ht.fit(f"{ILL}; sex -> ill", patients.assign(sex=sex), kinds=kinds)
    assert "two values, unsaid" not in codes(given, "drug ~> ill")
    assert "two values, unsaid" not in codes(given, "P(ill=1 | do(drug=1), sex=1)")
    assert "two values, unsaid" not in codes(given, "P(ill=1 | do(drug=1, sex=1))")
    assert "two values, unsaid" not in codes(given, "P(drug=1)")  # which it does not cause
    caused = ht.fit(f"{ILL}; sex -> ill; age -> sex", patients.assign(sex=sex), kinds=kinds)
    assert "two values, unsaid" in codes(caused, RISK)


def test_risks_that_are_averages_over_a_cause_of_two_values_say_that_it_was_taken_for_normal() -> None:
    random = np.random.default_rng(8)
    rare, (z, error, chance) = (random.random(2000) < 0.15) * 1, random.normal(size=(3, 2000))
    drug = (0.8 * z + rare + chance > 0.3) * 1
    tired = drug + z + error
    rows = pd.DataFrame({"rare": rare, "z": z, "drug": drug, "ill": (0.7 * drug + 2.5 * rare + error > 1.2) * 1})
    graph = "z -> drug; rare -> {drug, ill}; drug -> {ill, tired}; z -> tired"
    kinds: dict[str, ColumnKind] = {"drug": "acts", "ill": "ordered"}
    fit = ht.fit(graph, rows.assign(tired=tired), kinds=kinds)
    kinds["rare"] = "acts"
    right = ht.fit(graph, rows.assign(tired=tired), kinds=kinds)
    assert abs(right.query("P(ill=1)").value - rows["ill"].mean()) < 0.01
    assert abs(fit.query("P(ill=1)").value - rows["ill"].mean()) > 0.03  # far from the share of the rows
    for question in ("P(ill=1)", RISK, "P(ill=1 | do(drug=1), z=0)", "E[tired]"):
        assert "kinds={'rare': 'acts'}" in str(fit.query(question)), question
        assert "two values, unsaid" not in codes(right, question)
    for question in ("E[tired | do(drug=1)]", "drug ~> tired", "P(ill=1 | rare=1)"):
        assert "two values, unsaid" not in codes(fit, question), question


def test_a_column_that_separates_another_is_refused_by_name() -> None:
    half = np.arange(200) % 2
    x = np.random.default_rng(5).normal(size=200)
    with pytest.raises(DataError, match=r"'b' separates the categories of 'o'.*leave 'b' out"):
        ht.fit("b -> o", pd.DataFrame({"b": half, "o": half}), kinds={"b": "acts", "o": "ordered"})
    never = pd.DataFrame({"b": half, "o": half * (x > 0)})  # no row has b = 0 and o = 1
    with pytest.raises(DataError, match="'b' separates the categories of 'o'"):
        ht.fit("b -> o", never, kinds={"b": "acts", "o": "ordered"})
    with pytest.raises(DataError, match=r"'x' tells every category of 'o' apart .perfect separation."):
        ht.fit("x -> o", pd.DataFrame({"x": x, "o": (x < 0) * 1}), kinds={"o": "ordered"})
    mixed = (x + np.random.default_rng(6).normal(size=200) > 0) * 1
    ht.fit("x -> o", pd.DataFrame({"x": x, "o": mixed}), kinds={"o": "ordered"})


@pytest.mark.parametrize("kinds", [{"o": "ordered"}, {"o": "ordered", "x": "acts"}])
def test_a_plain_column_of_one_value_is_refused_by_name(kinds: dict[str, ColumnKind]) -> None:
    x = np.arange(301) % 2
    rows = pd.DataFrame({"x": x, "c": 0.1, "o": (x + np.random.default_rng(7).normal(size=301) > 0) * 1})
    assert np.std(rows["c"].to_numpy()) > 0.0  # by rounding
    with pytest.raises(DataError, match="'c' has one value in all rows"):
        ht.fit("x -> o; c -> o", rows, kinds=kinds)
    both = rows.assign(c=np.where(np.arange(301) < 150, 0.1, np.random.default_rng(9).normal(size=301)))
    groups = ht.fit("x -> o; c -> o", both.assign(g=np.arange(301) < 150), kinds=kinds, by="g")
    assert groups.query("c ~> o")["estimate"].notna().tolist() == [True, False]


@pytest.mark.parametrize("kinds", [{"o": "ordered"}, {"o": "ordered", "x": "acts"}])
def test_few_events_are_counted(kinds: dict[str, ColumnKind]) -> None:
    x = np.arange(400) % 2
    events = np.zeros(400, dtype=int)
    for count in (19, 20):
        events[:] = 0
        events[np.r_[0:8:2, 1 : 2 * (count - 4) : 2]] = 1  # 4 of them where x is 0
        assert events.sum() == count
        found = ht.fit("x -> o", pd.DataFrame({"x": x, "o": events}), kinds=kinds).query("RR(o=1 | do(x=1) : do(x=0))")
        said = [str(note) for note in found.notes if note.code == "few events"]
        if count == 20:
            assert not said
        else:
            assert said[0].startswith("o: 19 of 400 rows have its rarer value, for 2 parameters")


@pytest.mark.parametrize("kinds", [{"o": "ordered"}, {"o": "ordered", "x": "acts"}])
def test_events_that_are_missing_are_not_counted(kinds: dict[str, ColumnKind]) -> None:
    x = np.random.default_rng(2).normal(size=400)
    x = np.where(x > 0, 1.0, 0.0) if "x" in kinds else x
    rows = pd.DataFrame({"x": x, "o": np.arange(400) % 10 == 0}).astype(float)
    assert "few events" not in codes(ht.fit("x -> o", rows, kinds=kinds), "P(o=1 | do(x=1))")
    rows.loc[200:, "o"] = np.nan  # 40 events become 20, then 15
    rows.loc[:49, "o"] = np.nan
    said = str(ht.fit("x -> o", rows, kinds=kinds).query("P(o=1 | do(x=1))"))
    assert "o: 15 of 400 rows have its rarer value" in said


def test_words_where_a_category_acts_are_not_those_of_a_linear_model(patients: pd.DataFrame) -> None:
    fit = ht.fit(ILL, patients, kinds={"ill": "ordered", "drug": "acts"})
    text = fit.query(RISK).explain()
    assert "In a linear model" not in text
    assert "effects are linear on the normal variables behind columns in categories" in text
    assert "back-door" in text
    linear = ht.fit(ILL, patients).query("drug ~> ill").explain()
    assert "effects are linear and the same for all units" in linear


def test_two_models_are_shown_by_the_event_that_was_asked_for() -> None:
    text = ht.identify(f"{ILL}; drug <-> ill", "P(ill=1 | do(drug=1))").explain()
    assert "yet P(ill = 1 | do(drug=1)) (ill = 1 where a normal variable behind ill is above 1) is " in text
    assert "P(ill > 1" not in text


def test_a_sharp_rule_leaves_what_its_category_does_to_be_known() -> None:
    """Everybody above a cut is treated: z tells x apart, and the rows on both sides still tell the effect of x."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=1000)
    x = (z > 0.0).astype(float)
    y = 0.7 * x + 0.5 * z + rng.normal(size=1000)
    found = ht.fit("z -> {x, y}; x -> y", {"z": z, "x": x, "y": y}, kinds={"x": "acts"}).query("x ~> y")
    line = np.linalg.lstsq(np.stack([np.ones(1000), x, z], axis=1), y, rcond=None)[0]
    assert found.value == pytest.approx(line[1], rel=1e-4)
