"""``halftrek effect`` and ``halftrek query``: the whole walk, from graph and data to the answer."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, get_args

from halftrek.bottom.choices import ErrorKind
from halftrek.cli.options import (
    GRAPH_HELP,
    QUESTION_HELP,
    add_command,
    add_data,
    add_files,
    add_fit,
    add_uncertainty,
    has,
)

if TYPE_CHECKING:
    from halftrek.cli.analysis import Analysis
    from halftrek.cli.options import Commands
    from halftrek.graphs import Graph
    from halftrek.identification import Verdict
    from halftrek.queries import Query

_EXAMPLE_EFFECT = "halftrek effect mroz mroz educ lwage --interval profile"
_EXAMPLE_QUERY = "halftrek simulate napkin -n 1000 --seed 1 | halftrek query napkin - 'P(X4 | do(X3=1))'"


def add_to(commands: Commands, words: Collection[str]) -> None:
    """Adds both commands to the parser."""
    query = add_command(
        commands, "query", run, summary="answer a question from a graph and data", example=_EXAMPLE_QUERY
    )
    query.usage = "halftrek query [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) QUESTION"
    query.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    _add_rest(query, words, count=1, help=QUESTION_HELP)
    effect = add_command(
        commands,
        "effect",
        run,
        summary="answer a question, give the total effect of a cause, or list all effects",
        example=_EXAMPLE_EFFECT,
    )
    effect.usage = (
        "halftrek effect [options] GRAPH (DATA | --sql QUERY | --cov FILE --n ROWS) (QUESTION | CAUSE OUTCOME | --all)"
    )
    effect.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    effect.add_argument("--all", action="store_true", help="every direct, indirect and total effect, as a table")
    _add_rest(effect, words, count="*" if has(words, "--all") else "+", help=f"{QUESTION_HELP}; or CAUSE OUTCOME")


def _add_rest(parser: argparse.ArgumentParser, words: Collection[str], *, count: int | str, help: str) -> None:
    add_fit(parser)
    add_files(parser)
    add_data(parser, words)
    parser.add_argument(
        "--by",
        metavar="COLUMN[,COLUMN]",
        action="append",
        help="one model for each group of rows, or combination of several columns: the answers as a table",
    )
    parser.add_argument("question", metavar="QUESTION", nargs=count, help=help)
    parser.add_argument("--crude", action="store_true", help="also what the rows say without the graph")
    parser.add_argument(
        "--errors",
        choices=get_args(ErrorKind),
        default="uncorrelated",
        help="independent: effects, too, that only errors that are not normal tell, as a set of values",
    )
    parser.add_argument("--details", action="store_true", help="if it has no answer, say why in mathematical terms too")
    add_uncertainty(parser)


def run(args: argparse.Namespace) -> int:
    """Verdict first; the data are opened only if there is something to learn from them."""
    from halftrek.cli.analysis import analysis_of, uncertainty_options
    from halftrek.cli.analysis_file import keep_analysis
    from halftrek.cli.fitting import ended, fitted, show_refusal
    from halftrek.cli.groups import run_groups
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import for_command_line, refuse_existing, show, show_json
    from halftrek.errors import InputError
    from halftrek.reporting.records import answer_record, fit_record
    from halftrek.reporting.text import describe_answer
    from halftrek.results.answering import refusal
    from halftrek.results.given.reading import identify

    if getattr(args, "all", False):
        return _run_all(args)
    question = _question(args.question)
    analysis = analysis_of(args, (str(question),))
    refuse_two_standard_inputs(args.graph, args.data)
    refuse_existing(args.force, args.write_analysis)
    graph = read_graph(args.graph, lavaan=analysis.lavaan)
    early = not analysis.data.categories  # which nodes a category has, the data say
    errors = analysis.uncertainty.errors
    decide = identify if errors == "uncorrelated" else partial(identify, scope="non-normal")
    if early and not (verdict := decide(graph, question)).answerable:
        return _refuse(verdict, args, analysis, graph)
    if args.by is not None and errors != "uncorrelated":
        raise InputError("--errors independent cannot be used with --by; ask group by group")
    if args.by is not None:
        return run_groups(args, analysis, graph, question)
    with fitted(analysis, graph) as result:
        if not early and not (verdict := decide(result.graph, question)).answerable:
            return show_refusal(refusal(result, verdict.query, verdict), args.json, details=args.details)
        options = uncertainty_options(analysis.uncertainty)
        found = for_command_line(result.query(question, crude=analysis.output.crude, errors=errors, **options))
    if args.json:
        short = fit_record(result, ())
        show_json({**answer_record(found), "fit": {key: short[key] for key in ("n", "loglik", "converged", "status")}})
    else:
        show(describe_answer(found))
    keep_analysis(analysis, args.write_analysis, args.force)
    return ended(result)


def _refuse(verdict: Verdict, args: argparse.Namespace, analysis: Analysis, graph: Graph) -> int:
    """The refusal, with what the data leave; data that cannot be used do not take its place."""
    from halftrek.cli.fitting import fitted, show_refusal
    from halftrek.cli.process import say
    from halftrek.errors import HalftrekError
    from halftrek.results.answering import refusal
    from halftrek.results.answers import Answer, Refusal

    refused = Answer(verdict.query, Refusal(), verdict)
    if args.by is None and verdict.status == "not identified":
        try:
            with fitted(analysis, graph) as result:
                refused = refusal(result, verdict.query, verdict)
        except HalftrekError as error:
            say(f"note: nothing is said of these data: {error}")
    return show_refusal(refused, args.json, details=args.details)


def _run_all(args: argparse.Namespace) -> int:
    from halftrek.cli.analysis import analysis_of
    from halftrek.cli.analysis_file import keep_analysis
    from halftrek.cli.fitting import effects, ended, fitted
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.cli.output import refuse_existing, show, show_json
    from halftrek.errors import InputError

    if args.question:
        raise InputError("give either a question or --all")
    if args.crude:
        raise InputError("--crude goes with one question, not with --all")
    if args.by is not None:
        raise InputError("--all cannot be used with --by; ask one question at a time")
    if args.errors != "uncorrelated":
        raise InputError("--errors goes with one question, not with --all")
    args.effects = True  # for the analysis file
    analysis = analysis_of(args)
    refuse_two_standard_inputs(args.graph, args.data)
    refuse_existing(args.force, args.write_analysis)
    with fitted(analysis, read_graph(args.graph, lavaan=analysis.lavaan)) as result:
        records, text = effects(result, analysis.uncertainty)
    if args.json:
        show_json({"level": analysis.uncertainty.level, "effects": records})
    else:
        show(text)
    keep_analysis(analysis, args.write_analysis, args.force)
    return ended(result)


def _question(words: list[str]) -> str | Query:
    from halftrek.errors import InputError
    from halftrek.queries import TotalEffect

    if len(words) == 1:
        return words[0]
    if len(words) == 2:
        return TotalEffect(*words)
    raise InputError(
        f"a question is one text, or a cause and an outcome; there are {len(words)} words. Put quotes around it: "
        f"'{' '.join(words)}'"
    )
