"""Code above a fit asks less and less which kind of data it has: the counts are stored, and may only fall."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import kind_questions as kinds
from benchmarks.kind_questions import Question, by_room, questions, questions_in, store, stored, table

ASKED = {
    "if fit.acting is not None:\n    pass": ["acting"],
    "while graph.hidden:\n    pass": ["hidden"],
    "assert fit.moments.layer": ["layer"],
    "x = 1 if needs_whole(graph) else 2": ["needs_whole"],
    "x = [v for v in names if v not in graph.hidden]": ["hidden"],
    "x = fit.patterns is None and fit.acting is None": ["patterns", "acting"],
    "x = not kind_of_data(fit).by_district": ["by_district"],
    "x = isinstance(data_of(fit), Moments | Patterns)": ["Moments"],
    "x = any(m.cut for m in margins)": ["cut"],
    "x = any(m.cut and m.mean for m in margins)": ["cut"],
    "x = bool(rows.cluster)": ["cluster"],
    "x = fit.method == 'dwls'": ["dwls"],
    "x = fit.acting.margins[v].kind != 'acts'": ["acts"],
    "x = len(graph.hidden) > 2": ["hidden"],
    "match data:\n    case Patterns():\n        pass": ["Patterns"],
    "match m.kind:\n    case 'ranked' if m.cut:\n        pass": ["ranked", "cut"],
    "if a:\n    pass\nelif block.weights is None:\n    pass": ["weights"],
}
PLAIN = (
    "x = fit.acting",
    "show(graph.hidden)",
    "x = len(graph.hidden)",
    "if x:\n    y = fit.moments.layer",
    "x = fit.acting.theta > 0",
    "if show(fit.moments.layer):\n    pass",
    "x = rows.weights if x else rows.cluster",
    "x = 'dwls'",
    "x = Moments(names, n)",
    "if hidden:\n    pass",
)
GIVEN = {
    "layer = fit.moments.layer\nif layer is None:\n    pass": ["layer"],
    "layer, acting = fit.moments.layer, fit.acting\nassert acting": ["acting"],
    "margins = {} if fit.acting is None else fit.acting.margins\nx = v in margins": ["acting", "margins"],
    "if (m := layer.margin(v)) is not None and m.cut:\n    pass": ["margin", "cut"],
    "m = fit.acting.margins.get(v)\nx = m is None": ["margins"],
    "def inner():\n    return given is None\ngiven = sampled(fit)": ["sampled"],
    "margins = fit.acting.theta\nx = v in margins": [],
    "x = one is None": ["Layer"],
    "x = some is None": [],
}


def asked(code: str, file: str = "trust/judge.py") -> list[str]:
    return [question.name for question in questions_in(code, file)]


@pytest.mark.parametrize(("code", "names"), ASKED.items())
def test_a_name_is_asked_about_where_something_is_decided(code: str, names: list[str]) -> None:
    assert asked(code) == names


@pytest.mark.parametrize("code", PLAIN)
def test_plain_use_is_no_question(code: str) -> None:
    assert asked(code) == []


@pytest.mark.parametrize(("code", "names"), GIVEN.items())
def test_in_a_function_names_stand_for_what_they_were_given(code: str, names: list[str]) -> None:
    lines = "\n".join(f"    {line}" for line in code.splitlines())
    assert asked(f"def f(one: Layer | None, some: list | None):\n{lines}") == names


def test_a_name_may_mean_something_else_in_a_folder() -> None:
    assert asked("if node.hidden:\n    pass", "reporting/report/model.py") == ["hidden"]
    assert asked("if node.hidden:\n    pass", "reporting/plots/svg.py") == []


def test_all_rooms_are_read_that_are_not_below(tmp_path: Path) -> None:
    for file in ("data/read.py", "upward.py", "new/deep/one.py", "plot.py"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\nassert fit.acting\n")
    found = questions(tmp_path)
    assert found == [Question("new/deep/one.py", 2, "acting"), Question("plot.py", 2, "acting")]
    assert by_room(found) == {"new": 1, "plot.py": 1}
    assert table(found).splitlines() == [
        "        new  plot.py  all",
        "acting    1        1    2",
        "all       1        1    2",
    ]


def test_what_is_stored_may_move_and_fall_but_not_rise(tmp_path: Path) -> None:
    kept = tmp_path / "counts.json"
    kept.write_text('{"trust": 3, "results": 1}')
    store({"inference": 2, "results": 2}, kept)
    assert stored(kept) == {"inference": 2, "results": 2}
    with pytest.raises(SystemExit, match="5 questions, 4 before"):
        store({"inference": 5}, kept)
    assert stored(kept) == {"inference": 2, "results": 2}


def test_what_is_listed_is_there() -> None:
    """A name that was changed in the package would otherwise be asked about unseen."""
    package = kinds.ROOT / "halftrek"
    text = "\n".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    patterns = {name: rf"\.{name}\b|def {name}\(" for name in kinds.NAMES}
    patterns |= {name: rf"class {name}\b" for name in kinds.TYPES}
    patterns |= {word: f'"{word}"' for word in kinds.WORDS}
    gone = [name for name, pattern in patterns.items() if not re.search(pattern, text)]
    assert gone == [], "if they have other names now, list these; if they are gone, take them from the list"
    places = {*kinds.BELOW, *(place for places in kinds.OTHERWISE.values() for place in places)}
    assert [place for place in places if not (package / place).exists()] == []


def test_questions_about_kinds_become_fewer() -> None:
    found, before = questions(), stored()
    now = by_room(found)
    more = [f"{room} asks {n}, not {before.get(room, 0)}" for room, n in now.items() if n > before.get(room, 0)]
    assert more == [], (
        f"{len(found)} questions about the kind of data, {sum(before.values())} before: let the fit answer instead. "
        "python -m benchmarks.kind_questions --list names the places; if code moved with its questions, add --write"
    )
    assert now == before, "there are fewer questions: python -m benchmarks.kind_questions --write stores their number"
