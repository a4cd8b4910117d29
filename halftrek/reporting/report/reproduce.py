"""The last chapter: versions, options, digests, and code that gives the same numbers again."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from halftrek.inference import How
from halftrek.reporting.report.data import digests
from halftrek.reporting.report.page import Markup, Section, facts, heading, listing, soft
from halftrek.reporting.report.questions import KINDS
from halftrek.reporting.tables import count
from halftrek.syntax import format_graph

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fit
    from halftrek.model import Floats
    from halftrek.moments import Moments

_WIDEST = 24  # variables whose covariances are written out in the code
_LIBRARIES = ("numpy", "scipy", "narwhals", "networkx", "matplotlib")
_STANDARD = How()


@dataclass(frozen=True)
class Recipe:
    """Code, and what has to be done before it runs; empty if it runs as it is."""

    code: str
    before: str = ""


def reproduce_section(fit: Fit, questions: Sequence[str], title: str, name: str, how: How) -> Section:
    """Everything that a second person needs."""
    recipe = python_code(fit, questions, title, name, how)
    parts: list[Markup] = [
        heading("Python"),
        soft(recipe.before) if recipe.before else "",
        listing(recipe.code),
        heading("Command line"),
        listing(command(fit, questions, name)),
        heading("Options"),
        facts(_options(fit, how)),
        heading("Data"),
        digests(fit),
        heading("Versions"),
        facts(_versions()),
    ]
    return Section("reproduce", "How to reproduce this", tuple(parts), apart=True)


def python_code(fit: Fit, questions: Sequence[str], title: str, name: str, how: How) -> Recipe:
    """A script that makes the same report; where the rows were a frame it has their moments, or says which file to make."""
    data, before = _data(fit, how)
    given = [f"graph, {data}" if not data.startswith("cov=") else f"graph,\n    {data},\n   ", *_fit_options(fit)]
    report = [repr(name), f"questions={list(questions)!r}", f"title={title!r}"]
    report += [
        f"{option}={value!r}"
        for option in ("level", "interval", "information", "replicates", "ends", "random_state")
        if (value := getattr(how, option)) != getattr(_STANDARD, option)
    ]
    lines = [
        "import halftrek as ht",
        "",
        f'graph = ht.graph("""\n{format_graph(fit.graph).strip()}\n""")',
        f"fit = ht.fit({', '.join(given).replace('   , ', '    ').removesuffix('   ')})",
        f"fit.report({', '.join(report)})",
    ]
    return Recipe("\n".join(lines) + "\n", before)


def _data(fit: Fit, how: How) -> tuple[str, str]:
    source = None if fit.rows is None else fit.rows.source
    if isinstance(source, (str, os.PathLike)):
        return repr(os.fspath(source)), ""
    needs_rows = how.interval in ("robust", "bootstrap") or fit.patterns is not None
    if needs_rows or len(fit.moments.names) > _WIDEST:
        columns = ", ".join(fit.moments.names[:8]) + (", …" if len(fit.moments.names) > 8 else "")
        what = f"{count(fit.n)} rows" + (f" of a {fit.frame} frame" if fit.frame else "")
        return "'data.csv'", f"The data were {what}: save them as data.csv, with the columns {columns}, and run this."
    return _moments(fit.moments), "The rows were in memory; their moments, which give the same numbers, are written out."


def _moments(moments: Moments) -> str:
    rows = ",\n".join(f"        [{_row(moments.cov[i, : i + 1])}]" for i in range(len(moments.names)))
    parts = [f"cov=[\n{rows},\n    ]", f"n={_plain(moments.n)}", f"names={list(moments.names)!r}"]
    if moments.has_mean:
        parts.append(f"mean=[{_row(moments.mean)}]")
    return ",\n    ".join(parts)


def _row(values: Floats) -> str:
    return ", ".join(_plain(float(x)) for x in values)


def _plain(x: float) -> str:
    return repr(int(x)) if float(x).is_integer() and abs(x) < 1e15 else repr(float(x))


def _fit_options(fit: Fit) -> list[str]:
    """The options of ``ht.fit`` that are not the usual ones."""
    options = []
    if fit.rows is not None and isinstance(fit.rows.source, (str, os.PathLike)):
        if fit.rows.missing != "fiml":
            options.append(f"missing={fit.rows.missing!r}")
        for name, value in (("weights", fit.rows.weights), ("cluster", fit.rows.cluster)):
            if isinstance(value, str):
                options.append(f"{name}={value!r}")
    if fit.method != "em":
        return [*options, f"method={fit.method!r}"]
    for name, values, word in (("noise", fit.options.noise, (1.0, "unit")), ("intercepts", fit.options.intercepts, (0.0, "zero"))):
        if values:
            all_same = {v for v, _ in values} == set(fit.graph.observed) and {x for _, x in values} == {word[0]}
            options.append(f"{name}={word[1] if all_same else dict(values)!r}")
    return options


def command(fit: Fit, questions: Sequence[str], name: str) -> str:
    """The same from a terminal, with the graph in a file."""
    source = None if fit.rows is None else fit.rows.source
    data = os.fspath(source) if isinstance(source, (str, os.PathLike)) else "data.csv"
    graph = f"cat > graph.txt <<'END'\n{format_graph(fit.graph).strip()}\nEND\n"
    words = ["halftrek", "report", "graph.txt", str(data), *questions, "--output", name]
    return graph + " ".join(map(shlex.quote, words))


def _options(fit: Fit, how: How) -> list[tuple[str, Markup]]:
    method = {"em": "maximum likelihood, district by district (EM with a second-order finish)", "cgl-go": "CGL-Go"}
    pairs = [
        ("estimation", method.get(fit.method, fit.method)),
        ("how it ended", str(fit.status)),
        ("level", f"{100 * how.level:g}%"),
        ("intervals of questions", KINDS[how.interval]),
    ]
    if how.interval == "profile":
        pairs.append(("intervals of tables", KINDS["delta"]))
    if how.information is not None:
        pairs.append(("information", how.information))
    if how.interval in ("bootstrap", "parametric"):
        pairs.append(("replicates", f"{how.replicates:,}, {how.ends} ends"))
    pairs.append(("seed", f"{how.random_state}" + ("" if _draws(how) else " (nothing in this report is drawn at random)")))
    from html import escape

    return [(name, escape(value)) for name, value in pairs]


def _draws(how: How) -> bool:
    return how.interval in ("bootstrap", "parametric")


def _versions() -> list[tuple[str, Markup]]:
    from halftrek import __version__

    pairs = [("halftrek", __version__), ("Python", platform.python_version())]
    for library in _LIBRARIES:
        try:
            pairs.append((library, version(library)))
        except PackageNotFoundError:
            continue
    pairs += [("platform", f"{platform.system()} {platform.machine()}"), ("made on", f"{datetime.now(UTC):%Y-%m-%d}")]
    return pairs
