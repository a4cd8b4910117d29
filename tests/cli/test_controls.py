"""What a graph's file says is shown, never obeyed: no control character of a name reaches a terminal."""

import json
import re
import warnings
from pathlib import Path

import pytest

from halftrek.cli import main
from halftrek.errors import DataError, GraphSyntaxError, HalftrekWarning, printable
from halftrek.graphs import Graph
from halftrek.reporting.tables import facts, paragraph, table
from halftrek.syntax import parse_graph
from tests.cli.test_output import on_terminal

EVIL = "a\x1b]0;title\x07b\x9b2Jc\u202ed\u2066e"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "graph.txt"
    path.write_text(f'"{EVIL}" -> m -> y; "{EVIL}" <-> y\n', encoding="utf-8")
    return str(path)


COMMANDS = (
    ["identify", "{graph}", "m -> y"],
    ["identify", "{graph}", 'P(y | do("a=1"))'],
    ["identify", "{graph}", f'"{EVIL}" ~> y'],
    ["identify", "{graph}", f'"{EVIL}x" ~> y'],
    ["identify", "{graph}", f"E[{EVIL}]"],
    ["identify", f"x => {EVIL}", "x -> y"],
    ["identify", f'"{EVIL}" -> "{EVIL}"', "x -> y"],
    ["convert", f'"{EVIL}" -> y', "--to", "lavaan"],
    ["convert", f"{EVIL}.csv", "--to", "lavaan"],
    ["fit", "{graph}", f"/no/{EVIL}.csv"],
    ["nothing", EVIL],
    ["identify", "{graph}", "m -> y", f"--{EVIL}"],
)


@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_commands(graph: str, words: list[str], extra: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([word.format(graph=graph) if "{graph}" in word else word for word in words] + extra)
    out = capsys.readouterr()
    assert out.out + out.err
    assert not OBEYED.findall(out.out + out.err)


def test_json_loses_nothing(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["convert", graph, "--to", "arrows", "--json"])
    assert json.loads(capsys.readouterr().out)["graph"]["observed"][0] == EVIL


def test_convert_writes_files_whole_and_terminals_escaped(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["convert", graph, "--to", "arrows"])
    assert parse_graph(capsys.readouterr().out) == parse_graph(Path(graph).read_text(encoding="utf-8"))
    shown = on_terminal(["convert", graph, "--to", "arrows"], NO_COLOR="1").replace("\r\n", "\n")
    assert "\\x1b]0;title\\x07" in shown
    assert not OBEYED.findall(shown)


def test_errors_and_warnings_have_texts_that_can_be_shown() -> None:
    assert str(DataError(f"no column {EVIL}")) == "no column a\\x1b]0;title\\x07b\\x9b2Jc\\u202ed\\u2066e"
    with pytest.raises(GraphSyntaxError) as caught:
        parse_graph(f'"{EVIL}" => y')
    shown, pointer = str(caught.value).splitlines()[1:]
    assert shown[pointer.index("^")] == "="
    assert not OBEYED.findall(str(caught.value))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.warn(EVIL, HalftrekWarning, stacklevel=1)
    assert str(heard[0].message) == printable(EVIL)


def test_tables_measure_what_is_shown() -> None:
    for text in (table(("name", EVIL), [(EVIL, 1.0), ("b", 2.0)]), facts([(EVIL, EVIL)]), paragraph(EVIL)):
        assert not OBEYED.findall(text)
    assert len({len(line) for line in table(("name", "number"), [(EVIL, 1.0), ("b", 2.0)]).splitlines()[1:]}) == 1


def test_half_letters(capsys: pytest.CaptureFixture[str]) -> None:
    """What a shell makes of bytes that are no text."""
    for text in ("x\ud800 -> y", '"x\ud800" -> y', 'x -> y ["\udcff"]', "y ~ x # \udcff"):
        assert main(["identify", text, "x -> y"]) in (0, 2)
    assert not OBEYED.findall("".join(capsys.readouterr()))
    for text in ('"x\ud800" -> y', 'x -> y ["\udcff"]'):
        with pytest.raises(GraphSyntaxError, match="half a letter"):
            parse_graph(text)
    with pytest.raises(ValueError, match="half a letter"):
        Graph([("x\ud800", "y")])
    with pytest.raises(ValueError, match="half a letter"):
        Graph([("x", "y")], coefficients={"x -> y": "\ud800"})
