"""``halftrek together``: a text of lavaan fitted to all groups at once, with parameters that they share."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Collection
from typing import TYPE_CHECKING, cast, get_args

from halftrek.bottom.choices import Equal, LavaanFunction, Missing
from halftrek.cli.exits import DONE, NOT_CONVERGED
from halftrek.cli.options import DATA_HELP, add_command

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek together 'reaction ~ c(a, a)*pmi' tal_or --by cond"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    summary = "fit a text of lavaan to all groups at once, with parameters that are equal across groups"
    parser = add_command(commands, "together", run, summary=summary, example=_EXAMPLE)
    parser.usage = "halftrek together [options] TEXT DATA --by COLUMN"
    parser.add_argument("text", metavar="TEXT", help="file with a model in lavaan's syntax, '-', or the model itself")
    parser.add_argument("data", metavar="DATA", help=DATA_HELP)
    parser.add_argument("--by", metavar="COLUMN", required=True, help="column that says the group of a row")
    parser.add_argument("--groups", metavar="A,B", help="the groups in their order (default: of their first rows)")
    parser.add_argument(
        "--lavaan", choices=get_args(LavaanFunction), default="sem", help="whose defaults hold (default: sem)"
    )
    parser.add_argument("--std-lv", action="store_true", help="factors of variance 1, as std.lv = TRUE")
    parser.add_argument("--orthogonal", action="store_true", help="factors that do not covary")
    parser.add_argument("--equal", metavar="A,B", default="", help=f"what is equal: {', '.join(get_args(Equal))}")
    parser.add_argument(
        "--partial", metavar="TEXT", action="append", default=[], help="an exception, 'f =~ x2'; may be repeated"
    )
    parser.add_argument("--information", choices=("expected", "observed"), help="behind standard errors")
    parser.add_argument("--weights", metavar="COLUMN", help="column that says how many rows a row counts for")
    parser.add_argument(
        "--missing", choices=get_args(Missing), default="fiml", help="rows with missing values (default: fiml)"
    )


def run(args: argparse.Namespace) -> int:
    """Prints measures of fit and the parameters of each group."""
    from halftrek.cli.inputs import opened_rows, read_text, refuse_two_standard_inputs
    from halftrek.cli.output import show, show_json
    from halftrek.results.beside.together import fit_together

    refuse_two_standard_inputs(args.text, args.data)
    with opened_rows(args.data) as rows:
        found = fit_together(
            read_text(args.text),
            rows,
            by=args.by,
            groups=_words(args.groups) or None,
            function=args.lavaan,
            std_lv=args.std_lv,
            orthogonal=args.orthogonal,
            equal=cast("list[Equal]", _words(args.equal)),
            partial=args.partial,
            weights=args.weights,
            missing=args.missing,
            information=args.information,
        )
    if args.json:
        show_json(found.to_dict())
    else:
        show(str(found))
    return DONE if found.converged else NOT_CONVERGED


def _words(text: str | None) -> list[str]:
    """What stands between commas; a word with a comma stands in double quotes."""
    return [word.strip() for line in csv.reader([text or ""], skipinitialspace=True) for word in line if word.strip()]
