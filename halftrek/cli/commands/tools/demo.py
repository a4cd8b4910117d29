"""``halftrek demo``: the whole walk on a bundled data set whose true answer is known."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE, NOT_CONVERGED
from halftrek.cli.options import add_command

if TYPE_CHECKING:
    from halftrek.bottom.arrays import Floats
    from halftrek.cli.options import Commands
    from halftrek.identification import Verdict
    from halftrek.models import Gaussian
    from halftrek.results.answers import Answer
    from halftrek.results.fit import Fit

_EXAMPLE = "halftrek demo --output output"
_NAME, _DATA = "smoking", "front_door"
_CAUSE, _OUTCOME, _VALUE = "smoking", "cancer_risk", 3.0
_NEAR = 0.25  # to either side, for rows that are about there
_QUESTION = f"P({_OUTCOME} | do({_CAUSE}={_VALUE:g}))"


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands,
        "demo",
        run,
        summary="a causal effect from bundled data, step by step, with a picture",
        example=_EXAMPLE,
    )
    parser.add_argument("--output", metavar="DIR", default="output", help="folder for the picture (default: output)")
    parser.add_argument("--force", action="store_true", help="write over a picture that halftrek did not write")


def run(args: argparse.Namespace) -> int:
    """Graph, verdict, fit, answer, picture."""
    from halftrek.bottom.files import check_place, output_folder
    from halftrek.cli.output import show, show_json
    from halftrek.examples import catalog, load
    from halftrek.results.answering import answer
    from halftrek.results.given.reading import identify
    from halftrek.results.workflow import fit

    place = output_folder(args.output) / "demo.png"
    check_place(place, overwrite=args.force)  # before the work, not after it
    entry = catalog(_NAME)
    verdict = identify(entry.graph, _QUESTION)
    result = fit(entry.graph, load(_DATA))
    answered = answer(result, _QUESTION)
    found = answered.distribution
    assert found is not None  # the question asks for a distribution
    worlds = {
        f"seen: regression of the rows at {_CAUSE} = {_VALUE:g}": _seen(result),
        f"done: {_CAUSE} set to {_VALUE:g} (halftrek)": found,
        "done: the truth (the data are simulated)": entry.model.do({_CAUSE: _VALUE}).distribution(_OUTCOME),
    }
    if not args.json:
        show(_story(verdict, result, worlds, answered))
    picture = _save_picture(result, worlds, place, args.force)
    if args.json:
        show_json(_record(verdict, result, worlds, picture))
    else:
        show(f"\nPicture: {picture}")
    return DONE if result.converged else NOT_CONVERGED


def _seen(fit: Fit) -> Gaussian:
    """What a plain regression says: the outcome among rows in which the cause happens to have the value."""
    from halftrek.models import Gaussian

    moments = fit.moments
    return Gaussian(moments.names, moments.mean, moments.cov).given({_CAUSE: _VALUE}).marginal(_OUTCOME)


def _story(verdict: Verdict, fit: Fit, worlds: Mapping[str, Gaussian], answered: Answer) -> str:
    from halftrek.reporting.described.verdicts import describe_verdict
    from halftrek.reporting.tables import count, facts, number, table

    graph = fit.graph
    edges = ", ".join(f"{u} {kind} {v}" for u, kind, v in graph.edges())
    rows = [(label, float(one.mean[0]), float(one.variance[0])) for label, one in worlds.items()]
    assert answered.estimate is not None  # it comes from a fit
    low, high = map(float, answered.estimate.intervals[0])
    sure = f"  95% interval of the mean under do(): {number(low)} to {number(high)}"
    shown = facts([("rows", count(fit.n)), ("log-likelihood", number(fit.loglik, 8)), ("status", str(fit.status))])
    return "\n\n".join(
        (
            f"What would {_OUTCOME} be if we set {_CAUSE} to {_VALUE:g}?\n"
            f"Something hidden moves both, so the data alone mislead. The graph helps.",
            "1. The graph\n" + facts([("edges", edges), ("hidden", ", ".join(graph.latents) or "behind each <->")]),
            "2. The verdict, before any data are opened\n" + describe_verdict(verdict),
            "3. The fit\n" + shown,
            f"4. The answer: {_QUESTION}\n" + table(("distribution", "mean", "variance"), rows) + f"\n{sure}",
        )
    )


def _record(verdict: Verdict, fit: Fit, worlds: Mapping[str, Gaussian], picture: Path) -> dict[str, object]:
    from halftrek.reporting.records import fit_record, gaussian_record

    seen, found, truth = (gaussian_record(one) for one in worlds.values())
    return {
        "verdict": verdict.to_dict(),
        "fit": fit_record(fit),
        "observed": seen,
        "answer": found,
        "truth": truth,
        "picture": str(picture),
    }


def _save_picture(fit: Fit, worlds: Mapping[str, Gaussian], place: Path, force: bool) -> Path:
    from halftrek.reporting import draw_graph, plot_densities, save
    from halftrek.reporting.plots.figures import new_figure

    figure = new_figure(10.0, 4.0, columns=2, widths=(1.0, 1.15))
    left, right = figure.axes
    draw_graph(fit.graph, fit.model, ax=left, cause=_CAUSE, effect=_OUTCOME, loadings=False)
    left.set_title("The graph with its estimated weights", fontsize="medium")
    plot_densities({**_near(), **worlds}, ax=right, title=f"{_OUTCOME}: {_CAUSE} = {_VALUE:g} seen, and done")
    return save(figure, place, overwrite=force)


def _near() -> dict[str, Floats]:
    """The outcome in the rows in which the cause is about there."""
    from halftrek.examples import load

    rows = load(_DATA)
    names = list(rows.names or ())
    near = abs(rows[:, names.index(_CAUSE)] - _VALUE) <= _NEAR
    label = f"seen: the {near.sum()} rows with {_CAUSE} {_VALUE - _NEAR:g} to {_VALUE + _NEAR:g}"
    return {label: rows[near, names.index(_OUTCOME)]}
