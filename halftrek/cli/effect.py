"""``halftrek effect`` and ``halftrek query``: the whole walk, from graph and data to the answer."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_CONVERGED, NOT_IDENTIFIED
from halftrek.cli.fit import add_fit_options, fit_as_told
from halftrek.cli.options import DATA_HELP, GRAPH_HELP, QUESTION_HELP, add_command

if TYPE_CHECKING:
    from halftrek.cli.options import Commands
    from halftrek.queries import Query

_EXAMPLE_EFFECT = "halftrek simulate front-door -n 1000 --seed 1 | halftrek effect front-door - X1 X3"
_EXAMPLE_QUERY = "halftrek simulate napkin -n 1000 --seed 1 | halftrek query napkin - 'P(X4 | do(X3=1))'"


def add_to(commands: Commands) -> None:
    """Adds both commands to the parser."""
    query = add_command(
        commands, "query", run, summary="answer a question from a graph and data", example=_EXAMPLE_QUERY
    )
    query.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    query.add_argument("data", metavar="DATA", help=DATA_HELP)
    query.add_argument("question", metavar="QUESTION", nargs=1, help=QUESTION_HELP)
    add_fit_options(query)
    effect = add_command(
        commands,
        "effect",
        run,
        summary="answer a question, or give the total effect of a cause",
        example=_EXAMPLE_EFFECT,
    )
    effect.usage = "halftrek effect [options] GRAPH DATA (QUESTION | CAUSE OUTCOME)"
    effect.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    effect.add_argument("data", metavar="DATA", help=DATA_HELP)
    effect.add_argument("question", metavar="QUESTION", nargs="+", help=f"{QUESTION_HELP}; or CAUSE OUTCOME")
    add_fit_options(effect)


def run(args: argparse.Namespace) -> int:
    """Verdict first; the data are opened only if there is something to learn from them."""
    from halftrek.cli.inputs import read_graph, refuse_two_standard_inputs
    from halftrek.reporting.records import answer_record, fit_record, to_json
    from halftrek.reporting.text import describe_answer
    from halftrek.reporting.verdicts import describe_verdict
    from halftrek.workflow import answer, identify

    question = _question(args.question)
    refuse_two_standard_inputs(args.graph, args.data)
    graph = read_graph(args.graph)
    verdict = identify(graph, question)
    if not verdict.identified:
        print(to_json(verdict.to_dict()) if args.json else describe_verdict(verdict))
        return NOT_IDENTIFIED
    result = fit_as_told(graph, args)
    found = answer(result, question)
    if args.json:
        fitted = fit_record(result)
        kept = {key: fitted[key] for key in ("n", "loglik", "converged", "status")}
        print(to_json({**answer_record(found), "fit": kept}))
    else:
        print(describe_answer(found))
    if not result.converged:
        print(f"halftrek: {result.status}", file=sys.stderr)
        return NOT_CONVERGED
    return DONE


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
