"""Writes docs/reference/api.md from signatures and docstrings: python docs/make_reference.py."""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reference" / "api.md"

OPENING = """\
# API

Made from the docstrings by `docs/make_reference.py`; a test keeps it up to date. `import halftrek as ht` loads names
when they are first used. Options after `*` are given by name. `reporting.save` stands
for `halftrek.reporting.save`, and so on. `ht.plot` has the pictures by short names: `ht.plot.graph` is
`reporting.draw_graph`, `ht.plot.effects` is `reporting.plot_effects`, and so on. Names that are not on this page may
change.
"""

SECTIONS = (
    ("Graphs and questions", "halftrek", ("graph", "from_lavaan", "Graph", "parse_question", "format_graph")),
    ("Can it be known?", "halftrek", ("identify", "Verdict", "solve")),
    (
        "",
        "halftrek.identification",
        ("identify", "implications", "Implications", "adjustment_sets", "single_door_sets", "AdjustmentSets"),
    ),
    ("Data", "halftrek", ("moments", "Moments")),
    ("", "halftrek.data", ("read_moments",)),
    ("Fits", "halftrek", ("fit", "Fit", "Status", "fit_groups", "GroupFits", "fit_batch", "BatchFit")),
    ("", "halftrek.estimation", ("fit", "fit_batch")),
    ("What an answer rests on", "halftrek", ("sensitivity",)),
    ("", "halftrek.partial", ("Sensitivity", "Contours", "Robustness", "Ranking", "AbsentEdge", "Benchmark")),
    ("", "halftrek.inference", ("contradictions", "restrictions_behind", "Contradiction")),
    ("Answers", "halftrek", ("Answer", "table", "AnswerTable", "Gaussian")),
    ("When it cannot be known", "halftrek", ("bounds", "Bounds")),
    (
        "Models side by side",
        "halftrek",
        ("compare", "Comparison", "measurement_invariance", "fit_together", "FitsTogether"),
    ),
    ("Known models", "halftrek", ("CGLSCM", "GLSCM", "cgl_edge")),
    ("", "halftrek.simulation", ("random_graph", "random_model")),
    ("Named graphs, data sets, files", "halftrek", ("catalog", "dataset", "save", "load")),
    ("The page", "halftrek", ("open_page",)),
    ("", "halftrek.web", ("Page",)),
    (
        "Pictures",
        "halftrek.reporting",
        (
            "draw_graph", "plot_adjustments", "plot_densities", "plot_dose_response", "plot_effects", "plot_paths",
            "plot_residuals", "plot_bounds", "plot_constraints", "plot_convergence", "plot_profile", "sensitivity",
            "plot_sensitivity", "graph_svg", "to_tikz", "save",
        ),
    ),
)  # fmt: skip


def page() -> str:
    """The whole page."""
    parts = [OPENING]
    for title, room, names in SECTIONS:
        if title:
            parts.append(f"## {title}\n")
        parts += [entry(room, name) for name in names]
    parts.append(errors())
    return "\n".join(parts)


def entry(room: str, name: str) -> str:
    """A function, or a class with its attributes and methods."""
    thing = getattr(import_module(room), name)
    shown = f"ht.{name}" if room == "halftrek" else f"{room.removeprefix('halftrek.')}.{name}"
    if not inspect.isclass(thing):
        return f"### {shown}\n\n{code(name + signature(thing))}\n{prose(thing)}"
    made = "__init__" in vars(thing) or dataclasses.is_dataclass(thing)
    parts = [f"### {shown}\n"]
    if made and name in ("Graph", "Moments", "CGLSCM", "GLSCM", "Gaussian"):  # the others come out of functions
        parts.append(code(name + signature(thing)))
    parts += [prose(thing), attributes(thing)]
    for method in methods(thing):
        shape = signature(inspect.getattr_static(thing, method))
        parts += [f"#### {name}.{method}\n", code(f"{method}{shape}"), prose(getattr(thing, method))]
    return "\n".join(part for part in parts if part)


def attributes(thing: type) -> str:
    """A table of fields and properties; fields are explained in the class's own text."""
    rows = []
    if dataclasses.is_dataclass(thing):
        rows += [(f.name, kind_of(f.type), "") for f in dataclasses.fields(thing) if not f.name.startswith("_")]
    for owner in reversed(thing.__mro__):
        for name, member in vars(owner).items():
            made = member.fget if isinstance(member, property) else None
            made = member.func if isinstance(member, cached_property) else made
            if made is not None and not name.startswith("_"):
                rows.append((name, kind_of(made.__annotations__.get("return", "")), first_sentence(made)))
    if not rows:
        return ""
    lines = [f"| `{name}` | {kind} | {text} |" for name, kind, text in rows]
    return "\n".join(["| attribute | type | |", "|---|---|---|", *lines, ""])


def methods(thing: type) -> list[str]:
    """Names of public methods, inherited ones included, in the order in which they are written."""
    names = []
    for owner in thing.__mro__:
        if owner.__module__.startswith("halftrek"):
            for name, member in vars(owner).items():
                plain = inspect.isfunction(member) or isinstance(member, classmethod | staticmethod)
                if plain and not name.startswith("_") and name not in names:
                    names.append(name)
    return names


def signature(thing: Any) -> str:
    """The parameters as written, on lines of their own where one line is too short."""
    bound = isinstance(thing, classmethod | staticmethod)
    found = inspect.signature(thing.__func__ if bound else thing)
    given = [p for p in found.parameters.values() if p.name not in ("self", "cls")]
    words, starred = [], False
    for p in given:
        if p.kind is p.VAR_POSITIONAL:
            starred = True
        if p.kind is p.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        words.append(parameter(p))
    returned = found.return_annotation
    tail = "" if returned in (inspect.Signature.empty, None, "None") else f" -> {plain_kind(returned)}"
    line = f"({', '.join(words)}){tail}"
    return line if len(line) < 90 else "(\n" + "".join(f"    {word},\n" for word in words) + f"){tail}"


def parameter(p: inspect.Parameter) -> str:
    """One parameter with its type and default."""
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = "" if p.annotation is p.empty else f": {plain_kind(p.annotation)}"
    if p.default is p.empty:
        return f"{stars}{p.name}{kind}"
    default = "..." if "factory" in repr(p.default) else repr(p.default).replace("'", '"')
    return f"{stars}{p.name}{kind}{' = ' if kind else '='}{default}"


def plain_kind(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.replace("os.PathLike[str]", "PathLike").replace("'", '"')


def kind_of(annotation: Any) -> str:
    """A type in a cell of a table."""
    text = plain_kind(annotation)
    return f"`{text}`".replace("|", "\\|") if text else ""


def code(text: str) -> str:
    return f"```py\n{text}\n```\n"


def prose(thing: Any) -> str:
    """A docstring as Markdown."""
    text = inspect.cleandoc(thing.__doc__ or "")
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text)
    return re.sub(r"``(.*?)``", r"`\1`", text, flags=re.DOTALL) + "\n"


def first_sentence(thing: Any) -> str:
    return prose(thing).split("\n\n")[0].replace("\n", " ").replace("|", "\\|").strip()


def errors() -> str:
    """The tree of errors and the warning, as a table."""
    import halftrek as ht

    found = [getattr(ht, name) for name in ht.__all__ if name.endswith(("Error", "Warning"))]
    found.sort(key=lambda e: ([c.__name__ for c in reversed(e.__mro__)]))
    rows = [f"| `ht.{e.__name__}` | `{e.__mro__[1].__name__}` | {first_sentence(e)} |" for e in found]
    top = "## Errors\n\nEvery message names the variable, the place in the text or the file, and what to do.\n"
    return "\n".join([top, "| error | is a | |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
