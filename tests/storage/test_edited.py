"""Files that were edited and given a new digest: every field is looked at, and the refusal names it and the file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import halftrek as ht
from halftrek.storage import files
from tests.public_values import fits, graphs, grouped


def reloaded(path: Path, content: Any) -> Any:
    head = {"format": files.FORMAT, "version": 1, "halftrek": "0.1.0", "digest": files._digest(content)}
    path.write_text(json.dumps({**head, "content": content}))
    return ht.load(path)


def content_of(value: Any, path: Path) -> Any:
    return json.loads(ht.save(value, path).read_text())["content"]


def put(key: str, new: Any) -> Callable[[Any], None]:
    """Set a field that is written ``model.T.values.0``."""

    def change(content: Any) -> None:
        *way, last = (int(k) if k.isdigit() else k for k in key.split("."))
        for k in way:
            content = content[k]
        if new is ...:
            del content[last]
        else:
            content[last] = new

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("graph.coefficients", "Graph"), r"content\.graph\.coefficients is 'Graph'"),
        (put("graph.directed.0", ["z"]), r"content\.graph\.directed is a tuple"),
        (put("status", None), r"content\.status is None"),
        (put("loglik", "high"), r"content\.loglik is 'high'"),
        (put("loglik", {"type": "number", "value": "nan"}), "log-likelihood cannot be nan"),
        (put("loglik", ...), "content, a Fit, lacks 'loglik'"),
        (put("colour", "red"), "a part 'colour', which is not known"),
        (put("moments.n", 10**400), r"content\.moments\.n is a number of many digits"),
        (put("moments.n", -5.0), "n must be a positive number"),
        (put("moments.cov.values.0", 10**30), r"content\.moments\.cov, an array of numbers, holds"),
        (put("moments.cov.values.0", -1.0), "variance of .* is negative"),
        (put("moments.cov.values.0", 1e-9), "not positive definite"),
        (put("moments.cov.values.1", 0.123), "must be symmetric|not positive definite"),
        (put("moments.mean.shape", [-8]), r"content\.moments\.mean, an array, has the shape \[-8\]"),
        (put("moments.names.0", "other"), "the moments have other names"),
        (put("model.W.values.0", -3.0), "negative variance"),
        (put("model.T.values.0", 1.0), "cycle|itself"),
        (put("model.latents.0", "V"), "hidden causes are not those of the graph"),
        (put("districts.0.members.0", "nobody"), "districts names 'nobody'"),
        (put("districts.0.iterations", -1), "iterations cannot be -1"),
        (put("districts.0.code", "fine"), r"districts\.code is 'fine'"),
        (put("options.noise", [["nobody", 1.0]]), "options names 'nobody'"),
        (put("method", "magic"), "there is no method 'magic'"),
        (put("frame", "\ud800"), "half of a character"),
    ],
)
def test_a_field_of_a_fit_that_is_wrong_is_named(change: Any, words: str, tmp_path: Path) -> None:
    content = content_of(fits()["complete"], tmp_path / "fit.json")
    change(content)
    with pytest.raises(ht.InputError, match=words) as caught:
        reloaded(tmp_path / "fit.json", content)
    assert str(tmp_path / "fit.json") in str(caught.value)


def test_untouched_files_load(tmp_path: Path) -> None:
    for value in (*fits().values(), *grouped().values(), *graphs().values()):
        assert type(reloaded(tmp_path / "again.json", content_of(value, tmp_path / "once.json"))) is type(value)


def test_a_key_twice_a_number_too_large_and_a_deep_nest(tmp_path: Path) -> None:
    path = ht.save(ht.graph("x -> y"), tmp_path / "graph.json")
    whole = path.read_text()
    for new, words in (
        (whole.replace('"version": 1', '"version": 1, "version": 1'), "'version' twice"),
        (whole.replace('"version": 1', '"version": 1e999'), "too large for a number"),
        (whole.replace('"version": 1', '"version": 1, "more": 2'), "a part 'more', which is not known"),
        ('{"format": "halftrek", "version": 1, "content": ' + "9" * 5000 + "}", "not JSON that halftrek wrote"),
        ('{"format": "halftrek", "version": 1, "content": ' + "[" * 100_000 + "]" * 100_000 + "}", "not JSON|nested"),
        ('{"format": "halftrek", "version": 1, "content": {"a": ' + "[" * 400 + "]" * 400 + "}}", "nested more than"),
    ):
        path.write_text(new)
        with pytest.raises(ht.InputError, match=words):
            ht.load(path)


def test_what_is_no_value_of_its_own_is_not_loaded(tmp_path: Path) -> None:
    for content, words in (
        ({"type": "number", "value": "nan"}, "does not save alone"),
        ({"type": "list", "items": [1]}, "does not save alone"),
        ({"type": "number", "value": "1e5"}, "where nan, inf or -inf is meant"),
        ({"type": "map", "items": [["x", 1], ["x", 2]]}, "a key or a member twice"),
        ({"type": "map", "items": [[{"type": "list", "items": []}, 1]]}, "cannot be one"),
        ({"type": "array", "shape": [1], "dtype": "str", "width": 10**12, "values": ["x"]}, "the width"),
        ({"type": "array", "shape": [1], "dtype": "bool", "values": ["yes"]}, "array of truth values, holds"),
        ({"type": "RowBlock", "values": 1}, "'RowBlock', which is not known"),
    ):
        with pytest.raises(ht.InputError, match=words):
            reloaded(tmp_path / "odd.json", content)
