"""What can be taken away: pictures, tables, the report, the analysis, lines of Python."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from halftrek.bottom.choices import Syntax
from halftrek.errors import InputError
from halftrek.reporting.records import Record
from halftrek.syntax import format_graph
from halftrek.web.work.answers import answers
from halftrek.web.work.bench import Bench, Request, covariance_in

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.reporting.document import Described
    from halftrek.results.fit import Fit


@dataclass(frozen=True)
class File:
    """A file to download."""

    name: str
    media: str
    content: bytes


_ENDINGS = {
    "svg": ("graph.svg", "image/svg+xml"),
    "png": ("graph.png", "image/png"),
    "tikz": ("graph.tex", "application/x-tex"),
    "arrows": ("graph.txt", "text/plain"),
    "lavaan": ("graph.lav", "text/plain"),
    "dagitty": ("graph.dag", "text/plain"),
    "dot": ("graph.dot", "text/vnd.graphviz"),
    "csv": ("table.csv", "text/csv"),
    "latex": ("table.tex", "application/x-tex"),
    "word": ("table.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "report": ("report.html", "text/html"),
    "analysis": ("analysis.toml", "application/toml"),
    "python": ("analysis.py", "text/x-python"),
}


def export(asked: Request, bench: Bench) -> File:
    """The file of a format."""
    form = asked.text("format")
    name, media = _ENDINGS[form]
    made = _MAKERS[form](asked, bench)
    content = made if isinstance(made, bytes) else made.encode()
    return File(name, f"{media}; charset=utf-8" if isinstance(made, str) else media, content)


# -- pictures --------------------------------------------------------------------------------------


def _drawn(asked: Request, bench: Bench) -> Graph | Fit:
    """What to draw, with the places that the request has now; those of the fit may be older."""
    graph = asked.graph()
    if not asked.has_data:
        return graph
    fit = bench.fit(asked)
    return replace(fit, graph=graph) if fit.graph == graph else fit  # categories have made it another graph


def _svg(asked: Request, bench: Bench) -> str:
    from halftrek.reporting import graph_svg

    return graph_svg(_drawn(asked, bench), cause=asked.name("cause"), effect=asked.name("outcome"))


def _tikz(asked: Request, bench: Bench) -> str:
    from halftrek.reporting import to_tikz

    return to_tikz(_drawn(asked, bench), cause=asked.name("cause"), effect=asked.name("outcome"))


def _png(asked: Request, bench: Bench) -> bytes:
    from halftrek.reporting import draw_graph
    from halftrek.reporting.plots.drawing import make_drawing
    from halftrek.reporting.plots.figures import new_figure
    from halftrek.reporting.plots.graph import INCH

    source = _drawn(asked, bench)
    width, height = make_drawing(source).size
    figure = new_figure(max(2.5, INCH * width), max(1.6, INCH * height))
    draw_graph(source, ax=figure.axes[0], cause=asked.name("cause"), effect=asked.name("outcome"))
    kept = io.BytesIO()
    figure.savefig(kept, format="png", dpi=200)
    return kept.getvalue()


def _text(asked: Request, _bench: Bench) -> str:
    return format_graph(asked.graph(), cast(Syntax, asked.text("format")))


# -- tables ----------------------------------------------------------------------------------------


def _table(asked: Request, bench: Bench) -> tuple[Described, list[Record]]:
    """What readers see, and the numbers behind it: of the questions, else of every effect."""
    from halftrek.reporting.described.effects import effects_document
    from halftrek.reporting.papers.table import answer_table_document, table
    from halftrek.results.answering import how_of
    from halftrek.results.words.answer_lines import lines_of
    from halftrek.results.words.listings import effect_rows_of

    fit = bench.fit(asked)
    if asked.texts("questions"):
        found = answers(fit, asked)
        return answer_table_document(table(found)), [asdict(line) for one in found for line in lines_of(one)]
    rows = effect_rows_of(fit, how_of(**asked.uncertainty))
    return effects_document(rows, asked.level), [asdict(row) for row in rows]


def _csv(asked: Request, bench: Bench) -> str:
    _, rows = _table(asked, bench)
    if not rows:
        raise InputError("there is no effect to write: the graph has no directed path between observed variables")
    kept = io.StringIO()
    lines = csv.writer(kept, lineterminator="\n")
    lines.writerow(rows[0])
    lines.writerows([_cell(value) for value in row.values()] for row in rows)
    return kept.getvalue()


def _cell(value: object) -> object:
    """A spreadsheet takes a text with one of these beginnings for a formula; an apostrophe says that it is none."""
    if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{value}"
    return "" if isinstance(value, float) and value != value else value


def _latex(asked: Request, bench: Bench) -> str:
    from halftrek.reporting.papers.latex import as_latex

    return as_latex(_table(asked, bench)[0], caption=asked.name("title"))


def _word(asked: Request, bench: Bench) -> bytes:
    from halftrek.reporting.papers.word import write_word

    with tempfile.TemporaryDirectory(prefix="halftrek-") as folder:
        return write_word(
            _table(asked, bench)[0], Path(folder) / "table.docx", caption=asked.name("title")
        ).read_bytes()


# -- the whole -------------------------------------------------------------------------------------


def _report(asked: Request, bench: Bench) -> str:
    from halftrek.reporting.report import report_html
    from halftrek.results.answering import how_of

    fit = bench.fit(asked)
    text = report_html(fit, asked.texts("questions"), title=asked.name("title"), how=how_of(**asked.uncertainty))
    path = asked.source.get("path")
    return text if path is None else text.replace(path, Path(path).name)  # whose letters the server has chosen


def _analysis(asked: Request, _bench: Bench) -> str:
    from halftrek.cli.analysis import Analysis, Data, Uncertainty
    from halftrek.cli.analysis_file import analysis_text

    source, graph = asked.source, format_graph(asked.graph()).strip()
    if source["kind"] == "covariance":
        data = Data(cov="covariance.csv", n=source["n"], means=source.get("means"), divisor=source.get("divisor", "n"))
    else:
        data = Data(file="data.csv" if source["kind"] == "object" else source["name"], **asked.fitting)
    sure = Uncertainty(**asked.uncertainty)
    return analysis_text(Analysis(graph, data, tuple(asked.texts("questions")), uncertainty=sure))


def _python(asked: Request, _bench: Bench) -> str:
    """The lines that give the same numbers."""
    text = format_graph(asked.graph()).strip()
    quoted = repr(text) if '"""' in text or "\\" in text else f'"""\n{text}\n"""'
    lines = ["import halftrek as ht", "", f"graph = ht.graph({quoted})"]
    questions = asked.texts("questions")
    if not asked.has_data:
        return "\n".join([*lines, *(f"print(ht.identify(graph, {q!r}).explain())" for q in questions)]) + "\n"
    options = [*_data_arguments(asked), *(f"{key}={value!r}" for key, value in asked.fitting.items())]
    lines += [f"fit = ht.fit({', '.join(['graph', *options])})"]
    sure = "".join(f", {key}={value!r}" for key, value in asked.uncertainty.items())
    lines += [f"print(fit.query({q!r}{sure}))" for q in questions] or ["print(fit.summary())"]
    return "\n".join(lines) + "\n"


def _data_arguments(asked: Request) -> Sequence[str]:
    source = asked.source
    if source["kind"] == "bundled":
        return [f"ht.dataset({source['name']!r}).data"]
    if source["kind"] == "object":
        return ["data"]
    if source["kind"] == "file":
        return [repr(source["name"])]
    names, matrix = covariance_in(source)
    lower = [row[: k + 1] for k, row in enumerate(matrix)]
    given = {"names": names, "mean": source.get("means"), "divisor": source.get("divisor", "n")}
    more = [f"{key}={value!r}" for key, value in given.items() if value not in (None, "n")]
    return [f"cov={lower!r}", f"n={source['n']!r}", *more]


_MAKERS: dict[str, Callable[[Request, Bench], str | bytes]] = {
    "svg": _svg,
    "png": _png,
    "tikz": _tikz,
    **dict.fromkeys(("arrows", "lavaan", "dagitty", "dot"), _text),
    "csv": _csv,
    "latex": _latex,
    "word": _word,
    "report": _report,
    "analysis": _analysis,
    "python": _python,
}
