"""An answer in sentences: what was asked, why it can be known, what was found, what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halftrek.bottom.words import one_precision
from halftrek.identification.verdict import explained, in_lines
from halftrek.models import Gaussian
from halftrek.queries import (
    Arithmetic,
    DirectEffect,
    Distribution,
    ErrorCovariance,
    PathEffect,
    Probability,
    Quantile,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
)
from halftrek.queries.kinds.terms import leaves
from halftrek.results.answers import BY_LIKELIHOOD, Refusal
from halftrek.results.sets.bounds import INDEPENDENT, Bounds, set_in_words
from halftrek.results.words.wording import crude_in_words, crude_meaning, in_words, listed, meaning

if TYPE_CHECKING:
    from halftrek.notes.words import Front
    from halftrek.results.answers import Answer

_NAMED = 8  # hidden causes that are named; the others are counted


def explain(answer: Answer, *, details: bool = False, front: Front = "python") -> str:
    """One paragraph on each: question, knowability, estimate, formula, crude number, spread, assumptions, warnings."""
    if isinstance(answer.result, Bounds) and answer.result.question is not None:
        if answer.result.kind == INDEPENDENT and answer.verdict is not None:
            return "\n".join((answer.verdict.explain(details=details, front=front), answer.result.explain()))
        return answer.result.explain()
    if answer.form != "point" and answer.verdict is not None:
        if isinstance(answer.result, Refusal):
            return explained(answer.verdict, *left_in_words(answer), details=details, front=front)
        return answer.verdict.explain(details=details, front=front) + f"\nWith these data it is {answer.result}."
    parts = [
        f"The question: {answer.query}, that is, {in_words(answer.query)}.",
        _knowable(answer),
        _found(answer),
        *(f"Besides: {_sentence(remark)}" for remark in answer.asides),
        *_crude(answer),
        *_spread(answer),
        _assumptions(answer),
        *(f"Note: {_sentence(text)}" for text in (*answer.remarks, *answer.warnings)),
        *(_details(answer) if details else ()),
    ]
    return "\n".join(parts)


def left_in_words(refused: Answer) -> list[str]:
    """What the graph and the data leave of a number that they do not determine; nothing where it is not known."""
    left = refused.result.leaves if isinstance(refused.result, Refusal) else None
    if left is None:
        return []
    of = " of the mean" if isinstance(refused.query, Distribution) else ""
    held = f"What the graph and these data leave{of}, without further assumptions: {left.words}."
    if left.interval is None or left.words == "any value":
        return [held]
    return [f"{held} {100 * left.level:g}% interval for the true value: {set_in_words(left.interval_pieces)}."]


def _details(answer: Answer) -> list[str]:
    if answer.verdict is None:
        return []
    return ["Details:", f"  - Method: {answer.verdict.method}.", *(f"  - {text}" for text in answer.verdict.details)]


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."  # it may begin with a variable's name: no capital


def _knowable(answer: Answer) -> str:
    if answer.verdict is None:
        return "All parameters of the model are given, so the answer is exact."
    verdict = answer.verdict
    if verdict.method == "observed":
        return "Can it be known? Yes. " + " ".join(verdict.reasons)
    ground = "the arrows of the graph allow it, whatever the form of the equations"
    if verdict.scope != "nonparametric":
        ground = "the graph allows it, given that effects are linear"
    parts = [f"Can it be known from data like these? Yes: {ground} (method: {verdict.how})."]
    linear = [r for r in verdict.reasons if r.startswith("In a linear model ")]
    parts += [r for r in verdict.reasons if r not in linear]
    formulas = linear or ([f"The formula: {verdict.estimand}"] if verdict.estimand else [])
    return "\n".join([" ".join(parts), *map(in_lines, formulas)])


def _found(answer: Answer) -> str:
    exact = answer.estimate is None
    start = "The answer" if exact else "The estimate"
    if isinstance(answer.result, Gaussian):
        lines = [_outcome_line(answer, answer.result, i) for i in range(len(answer.result.names))]
        return f"{start}: {'; '.join(lines)}. {_coverage(answer)}".rstrip()
    value = float(answer.value)
    figure, interval = _figure(answer, value, 0)
    sentences = (meaning(answer.query, value, figure), _zero(answer, value), _coverage(answer))
    return " ".join((f"{start}: {figure}{interval}.", *(s for s in sentences if s)))


def _outcome_line(answer: Answer, found: Gaussian, i: int) -> str:
    name, sd = found.names[i], found.sd[i]
    mean = "".join(_figure(answer, float(found.mean[i]), i))
    if sd == 0.0:
        return f"{name} is {mean}"
    if _not_normal(answer):
        return f"{name} has the mean {mean}"
    return f"{name} is normally distributed with mean {mean} and standard deviation {sd:.4g}"


def _figure(answer: Answer, value: float, i: int) -> tuple[str, str]:
    """The number, and its interval in brackets."""
    if answer.estimate is None:
        return f"{value:.4g}", ""
    if np.isnan(answer.estimate.errors[i]):
        return f"{value:.4g}", " (without an interval: these data carry no information about it)"
    figure, low, high = one_precision(value, *answer.estimate.intervals[i])
    error = answer.estimate.errors[i]
    return figure, f" ({100 * answer.estimate.level:g}% interval {low} to {high}, standard error {error:.3g})"


def _coverage(answer: Answer) -> str:
    if answer.estimate is None or np.isnan(answer.estimate.errors).any():
        return ""
    if _doubtful(answer):
        return "The interval is not to be trusted, see the notes."
    rows = f" from {answer.n:,.0f} rows" if answer.n else ""
    share = f"{100 * answer.estimate.level:g}"
    return (
        f"The interval says how precisely{rows} the number is known: in {share} of 100 studies like this one it would "
        f"hold the true value."
    )


def _not_normal(answer: Answer) -> bool:
    """True if an outcome is known to be no normal variable: then only its mean is told."""
    return any(n.code == "not normal" for n in answer.notes)


def _doubtful(answer: Answer) -> bool:
    return any(n.level == "doubt" for n in answer.notes)


def _zero(answer: Answer, value: float) -> str:
    """Whether the data tell an effect or a contrast from nothing."""
    effect = isinstance(answer.query, DirectEffect | TotalEffect | PathEffect | ThroughEffect | ErrorCovariance)
    contrast = isinstance(answer.query, Arithmetic) and answer.query.operation == "-"
    if answer.estimate is None or not (effect or contrast or isinstance(answer.query, Standardized)):
        return ""
    low, high = answer.estimate.intervals[0]
    if np.isnan(low) or _doubtful(answer):
        return ""
    if low <= 0.0 <= high:
        return "Zero lies within the interval: these data do not tell it from nothing."
    return f"Zero lies outside the interval: the data speak for a {'positive' if value > 0 else 'negative'} value."


def _crude(answer: Answer) -> list[str]:
    """What the rows say without the graph, and why that is not the answer."""
    crude = answer.crude
    if crude is None:
        return []
    if isinstance(crude.result, Gaussian):
        found = "; ".join(_outcome_line(crude, crude.result, i) for i in range(len(crude.result.names)))
    else:
        found = "".join(_figure(crude, float(crude.value), 0))
    own = [w for w in crude.warnings if w not in answer.warnings]
    rows = f" (of {crude.n:,.0f} rows that have what it needs)" if crude.n != answer.n and crude.n else ""
    return [
        f"Crude, in the rows without the graph: {crude_in_words(answer.query)}{rows}: {found}. {_caution(answer)}",
        *(f"Note on the crude number: {_sentence(w)}" for w in own),
    ]


def _caution(answer: Answer) -> str:
    assert answer.verdict is not None  # crude numbers are of fits
    return crude_meaning(answer.query, answer.verdict.graph)


def _spread(answer: Answer) -> list[str]:
    """How single units differ: noise, which is not what the interval is about."""
    found = answer.outcome if answer.outcome is not None else answer.distribution
    if found is None or len(found.names) != 1 or _not_normal(answer):
        return []
    sd = float(found.sd[0])
    if sd == 0.0:
        return ["Every unit that fits the description has the same value; there is no noise left."]
    low, high = found.mean[0] - 1.96 * sd, found.mean[0] + 1.96 * sd
    return [
        f"Single units differ from each other: about 95 of 100 lie between {low:.4g} and {high:.4g} (standard "
        f"deviation {sd:.4g}). This is noise in the world, which more data would not reduce."
    ]


def _assumptions(answer: Answer) -> str:
    if answer.verdict is None:
        return "It is as right as the given model is."
    graph = answer.verdict.graph
    pairs = [f"{u} and {v}" for u, v in graph.bidirected]
    pairs += [listed(kids) for kids in graph.latents.values() if len(kids) > 1]
    hidden = "nothing hidden affects two of the variables at once"
    if pairs:
        more = f"; and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""
        hidden = f"hidden causes are shared only where drawn ({'; '.join(pairs[:_NAMED])}{more})"
    words = [f"the graph is right: every effect between the variables is an arrow in it, and {hidden}"]
    of_categories = " on the normal variables behind columns in categories"
    where = of_categories if BY_LIKELIHOOD in answer.verdict.reasons else ""
    words.append(f"effects are linear{where} and the same for all units")
    if _needs_normal(answer):
        words.append("errors are normal, which matters for this answer itself and not only for its interval")
    clustered = answer.estimate is not None and answer.estimate.clustered
    words.append(f"the {'clusters of ' if clustered else ''}rows are independent of each other")
    return f"What it rests on: {'; '.join(words)}."


def _needs_normal(answer: Answer) -> bool:
    """True if the answer would be another one with errors of another shape."""
    found = answer.outcome if answer.outcome is not None else answer.distribution
    if _not_normal(answer) or (found is not None and not found.sd.any()):
        return False
    if answer.distribution is not None:
        return True
    terms = leaves(answer.query) if isinstance(answer.query, Arithmetic) else (answer.query,)
    return any(
        isinstance(t, Probability | Quantile) or (isinstance(t, Statistic) and bool(t.case.given or t.case.events))
        for t in terms
    )
