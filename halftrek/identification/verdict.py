"""The answer to "can this be known?", with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from halftrek.bottom.choices import Scope
from halftrek.bottom.portable import Portable
from halftrek.upward import Faces

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.arrows.listed_sets import AdjustmentSets
    from halftrek.identification.arrows.nonparametric import Hedge
    from halftrek.identification.beside.next_steps import NextStep
    from halftrek.identification.local.witness import Witness
    from halftrek.identification.recipes.recipe import Recipe
    from halftrek.notes import Note
    from halftrek.notes.words import Front
    from halftrek.queries.types import Query

Status = Literal["identified", "locally identified", "finite", "not identified", "undecided"]


@dataclass(frozen=True, eq=False)
class Verdict(Portable, Faces):
    """Whether the graph and the distribution of the observed variables determine the answer to a query, and how.

    ``scope`` says what the verdict rests on: "nonparametric" on the arrows alone, "linear" on linear equations as well,
    "non-normal" on errors, too, that are independent and not normal.
    ``degree`` counts the values that the answer takes at a generic covariance (1, k, or None: not finite, not known).
    ``reasons`` are sentences, ``details`` the same as a mathematician would say it; ``advice`` says what would make an
    unidentified query identified, ``helps`` in words, and ``next_steps`` has lines to paste.
    """

    query: Query
    graph: Graph
    status: Status
    method: str
    scope: Scope
    estimand: str | None = None
    latex: str | None = None
    degree: int | None = None
    recipe: Recipe | None = None
    witness: Witness | None = None
    reasons: tuple[str, ...] = ()
    advice: tuple[Note, ...] = ()
    hedge: Hedge | None = None
    details: tuple[str, ...] = ()
    next_steps: tuple[NextStep, ...] = ()

    @property
    def helps(self) -> tuple[str, ...]:
        """The advice in words, a change each: any one of them would do."""
        return tuple(map(str, self.advice))

    @property
    def identified(self) -> bool:
        """True only for the status "identified"."""
        return self.status == "identified"

    @property
    def answerable(self) -> bool:
        """True if a fit has an answer: identified, or at least so near the estimates, and no other is known."""
        return self.identified or (self.status == "locally identified" and self.witness is None)

    @property
    def how(self) -> str:
        """The method in words for people; ``method`` is its name for programs."""
        return method_in_words(self.method)

    @cached_property
    def adjustment_sets(self) -> AdjustmentSets | None:
        """All minimal sets of variables that it is enough to adjust for, smallest first; empty if there is none.

        Of a direct effect: sets that make the slope of the cause the arrow's. None for a question that is not about
        one such effect. At most 1,000 are listed, and ``complete`` says whether these are all.
        """
        from halftrek.identification.arrows.listed_sets import listed_sets

        return listed_sets(self.graph, self.query)

    def explain(self, *, details: bool = False, front: Front = "python") -> str:
        """The verdict in sentences, and what to do next, with lines to paste into ``front``.

        ``details=True`` adds how it was found, in mathematical terms.
        """
        return explained(self, details=details, front=front)

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        return {
            "query": str(self.query),
            "status": self.status,
            "identified": self.identified,
            "method": self.method,
            "scope": self.scope,
            "estimand": self.estimand,
            "latex": self.latex,
            "degree": self.degree,
            "recipe": None if self.recipe is None else self.recipe.to_dict(),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "hedge": None if self.hedge is None else [list(self.hedge.district), list(self.hedge.inner)],
            "reasons": list(self.reasons),
            "helps": list(self.helps),
            "advice": [change.to_dict() for change in self.advice],
            "details": list(self.details),
            "next_steps": [step.to_dict() for step in self.next_steps],
            "explanation": self.explain(),
        }

    def __str__(self) -> str:
        several = f" ({self.degree} values)" if self.status == "finite" and self.degree else ""
        how = f" by {self.how}" if self.identified and self.how else ""
        formula = f": {self.estimand}" if self.identified and self.estimand else ""
        return f"{self.query}: {self.status}{several}{how} [{self.scope}]{formula}"

    def __repr__(self) -> str:
        return f"Verdict({self})"


def explained(verdict: Verdict, *more: str, details: bool = False, front: Front = "python") -> str:
    """The verdict in sentences, what more there is to say of it, and what to do next."""
    steps = [f"  - {text}\n      {line}" for text, line in lines_to_paste(verdict, front)]
    head = ["What to do next:"] if steps else []
    return "\n".join([sentences(verdict, details=details), *more, *head, *steps])


def sentences(verdict: Verdict, *, details: bool = False) -> str:
    """The verdict, its reasons, and what would help."""
    parts = [_headline(verdict), *verdict.reasons]
    if verdict.estimand is not None and verdict.status == "identified":
        parts.append(f"Formula: {verdict.estimand}")
    if verdict.witness is not None:
        parts.append(verdict.witness.explain(details=details))
    parts = [in_lines(part) for part in parts]
    if details:
        parts += ["Details:", f"  - Method: {verdict.method}.", *(f"  - {detail}" for detail in verdict.details)]
    if verdict.helps:
        parts += ["What would help (any one of these):", *(f"  - {change}" for change in verdict.helps)]
    return "\n".join(parts)


def lines_to_paste(verdict: Verdict, front: Front = "python") -> list[tuple[str, str]]:
    """What to do next: why, and the line, where the front has one."""
    return [(step.text, line) for step in verdict.next_steps if (line := step.line(front))]


_METHODS = {  # names that only our own mathematics has; the others are those of the literature
    "jacobian": "models that fit equally well",
    "elimination": "counting solutions",
    "determinants": "ratios of covariances",
}


def method_in_words(method: str) -> str:
    """A method, or several joined by "and", as people are told of it."""
    return " and ".join(_METHODS.get(name, name) for name in method.split(" and "))


def in_lines(text: str) -> str:
    """A formula with its "where" clauses on lines of their own."""
    head, where, tail = text.partition(" where [")
    return head + "\n  where [" + tail.replace("; [", "\n  and [") if where else text


def _headline(verdict: Verdict) -> str:
    query = str(verdict.query)
    grounds = "from the arrows alone, whatever the form of the equations"
    if verdict.scope == "linear":
        grounds = "in linear models with this graph, for almost all values of the coefficients"
    if verdict.scope == "non-normal":
        grounds = "in linear models with this graph whose errors are not normal, and independent where it has no arc"
    if verdict.status == "identified":
        return f"{query} is identified {grounds}."
    if verdict.status == "locally identified":
        far = "." if verdict.witness is None else ", but there is one far off."
        return f"{query} is locally identified in linear models with this graph: no other answer is near{far}"
    if verdict.status == "finite":
        return (
            f"{query} is identified only up to {verdict.degree or 'a few'} values: data leave "
            f"{'up to that many' if verdict.degree else 'several'} answers, and more data do not choose between these."
        )
    if verdict.status == "undecided" and verdict.scope == "non-normal":
        return f"Whether {query} is identified {grounds} was not decided."
    if verdict.status == "undecided":
        return f"Whether {query} is identified was not decided within the budget; a larger one may decide it."
    return f"{query} is not identified {'in linear models with this graph' if verdict.scope == 'linear' else grounds}."
