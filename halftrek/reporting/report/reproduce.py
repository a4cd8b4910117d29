"""The last chapter: versions, options, digests, and code that gives the same numbers again."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from halftrek.bottom.arrays import Floats
from halftrek.data.columns.categories import bare_names
from halftrek.identification import identify
from halftrek.identification.beside.instruments import instrument_equations
from halftrek.inference import How
from halftrek.inference.information.base import kind_of_data
from halftrek.inference.intervals import KINDS
from halftrek.reporting.document import Chapter, Document, Facts, Heading, Listing, Piece, Remark
from halftrek.reporting.report.acting import METHOD
from halftrek.reporting.report.data import digests, file_name
from halftrek.reporting.report.uncertainty import words_of
from halftrek.reporting.tables import count
from halftrek.results.given.inputs import read_question
from halftrek.syntax import format_graph

if TYPE_CHECKING:
    from halftrek.data import Moments
    from halftrek.results.fit import Fit

_WIDEST = 24  # variables whose covariances are written out in the code
_INLINE = 300  # letters of a graph that is an argument of the command
_WIDTH = 88  # letters of a line of code
_LIBRARIES = ("numpy", "scipy", "narwhals", "networkx", "matplotlib", "jinja2")
_STANDARD = How(interval=None)


@dataclass(frozen=True)
class Recipe:
    """Code, and what has to be done before it runs; empty if it runs as it is."""

    code: str
    before: str = ""


def reproduce_chapter(fit: Fit, questions: Sequence[str], title: str, name: str, how: How) -> Chapter:
    """Everything that a second person needs."""
    recipe = python_code(fit, questions, title, name, how)
    parts: list[Piece] = [
        Heading("Python"),
        *([Remark(recipe.before)] if recipe.before else []),
        Listing(recipe.code),
        Heading("Command line"),
        *_terminal(fit, questions, title, name, how),
        Heading("Options"),
        Facts(_options(fit, how)),
        Heading("Data"),
        digests(fit),
        Heading("Versions"),
        Facts(_versions()),
    ]
    return Chapter("reproduce", "How to reproduce this", parts)


def python_code(fit: Fit, questions: Sequence[str], title: str, name: str, how: How) -> Recipe:
    """A script that makes the same report; where rows were a frame it has their moments, or says which file to make."""
    data, before = _data(fit, how, questions)
    report = [repr(name), f"questions={_list(questions)}", f"title={title!r}"]
    report += [
        f"{option}={value!r}"
        for option in ("level", "interval", "information", "replicates", "ends", "random_state")
        if (value := getattr(how, option)) != getattr(_STANDARD, option)
    ]
    lines = [
        "import halftrek as ht",
        "",
        f"graph = ht.graph({_quoted(format_graph(fit.graph).strip())})",
        f"fit = {_call('ht.fit', ['graph', *data, *_fit_options(fit)])}",
        _call("fit.report", report),
    ]
    return Recipe("\n".join(lines) + "\n", before)


def _quoted(text: str) -> str:
    """Over several lines, unless the text itself has what ends or changes such a text."""
    return repr(text) if '"""' in text or "\\" in text else f'"""\n{text}\n"""'


def _call(function: str, arguments: Sequence[str]) -> str:
    """In one line if it fits, else one line for each argument."""
    line = f"{function}({', '.join(arguments)})"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    inside = "".join(f"    {argument},\n" for argument in arguments)
    return f"{function}(\n{inside})"


def _list(texts: Sequence[str]) -> str:
    line = repr(list(texts))
    return line if len(line) <= _WIDTH - 20 else "[\n" + "".join(f"        {t!r},\n" for t in texts) + "    ]"


def _data(fit: Fit, how: How, questions: Sequence[str]) -> tuple[list[str], str]:
    """Arguments of ``ht.fit`` that bring the data, and what has to be done before."""
    name = file_name(fit)
    if name is not None:
        return [repr(name)], ""
    needs_rows = how.interval is not None and KINDS[how.interval].needs_rows
    if fit.rows is not None:  # how strong instruments are is looked for in the rows
        verdicts = [identify(fit.graph, read_question(question)) for question in questions]
        needs_rows = needs_rows or any(map(instrument_equations, verdicts))
    needs_rows = needs_rows or fit.acting is not None
    if needs_rows or not kind_of_data(fit).moments_suffice or len(fit.moments.names) > _WIDEST:
        names = bare_names(fit.moments.names, () if fit.rows is None else fit.rows.categories) or ()
        columns = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        what = f"{count(fit.n)} rows" + (f" of a {fit.frame} frame" if fit.frame else "")
        return ["'data.csv'"], f"The data were {what}: save them as data.csv, with the columns {columns}, and run this."
    return _moments(
        fit.moments
    ), "The rows were in memory; their moments, which give the same numbers, are written out."


def _moments(moments: Moments) -> list[str]:
    rows = "".join(f"        [{_row(moments.cov[i, : i + 1])}],\n" for i in range(len(moments.names)))
    parts = [f"cov=[\n{rows}    ]", f"n={_plain(moments.n)}", f"names={list(moments.names)!r}"]
    return [*parts, f"mean=[{_row(moments.mean)}]"] if moments.has_mean else parts


def _row(values: Floats) -> str:
    return ", ".join(_plain(float(x)) for x in values)


def _plain(x: float) -> str:
    return repr(int(x)) if float(x).is_integer() and abs(x) < 1e15 else repr(float(x))


def _fit_options(fit: Fit) -> list[str]:
    """The options of ``ht.fit`` that are not the usual ones."""
    options = []
    if fit.rows is not None and file_name(fit) is not None:
        if fit.rows.missing != "fiml":
            options.append(f"missing={fit.rows.missing!r}")
        weights = "weights" if fit.rows.sampling is None else "sampling_weights"
        for name, value in ((weights, fit.rows.weights), ("cluster", fit.rows.cluster)):
            if isinstance(value, str):
                options.append(f"{name}={value!r}")
        if indicators := _indicators(fit):
            options.append(f"categories={indicators!r}")
    if kinds := kinds_of(fit):
        options.append(f"kinds={kinds!r}")
    if fit.method != "em":
        return [*options, f"method={fit.method!r}"]
    held = (("noise", fit.options.noise, 1.0, "unit"), ("intercepts", fit.options.intercepts, 0.0, "zero"))
    for name, values, usual, word in held:
        if values:
            all_same = {v for v, _ in values} == set(fit.graph.observed) and {x for _, x in values} == {usual}
            options.append(f"{name}={(word if all_same else dict(values))!r}")
    return options


def _indicators(fit: Fit) -> dict[str, str]:
    """The reference level of each column that was read as indicators."""
    return {} if fit.rows is None else {c.column: c.reference for c in fit.rows.categories if not c.ordered}


def _kind_text(said: str | dict[str, list[str]]) -> str:
    return said if isinstance(said, str) else "".join(f"{kind}:{'<'.join(order)}" for kind, order in said.items())


def kinds_of(fit: Fit) -> dict[str, str | dict[str, list[str]]]:
    """What columns were taken for; levels in their order where these were texts in a file."""
    margins = {} if fit.acting is None else dict(fit.acting.margins)
    if fit.moments.layer is not None:
        margins = dict(zip(fit.moments.layer.names, fit.moments.layer.margins, strict=True))
    levels = {} if fit.rows is None else {c.column: [c.reference, *c.levels] for c in fit.rows.categories if c.ordered}
    said = {v: m.kind for v, m in margins.items() if m.kind != "plain"}
    return {v: {kind: levels[v]} if v in levels else kind for v, kind in said.items()}


def _terminal(fit: Fit, questions: Sequence[str], title: str, name: str, how: How) -> Document:
    words = command(fit, questions, title, name, how)
    if words is None:
        return [Remark("Held intercepts and single noise variances are for Python.")]
    where = ""
    if file_name(fit) is None:
        where = f"With the {'covariances' if fit.rows is None else 'rows'} in a file"
    if " graph.txt" in words:
        where += f"{' and' if where else 'With'} the graph, the lines between the triple quotes above, in graph.txt"
    return [*([Remark(f"{where}.")] if where else []), Listing(words)]


def command(fit: Fit, questions: Sequence[str], title: str, name: str, how: How) -> str | None:
    """The same from a terminal, a large graph in a file; None if the fit has options that only Python has."""
    data = ["--cov", "covariance.csv", "--n", _plain(fit.n)] if fit.rows is None else [file_name(fit) or "data.csv"]
    graph = "; ".join(format_graph(fit.graph).strip().splitlines())
    lines = [["halftrek", "report", graph if len(graph) <= _INLINE else "graph.txt", *data]]
    for option in _fit_options(fit):
        key, _, value = option.partition("=")
        if key == "categories":
            lines += [["--categories", f"{column}={level}"] for column, level in _indicators(fit).items()]
            continue
        if key == "kinds":
            lines += [["--kind", f"{v}={_kind_text(k)}"] for v, k in kinds_of(fit).items()]
            continue
        if key == "intercepts" or value.startswith("{"):
            return None
        lines.append([f"--{key.replace('_', '-')}", value.strip("'")])
    lines += [["--question", question] for question in questions]
    for key in ("interval", "level", "replicates", "ends", "random_state"):
        if getattr(how, key) != getattr(_STANDARD, key):
            lines.append([f"--{key.replace('_', '-')}", str(getattr(how, key))])
    lines += [["--title", title], ["--out", name]]
    call = " \\\n  ".join(" ".join(map(shlex.quote, words)) for words in lines)
    return f"{call}\n"


def _options(fit: Fit, how: How) -> list[tuple[str, str]]:
    method = {"em": "maximum likelihood (EM with a second-order finish)", "cgl-go": "CGL-Go"}
    pairs = [
        ("estimation", method.get(fit.method, fit.method) if fit.acting is None else METHOD),
        ("how it ended", str(fit.status)),
        ("level", f"{100 * how.level:g}%"),
        ("intervals of questions", words_of(how)),
    ]
    if how.interval == "profile":
        pairs.append(("intervals of tables", KINDS["delta"].words))
    if how.information is not None:
        pairs.append(("information", how.information))
    if how.interval in ("bootstrap", "parametric"):
        return [*pairs, ("replicates", f"{how.replicates:,}, {how.ends} ends"), ("seed", f"{how.random_state}")]
    return [*pairs, ("seed", f"{how.random_state} (nothing in this report is drawn at random)")]


def _versions() -> list[tuple[str, str]]:
    from halftrek import __version__

    pairs = [("halftrek", __version__), ("Python", platform.python_version())]
    for library in _LIBRARIES:
        try:
            pairs.append((library, version(library)))
        except PackageNotFoundError:
            continue
    pairs += [("platform", f"{platform.system()} {platform.machine()}"), ("made on", f"{datetime.now(UTC):%Y-%m-%d}")]
    return pairs
