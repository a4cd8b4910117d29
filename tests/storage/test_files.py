"""Saved and loaded: the same to the last bit; what is not whole, not ours or too new is refused with a reason."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halftrek as ht
from halftrek.simulation import random_model
from halftrek.storage import files
from halftrek.storage.codec import decode, encode
from halftrek.storage.malformed import Malformed

GRAPH = ht.graph("z -> x -> y; x <-> y; a -> y; latent U; U -> {a, z, w}; c -> d; c <-> d")
QUESTIONS = ("P(y | do(x=1))", "P(y, w | do(x=1, a=0.3), z=2)", "z ~> y", "x -> y", "x <-> y", "P(y_{x=1} | x=0, y=2)")
SAVED = Path(__file__).parents[1] / "reference" / "saved"


@pytest.fixture(scope="module")
def fit() -> ht.Fit:
    """With some weights held, near where they are: of a model that fits badly much more is worked out."""
    model = random_model(GRAPH, random_state=3)
    a, w, y = map(model.names.index, "awy")
    noise, coefficients = {"w": float(model.psi[w])}, {"a -> y": float(model.T[a, y])}
    return ht.fit(GRAPH, model.sample(2_000, random_state=4), noise=noise, coefficients=coefficients)


def same(first: Any, second: Any) -> bool:
    """Equal in every part and bit, and of the same kinds."""
    if is_dataclass(first):
        parts = [f.name for f in fields(first)]
        return type(first) is type(second) and all(same(getattr(first, p), getattr(second, p)) for p in parts)
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and first.shape == second.shape and first.tobytes() == second.tobytes()
    if isinstance(first, (tuple, list)):
        return type(first) is type(second) and len(first) == len(second) and all(map(same, first, second))
    if hasattr(first, "items"):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    return type(first) is type(second) and (first == second or (first != first and second != second))


def test_a_loaded_fit_is_the_fit(fit: ht.Fit, tmp_path: Path) -> None:
    path = fit.save(tmp_path / "model.json")
    loaded = ht.load(path)
    assert same(loaded, replace(fit, rows=None, rows_left_out=True))
    assert loaded.summary() == fit.summary()
    for question in QUESTIONS:
        assert same(loaded.query(question), fit.query(question))
    with pytest.raises(ht.NotIdentifiedError):
        loaded.query("c -> d")


def test_rows_only_where_wanted(tmp_path: Path) -> None:
    study = ht.dataset("mroz")
    assert study.path is not None
    frame = pd.read_csv(study.path).assign(
        half=lambda rows: rows["educ"] // 2, weight=lambda rows: 1.0 + rows["educ"] % 2
    )
    fit = ht.fit(study.graph, frame, cluster="half", weights="weight")
    assert fit.rows is not None
    assert ht.load(fit.save(tmp_path / "fit.json")).rows is None
    back = ht.load(fit.save(tmp_path / "fit.json", rows=True)).rows
    ours, theirs = next(fit.rows.blocks(fit.moments)), next(back.blocks(fit.moments))
    assert same(np.asarray(theirs.values), np.asarray(ours.values))
    assert same(theirs.weights, ours.weights)
    assert same(theirs.cluster, ours.cluster)
    by_file = ht.load(ht.fit(study.graph, study.path).save(tmp_path / "file.json"))
    assert by_file.rows.source == str(study.path)
    assert len(next(by_file.rows.blocks(by_file.moments))) == 428
    loaded = ht.load(fit.save(tmp_path / "fit.json"))
    with pytest.raises(ht.InputError, match=r"not saved with this fit: .* save\(path, rows=True\)"):
        loaded.params(interval="robust")
    with pytest.raises(ht.InputError, match="were not saved with this fit"):
        loaded.save(tmp_path / "again.json", rows=True)
    again = ht.load(loaded.save(tmp_path / "again.json"))
    assert again.rows_left_out
    assert not ht.load(fit.save(tmp_path / "fit.json", rows=True)).rows_left_out
    with pytest.raises(ht.InputError, match="no rows, only moments"):
        ht.fit(study.graph, fit.moments).save(tmp_path / "m.json", rows=True)


def test_answers_models_and_the_rest(fit: ht.Fit, tmp_path: Path) -> None:
    general = ht.GLSCM(("x", "y"), np.array([[0.0, 2.0], [0.0, 0.0]]), np.ones((1, 2)), np.zeros(2), np.ones(2), ("U",))
    things: list[Any] = [fit.query(q) for q in QUESTIONS]
    things += [fit.model, general, fit.graph, fit.moments, ht.identify("x -> y; x <-> y", "x -> y")]
    things += [ht.identify("w -> z -> x -> y; w <-> x; w <-> y", "P(y | do(x))"), fit.model.query("x ~> y")]
    for i, thing in enumerate(things):
        path = tmp_path / f"{i}.json"
        assert ht.save(thing, path) == path
        assert same(ht.load(path), thing)
    assert same(ht.load(general.save(tmp_path / "g.json")).centralize(), general.centralize())
    assert same(ht.load(fit.model.save(tmp_path / "m.json")), fit.model)
    assert str(ht.load(things[0].save(tmp_path / "a.json"))) == str(things[0])


def test_version_1_keeps_loading() -> None:
    """These files were written by 0.1.0 and stay as they are."""
    fit = ht.load(SAVED / "fit_v1.json")
    numbers = json.loads((SAVED / "expected_v1.json").read_text())
    assert fit.loglik == numbers["loglik"]
    assert fit.query("P(cancer_risk | do(smoking=1))").mean == pytest.approx(numbers["mean"], rel=1e-13)
    assert fit.effect("smoking", "cancer_risk").interval == pytest.approx(numbers["interval"], rel=1e-10)
    answer = ht.load(SAVED / "answer_v1.json")
    assert answer.value == numbers["value"]
    assert list(answer.interval) == numbers["interval"]
    assert answer.verdict.identified
    assert ht.load(SAVED / "model_v1.json").query("smoking ~> cancer_risk").value == numbers["true_value"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("converged", ""),
        ("flat", "converged: District {x, y}: its parameters cannot be determined. No row has both x and y."),
        ("boundary", "converged at the boundary: District {x, y}: a noise variance is zero; do not trust it."),
        ("not converged", "not converged: the literal algorithm stopped after 3 rounds; raise max_iter."),
    ],
)
def test_a_status_that_was_one_text_says_the_same(code: str, message: str) -> None:
    status = decode({"type": "Status", "code": code, "message": message})
    said = message.replace("at the boundary", "with a noise variance of zero") if code == "boundary" else message
    assert (status.code, str(status).replace(", with", " with")) == (code, said)
    assert decode(encode(status)) == status


def test_a_status_whose_message_is_no_text_is_refused() -> None:
    with pytest.raises(Malformed, match="a message is a text, not 5"):
        decode({"type": "Status", "code": "flat", "message": 5})


def test_advice_that_was_sentences_says_the_same() -> None:
    verdict = ht.identify("x -> y; x <-> y", "x -> y")
    saved = encode(verdict)
    assert isinstance(saved, dict)
    del saved["advice"]
    assert decode({**saved, "helps": ["measuring talent", "measuring luck"]}).helps == (
        "measuring talent",
        "measuring luck",
    )
    assert decode(encode(verdict)).advice == verdict.advice


def test_groups_with_missing_values_load_under_the_name_that_they_had() -> None:
    rows = random_model(ht.graph("z -> x"), random_state=3).sample(90, random_state=4)
    rows[:5, 0] = np.nan
    fits = ht.fit_groups("z -> x", dict(zip("zx", np.asarray(rows).T, strict=True)), by=np.repeat(["a", "b", "c"], 30))
    saved = encode(fits)
    assert isinstance(saved, dict)
    before = {"holed" if key == "alone" else key: part for key, part in saved.items()}
    assert list(fits.alone) == [0]
    assert same(decode(before), fits)
    with pytest.raises(Malformed, match="has a part 'holed', which is not known"):
        decode({**before, **saved})


@pytest.mark.parametrize("name", ["counterfactual", "intervention"])
def test_questions_of_version_1_are_those_of_today(name: str, tmp_path: Path) -> None:
    """In these files a variable where others are held is a ``Potential``, which today is a ``Variant``."""
    answer = ht.load(SAVED / f"{name}_v1.json")
    assert ('"Potential"' in (SAVED / f"{name}_v1.json").read_text()) == (name == "counterfactual")
    assert answer.query == ht.parse_question(str(answer.query))
    again = ht.load(SAVED / "model_v1.json").query(answer.query)
    assert again.result.names == answer.result.names
    np.testing.assert_allclose(again.result.mean, answer.result.mean, rtol=1e-12)
    np.testing.assert_allclose(again.result.cov, answer.result.cov, rtol=1e-12, atol=1e-14)
    path = answer.save(tmp_path / "again.json")
    assert '"Potential"' not in path.read_text()
    assert ht.load(path).query == answer.query


def test_an_older_version_goes_through_every_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = ht.save(ht.graph("x -> y"), tmp_path / "old.json")

    def rename(content: Any) -> Any:
        return {**content, "directed": [["cause", "effect"]], "observed": ["cause", "effect"]}

    def extend(content: Any) -> Any:
        return {**content, "observed": [*content["observed"], "more"]}

    monkeypatch.setattr(files, "VERSION", 3)
    monkeypatch.setattr(files, "_MIGRATIONS", {1: rename, 2: extend})
    loaded = ht.load(path)
    assert loaded.directed == (("cause", "effect"),)
    assert loaded.observed == ("cause", "effect", "more")


def test_every_version_up_to_now_has_a_step_and_a_sample() -> None:
    assert sorted(files._MIGRATIONS) == list(range(1, files.VERSION))
    for version in range(1, files.VERSION + 1):
        assert (SAVED / f"fit_v{version}.json").is_file()


def edited(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_what_cannot_be_loaded_says_why(fit: ht.Fit, tmp_path: Path) -> None:
    path = fit.save(tmp_path / "model.json")
    whole = path.read_text()

    def refusal() -> str:
        with pytest.raises(ht.InputError) as caught:
            ht.load(path)
        assert str(path) in str(caught.value)
        return str(caught.value)

    path.write_text(whole[: len(whole) // 2])
    assert "cut off" in refusal()
    path.write_text("")
    assert "cut off" in refusal()
    path.write_bytes(b"\x89PNG\xff\xfe")
    assert "not text" in refusal()
    for foreign in ("[1, 2]", "{}", '{"format": "other"}', '"halftrek"'):
        path.write_text(foreign)
        assert "not a file that halftrek saved" in refusal()
    path.write_text('{"format": NaN}')
    assert "NaN" in refusal()
    path.write_text(whole)
    edited(path, version=files.VERSION + 1, halftrek="9.9.9")
    assert "Install a newer halftrek" in refusal()
    assert "9.9.9" in refusal()
    for wrong in (0, -1, "1", None, True, 1.5):
        edited(path, version=wrong)
        assert "format version" in refusal()
    path.write_text(whole.replace('"n": 2000.0', '"n": 2001.0'))
    assert "damaged or edited" in refusal()
    path.unlink()
    assert "no such file" in refusal()
    path.mkdir()
    assert "directory" in refusal().lower()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"type": "Popen", "args": "ls"}, "'Popen', which is not known"),
        ({"type": "Graph", "colour": "red"}, "a part 'colour'"),
        ({"type": "Gaussian", "names": ["x"]}, "lacks 'mean'"),
        ({"type": "Graph", "directed": [["x", "y"], ["y", "x"]]}, "cycle"),
        ({"type": "array", "shape": [3], "values": [1.0]}, "array of 1 numbers"),
        ({"type": "array", "shape": [1], "dtype": "object", "values": [1.0]}, "array of 'object'"),
        ({"type": "array", "shape": [1]}, "no 'values'"),
        ({"type": "map", "items": [[1]]}, "do not make a whole"),
        ({"value": 1}, "type None"),
        ({"type": "Interventional", "outcomes": ["y"], "of": []}, "an?.*has a part 'of', which is not known"),
        ({"type": "Counterfactual", "outcomes": [], "do": {"type": "map", "items": []}}, "a part 'do'"),
        ({"type": "Interventional"}, "lacks 'outcomes'"),
        ({"type": "Interventional", "outcomes": []}, "nothing is asked for"),
        ({"type": "Interventional", "outcomes": [5]}, "cannot be the 'variable'"),
        ({"type": "Interventional", "outcomes": ["y"], "given": {"type": "list", "items": []}}, "given is no map"),
        ({"type": "Counterfactual", "outcomes": ["y"]}, "cannot be the 'parts' of a Sum"),
    ],
)
def test_a_valid_envelope_around_nonsense(content: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    head = {"format": files.FORMAT, "version": 1, "halftrek": "0.1.0", "digest": files._digest(content)}
    path.write_text(json.dumps({**head, "content": content}))
    with pytest.raises(ht.InputError, match=words):
        ht.load(path)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(place=st.floats(0, 1), new=st.integers(32, 126))
def test_no_changed_byte_gives_another_graph(place: float, new: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    graph = ht.graph("x -> y [0.5]; x <-> z")
    path = ht.save(graph, tmp_path_factory.mktemp("bytes") / "graph.json")
    raw = bytearray(path.read_bytes())
    raw[int(place * (len(raw) - 1))] = new
    path.write_bytes(bytes(raw))
    with contextlib.suppress(ht.InputError):
        assert same(ht.load(path), graph)


def test_writing_is_whole_or_not_at_all(fit: ht.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", _no_space)
    with pytest.raises(ht.OutputError, match="No space left"):
        fit.save(path, overwrite=True)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.json"]


def _no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_where_nothing_can_be_written(fit: ht.Fit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ht.OutputError, match="there is no folder"):
        fit.save(tmp_path / "no" / "model.json")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(ht.OutputError, match=r"Permission denied. Choose another place"):
            fit.save(tmp_path / "model.json")
    with pytest.raises(ht.InputError, match="a dict cannot be saved"):
        ht.save({"x": 1}, tmp_path / "model.json")


def test_arrays_of_every_kind_and_size() -> None:
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal((70, 70)),
        np.asfortranarray(rng.standard_normal((3, 4))),
        np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1]),
        np.zeros((0, 3)),
        np.arange(6).reshape(2, 3),
        np.array([True, False]),
        np.array(2.5),
    ]
    for array in arrays:
        back = decode(json.loads(json.dumps(encode(array), allow_nan=False)))
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert back.tobytes() == array.tobytes()
        assert back.flags.f_contiguous == array.flags.f_contiguous
    rows = ht.CGLSCM.from_parameters(names=["x", "y"], T=[[0, 1], [0, 0]]).sample(5, random_state=0)
    assert decode(encode(rows)).names == ("x", "y")
    with pytest.raises(ht.InputError, match="complex128"):
        encode(np.ones(2) * 1j)


def test_a_loaded_fit_remembers_that_its_rows_were_in_clusters(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = {"x": rng.normal(size=60), "y": rng.normal(size=60), "c": np.repeat(np.arange(12), 5)}
    ht.fit("x -> y", rows, cluster="c").save(tmp_path / "fit.json")
    loaded = ht.load(tmp_path / "fit.json")
    with pytest.raises(ht.InputError, match="not saved"):
        loaded.effect("x", "y")
    assert any("clusters" in w for w in loaded.effect("x", "y", interval="delta").warnings)


def test_fits_by_group_are_saved_by_both_ways_without_rows(tmp_path: Path) -> None:
    frame = ht.dataset("airquality").data
    fits = ht.fit("Solar -> Temp; Temp -> Ozone", frame, by="Month", missing="drop")
    fits.save(tmp_path / "method.json")
    ht.save(fits, tmp_path / "function.json")
    assert (tmp_path / "method.json").read_text() == (tmp_path / "function.json").read_text()
    assert ht.load(tmp_path / "function.json").keys == fits.keys
