"""``analysis.toml``: a whole run in one file, read with errors that name the key, and written from the choices made."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from halftrek.cli.analysis import Analysis, Data, Fitting, Lavaan, Output, Uncertainty
from halftrek.errors import HalftrekError, InputError

_TABLES: dict[str, type] = {
    "data": Data,
    "lavaan": Lavaan,
    "fit": Fitting,
    "uncertainty": Uncertainty,
    "output": Output,
}
_KINDS = {str: "a text", float: "a number", int: "a whole number", bool: "true or false"}


def read_analysis(path: str, *, outside: bool = False, connect: str | None = None) -> Analysis:
    """The analysis of a file; files that it names are looked for beside it, and lie there unless ``outside``.

    Whoever runs a file that somebody sent has seen the command, not the file. So the command alone names a database.
    """
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"there is no analysis file {path!r}; halftrek fit … --write-analysis makes one") from None
    except UnicodeDecodeError:
        raise InputError(f"the analysis file {path!r} is not text in UTF-8") from None
    except OSError as error:
        raise InputError(f"the analysis file {path!r} cannot be read: {error.strerror or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path!r} is not TOML: {error}") from None
    except RecursionError:
        raise InputError(f"{path!r} is nested too deeply to be an analysis") from None
    except ValueError as error:  # a name with a zero byte
        raise InputError(f"the analysis file {path!r} cannot be read: {error}") from None
    try:
        analysis = replace(_analysis(given, Path(path).parent), sent=True, outside=outside)
        analysis = replace(analysis, data=replace(analysis.data, connect=connect))
        _refuse_odd_names(analysis)
        _refuse_own_inputs(analysis, Path(path))
        for key, name in () if outside else names_outside(analysis):
            raise InputError(f"{key} = {name!r} lies outside the folder of the file; --outside allows it")
        return analysis
    except HalftrekError as error:
        raise InputError(f"{path}: {error}") from None


def _analysis(given: Mapping[str, object], folder: Path) -> Analysis:
    _refuse_unknown(given, ("graph", "questions", *_TABLES), "an analysis")
    for key in ("graph", "data"):
        if key not in given:
            raise InputError(f"the key {key!r} is missing" + (": a file, a name, or text" if key == "graph" else ""))
    if not isinstance(given["graph"], str):
        raise InputError(f"graph must be a text, not {given['graph']!r}")
    questions = given.get("questions", [])
    if not (isinstance(questions, list) and all(isinstance(q, str) for q in questions)):
        raise InputError(f"questions must be a list of texts such as ['x ~> y'], not {questions!r}")
    parts = {name: _part(kind, given.get(name, {}), name) for name, kind in _TABLES.items()}
    if not 0.0 < parts["uncertainty"].level < 1.0:
        raise InputError("[uncertainty] level must lie between 0 and 1, for instance 0.95")
    return Analysis(given["graph"], questions=tuple(questions), folder=folder, **parts)


def _part(kind: type, given: object, name: str) -> Any:
    if not isinstance(given, dict):
        raise InputError(f"{name} must be a table: write [{name}] above its keys")
    hints = get_type_hints(kind)
    if "connect" in given and kind is Data:
        raise InputError("an analysis file names no database; leave connect out, and give --connect ADDRESS beside it")
    _refuse_unknown(given, tuple(hints), f"[{name}]")
    return kind(**{key: _checked(value, hints[key], f"[{name}] {key}") for key, value in given.items()})


def _checked(value: object, hint: object, key: str) -> object:
    """The value, if it is of the kind that the field has."""
    several = get_origin(hint) not in (None, Literal)
    kinds = [kind for kind in (get_args(hint) if several else (hint,)) if kind is not type(None)]
    for kind in kinds:
        if get_origin(kind) is Literal:
            if value in get_args(kind):
                return value
            raise InputError(f"{key} must be one of {', '.join(map(repr, get_args(kind)))}, not {value!r}")
        if get_origin(kind) is Mapping:
            return _by_name(value, get_args(kind)[1], key)
        if _is(value, kind):
            return float(value) if kind is float and isinstance(value, int | float) else value
    raise InputError(f"{key} must be {_KINDS[kinds[0]]}, not {value!r}")


def _by_name(value: object, kind: type, key: str) -> dict[str, object]:
    """Numbers by name, or texts (a level of a category may be a number, too)."""
    entries: dict[str, Any] = value if isinstance(value, dict) else {"": None}
    inside = entries.values()
    if kind is float and all(_is(v, float) for v in inside):
        return {name: float(v) for name, v in entries.items()}
    if kind is str and all(_is(v, str) or _is(v, float) for v in inside):
        return {name: v if isinstance(v, str) else f"{v:.12g}" for name, v in entries.items()}
    said = "numbers by name, like { x = 1.0 }" if kind is float else 'levels by name, like { region = "north" }'
    raise InputError(f"{key} must be {said}, not {value!r}")


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _refuse_unknown(given: Mapping[str, object], known: tuple[str, ...], where: str) -> None:
    for key in given:
        if key not in known:
            from halftrek.graphs import did_you_mean

            raise InputError(f"{where} has no key {key!r}.{did_you_mean(key, known)}")


def names_outside(analysis: Analysis) -> list[tuple[str, str]]:
    """Keys and names of the files that do not lie in the folder of the analysis, links followed."""
    from halftrek.data.sources.sql import lies_within

    named = [(key, name) for key, name in _input_files(analysis) if name is not None]
    named += [(f"[output] {key}", name) for key, name in _output_files(analysis).items()]
    return [pair for pair in named if not lies_within(analysis.folder, analysis.folder, pair[1])]


def _input_files(analysis: Analysis) -> list[tuple[str, str | None]]:
    graph, data = analysis.graph, analysis.data
    file = data.file if data.file != "-" and _found(analysis.folder, data.file) else None
    return [
        ("graph", graph if _exists(str(analysis.folder / graph)) else None),
        ("[data] file", file),
        ("[data] cov", data.cov),
    ]


def _found(folder: Path, name: str | None) -> bool:
    """True for a file or a pattern; a bundled data set is neither."""
    return name is not None and (_exists(str(folder / name)) or any(letter in name for letter in "*?[/\\"))


def _output_files(analysis: Analysis) -> dict[str, str]:
    given = {key: getattr(analysis.output, key) for key in ("report", "results", "model")}
    return {key: name for key, name in given.items() if name is not None}


def _refuse_odd_names(analysis: Analysis) -> None:
    named = dict(_input_files(analysis)) | {f"[output] {k}": name for k, name in _output_files(analysis).items()}
    for key, name in named.items():
        if name is not None and "\0" in name:
            raise InputError(f"{key} = {name!r} is no name of a file; leave the zero byte out")


def _refuse_own_inputs(analysis: Analysis, path: Path) -> None:
    """A run never writes over what it reads, whatever it is forced to."""
    read = {os.path.realpath(path): path.name}
    read |= {os.path.realpath(analysis.folder / name): name for _, name in _input_files(analysis) if name is not None}
    for key, name in _output_files(analysis).items():
        if os.path.realpath(analysis.folder / name) in read:
            raise InputError(f"[output] {key} = {name!r} is a file that the analysis reads; name another file")


def keep_analysis(analysis: Analysis, path: str | None, force: bool = False) -> None:
    """Writes the analysis if there is a place for it."""
    if path is None:
        return
    from halftrek.bottom.files import whole_file

    moved = _moved(analysis, Path(path).parent)
    with whole_file(path, overwrite=force) as unfinished:
        unfinished.write_text(analysis_text(moved), encoding="utf-8")
    if analysis.data.connect is not None:
        print(
            f"halftrek: note: halftrek run {path} needs --connect ADDRESS, which is not written down", file=sys.stderr
        )
    if names_outside(replace(moved, folder=Path(path).parent)):
        print(f"halftrek: note: halftrek run {path} needs --outside, for it names files elsewhere", file=sys.stderr)


def _moved(analysis: Analysis, folder: Path) -> Analysis:
    """The same analysis with files named from another folder."""
    data = analysis.data
    if data.file == "-" or analysis.graph == "-":
        raise InputError("--write-analysis needs a graph and data that can be read again, not standard input")
    if folder.resolve() == Path.cwd():
        return analysis
    if data.sql is not None and data.connect is None:
        raise InputError("--write-analysis with --sql writes into the current folder, from which the query names files")
    graph = os.path.relpath(analysis.graph, folder) if _exists(analysis.graph) else analysis.graph
    file = os.path.relpath(data.file, folder) if data.file and _exists(data.file) else data.file
    cov = os.path.relpath(data.cov, folder) if data.cov else None
    return replace(analysis, graph=graph, data=replace(data, file=file, cov=cov))


def _exists(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # a long text is no possible name
        return False


def analysis_text(analysis: Analysis) -> str:
    """The analysis as TOML; what is as usual is left out."""
    lines = ["# halftrek run analysis.toml", f"graph = {_text(analysis.graph)}"]
    if analysis.questions:
        lines.append("questions = [" + ", ".join(map(_text, analysis.questions)) + "]")
    for name, kind in _TABLES.items():
        part = analysis.data if name == "data" else getattr(analysis, name)
        said = []
        for f in fields(kind):
            value = getattr(part, f.name) if f.name != "connect" else None
            if value is not None and (f.default is MISSING or value != f.default):
                said.append(f"{f.name} = {_toml(value)}")
        if said:
            lines += ["", f"[{name}]", *said]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_text(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
