"""``halftrek run``: a whole analysis from one file."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halftrek.cli.exits import DONE, NOT_CONVERGED, NOT_IDENTIFIED
from halftrek.cli.options import add_command, add_connect, add_outside

if TYPE_CHECKING:
    from halftrek.cli.analysis import Analysis
    from halftrek.cli.options import Commands
    from halftrek.reporting.records import Record
    from halftrek.results.fit import Fit

_EXAMPLE = "halftrek query mroz mroz 'educ -> lwage' --write-analysis analysis.toml && halftrek run analysis.toml"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(commands, "run", run, summary="run a whole analysis from one file", example=_EXAMPLE)
    parser.add_argument("analysis", metavar="ANALYSIS.toml", help="graph, data, questions, choices and outputs")
    parser.add_argument("--force", action="store_true", help="write over files that exist")
    add_outside(parser)
    add_connect(parser, "the database that the file's SQL asks")


def run(args: argparse.Namespace) -> int:
    """Fit, answers, tables, files."""
    from halftrek.cli import fitting
    from halftrek.cli.analysis_file import read_analysis
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import refuse_existing, show, show_json
    from halftrek.cli.process import say
    from halftrek.reporting.records import fit_record, graph_record
    from halftrek.reporting.text import summarize_fit

    analysis = read_analysis(args.analysis, outside=args.outside, connect=args.connect)
    refuse_two_standard_inputs(analysis.graph, analysis.data.file)
    wanted = {name: getattr(analysis.output, name) for name in ("report", "results", "model")}
    files = {name: analysis.place(path) for name, path in wanted.items() if path is not None}
    refuse_existing(args.force, *files.values())
    graph = read_graph(analysis.graph, analysis.folder, analysis.lavaan)
    with fitting.fitted(analysis, graph) as result:
        record: dict[str, Any] = {"analysis": args.analysis, "graph": graph_record(result.graph)}
        rows = fitting.parameters_beside(result, analysis.uncertainty)
        record["fit"] = fit_record(result, rows)
        record["questions"], texts = _answers(result, analysis)
        if analysis.output.effects:
            record["effects"], text = fitting.effects(result, analysis.uncertainty)
            texts.append(text)
        if analysis.output.checks:
            record["checks"] = fitting.checks_record(result)
            texts.append(fitting.checks_text(result, record["checks"]))
        record["files"] = {name: str(path) for name, path in files.items()}
        if not args.json:
            show("\n\n".join([summarize_fit(result, rows), *texts]))
        _write(result, analysis, files, record, args.force)
    if args.json:
        show_json(record)
    else:
        for name, path in files.items():
            show(f"{name}: {path}")
    if not result.converged:
        say(result.status.words("command line"))
        return NOT_CONVERGED
    return DONE if all(r["identified"] for r in record["questions"]) else NOT_IDENTIFIED


def _answers(fit: Fit, analysis: Analysis) -> tuple[list[Record], list[str]]:
    """Records and texts, in the order of the questions; one without an answer does not stop the others."""
    from halftrek.cli.analysis import uncertainty_options
    from halftrek.cli.output import for_command_line
    from halftrek.queries.seen import has_crude
    from halftrek.reporting.described.verdicts import describe_verdict
    from halftrek.reporting.records import answer_record
    from halftrek.reporting.text import describe_answer
    from halftrek.results.given.inputs import read_question
    from halftrek.results.given.reading import identify

    records, texts = [], []
    for question in analysis.questions:
        errors = analysis.uncertainty.errors
        verdict = identify(fit.graph, question, scope="linear" if errors == "uncorrelated" else "non-normal")
        if verdict.identified:
            options = uncertainty_options(analysis.uncertainty)
            crude = analysis.output.crude and has_crude(read_question(question))
            found = for_command_line(fit.query(question, crude=crude, errors=errors, **options))
            records.append(answer_record(found))
            texts.append(describe_answer(found))
        else:
            records.append(verdict.to_dict())
            texts.append(describe_verdict(verdict, front="command line"))
    return records, texts


def _write(fit: Fit, analysis: Analysis, files: dict[str, Path], record: Record, force: bool) -> None:
    from halftrek.bottom.files import whole_file
    from halftrek.cli.analysis import uncertainty_options
    from halftrek.reporting.records import to_json

    if "model" in files:
        fit.save(files["model"], overwrite=force)
    if "results" in files:
        with whole_file(files["results"], overwrite=force) as unfinished:
            unfinished.write_text(to_json(record) + "\n", encoding="utf-8")
    if "report" in files:
        options = uncertainty_options(analysis.uncertainty)
        fit.report(files["report"], list(analysis.questions), overwrite=force, **options)
