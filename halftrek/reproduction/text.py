"""The reproduction as plain text, at most 80 columns wide."""

from __future__ import annotations

from halftrek.examples import catalog
from halftrek.reporting.tables import count, paragraph, table
from halftrek.reproduction.printed import NAPKIN
from halftrek.reproduction.results import Accuracy, Comparison, ExperimentResult, Reproduction, Start

_COLUMNS = ("original", "paper", "CGL-Go", "exact psi=1", "exact")
_NOISE = {"free": "noise variances free", "unit": "noise variances held at 1"}


def render(result: Reproduction) -> str:
    """Tables of both experiments, one after the other."""
    head = paragraph(
        f"Two experiments of Maiti & Jain (2025), samples of {count(result.rows)} rows, "
        f"random_state {result.random_state}.\n"
        f"paper: the estimate that the paper prints. CGL-Go: its algorithm, taken literally, with one weight for each "
        f"edge. exact: the maximum of the likelihood, with noise variances held at 1 as in the paper (psi=1) and free."
    )
    pieces = [head]
    for e in result.experiments:
        pieces += [_answers(e), _parameters(e), _starts(e), _accuracy(e, result)]
    return "\n\n".join(pieces)


def _answers(e: ExperimentResult) -> str:
    text = f"Table {e.table}. {e.title}: distributions under an intervention\n" + _comparisons(
        e.answers, "question", digits=5
    )
    if e.name == NAPKIN.name:
        query = NAPKIN.queries[1]
        from_printed = NAPKIN.model(catalog(e.name).model).do({query.cause: 1.0}).distribution(query.outcome).mean[0]
        note = (
            f"The paper prints a mean of {query.mean} for do({query.cause}=1); its own printed T and mu give "
            f"{from_printed:.4f}."
        )
        text += "\n" + paragraph(note, indent=2)
    return text


def _parameters(e: ExperimentResult) -> str:
    title = f"Appendix. {e.title}: parameters"
    note = (
        "The sign of a row of C is free and turned to the original's. With free noise variances the data determine "
        "only what C'C puts between two variables, so C is left empty there."
    )
    return f"{title}\n{_comparisons(e.parameters, 'parameter', digits=4)}\n{paragraph(note, indent=2)}"


def _comparisons(rows: tuple[Comparison, ...], first: str, *, digits: int) -> str:
    cells = [(c.quantity, c.original, c.paper, c.cgl_go, c.exact_unit, c.exact) for c in rows]
    return table((first, *_COLUMNS), cells, digits=digits)


def _starts(e: ExperimentResult) -> str:
    """Equal likelihoods with different answers under the paper's mask, one answer under the edge mask."""
    asked = [question for question, _ in e.starts[0].answers]
    headers = ("mask", "start", "loglik", "iterations", *asked)
    rows = [(s.mask, s.random_state, f"{s.loglik:.3f}", s.iterations, *(v for _, v in s.answers)) for s in e.starts]
    said = " ".join(_range(e.starts, mask, asked[0]) for mask in ("edge", "ancestor"))
    return f"{e.title}: CGL-Go from random starts\n{table(headers, rows, digits=5)}\n{paragraph(said, indent=2)}"


def _range(starts: tuple[Start, ...], mask: str, question: str) -> str:
    chosen = [s for s in starts if s.mask == mask]
    values = [dict(s.answers)[question] for s in chosen]
    logliks = [s.loglik for s in chosen]
    whose = "paper's own mask (ancestor pairs)" if mask == "ancestor" else "edge mask"
    return (
        f"With the {whose} the log-likelihoods differ by {max(logliks) - min(logliks):.4f} and {question} "
        f"by {max(values) - min(values):.4f}."
    )


def _accuracy(e: ExperimentResult, result: Reproduction) -> str:
    parts = []
    for noise, title in _NOISE.items():
        chosen = [a for a in e.accuracy if a.noise == noise]
        used = min(a.used for a in chosen)
        left_out = "" if used == result.replicates else f", {result.replicates - used} without a maximum left out"
        head = f"{e.title}: exact fit of {count(result.replicates)} samples, {title}{left_out}"
        headers = ("quantity", "bias", "rmse", "bound", "efficiency")
        parts.append(f"{head}\n{table(headers, [_accuracy_row(a) for a in chosen], digits=4)}")
    note = (
        "bound: the Cramér-Rao bound as a standard deviation. efficiency: its square over the variance of the "
        "estimates. ±: Monte Carlo standard error."
    )
    return "\n\n".join(parts) + "\n" + paragraph(note, indent=2)


def _accuracy_row(a: Accuracy) -> tuple[str | float, ...]:
    efficiency = f"{a.efficiency:.3f} ± {a.efficiency_error:.3f}"
    return (a.quantity, f"{a.bias:+.5f} ± {a.bias_error:.5f}", a.rmse, a.bound, efficiency)
