"""The answer to "can this be known?", with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from halftrek.choices import Scope
from halftrek.portable import Portable
from halftrek.upward import Faces

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.arrows.listed_sets import AdjustmentSets
    from halftrek.identification.arrows.nonparametric import Hedge
    from halftrek.identification.local.witness import Witness
    from halftrek.identification.recipes.recipe import Recipe
    from halftrek.notes import Note
    from halftrek.queries.types import Query

Status = Literal["identified", "finite", "not identified", "undecided"]


@dataclass(frozen=True, eq=False)
class Verdict(Portable, Faces):
    """Whether the graph and the distribution of the observed variables determine the answer to a query, and how.

    ``scope`` says what the verdict rests on: "nonparametric" on the arrows alone, "linear" on linear equations as well.
    ``degree`` counts the values that the answer takes at a generic covariance (1, k, or None: not finite, not known).
    ``reasons`` are sentences; ``advice`` says what would make an unidentified query identified, ``helps`` in words.
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

    @property
    def helps(self) -> tuple[str, ...]:
        """The advice in words, a change each: any one of them would do."""
        return tuple(map(str, self.advice))

    @property
    def identified(self) -> bool:
        """True only for the status "identified"."""
        return self.status == "identified"

    @cached_property
    def adjustment_sets(self) -> AdjustmentSets | None:
        """All minimal sets of variables that it is enough to adjust for, smallest first; empty if there is none.

        Of a direct effect: sets that make the slope of the cause the arrow's. None for a question that is not about
        one such effect. At most 1,000 are listed, and ``complete`` says whether these are all.
        """
        from halftrek.identification.arrows.listed_sets import listed_sets

        return listed_sets(self.graph, self.query)

    def explain(self) -> str:
        """The verdict in sentences."""
        parts = [_headline(self), *self.reasons]
        if self.estimand is not None and self.status == "identified":
            parts.append(f"Formula: {self.estimand}")
        if self.witness is not None:
            parts.append(self.witness.explain())
        if self.helps:
            parts += ["What would help (any one of these):", *(f"  - {change}" for change in self.helps)]
        return "\n".join(in_lines(part) for part in parts)

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
            "explanation": self.explain(),
        }

    def __str__(self) -> str:
        several = f" ({self.degree} values)" if self.status == "finite" and self.degree else ""
        how = f" by {self.method}" if self.method else ""
        formula = f": {self.estimand}" if self.identified and self.estimand else ""
        return f"{self.query}: {self.status}{several}{how} [{self.scope}]{formula}"

    def __repr__(self) -> str:
        return f"Verdict({self})"


def in_lines(text: str) -> str:
    """A formula with its "where" clauses on lines of their own."""
    head, where, tail = text.partition(" where [")
    return head + "\n  where [" + tail.replace("; [", "\n  and [") if where else text


def _headline(verdict: Verdict) -> str:
    query = str(verdict.query)
    grounds = "from the arrows alone, whatever the form of the equations"
    if verdict.scope == "linear":
        grounds = "in linear models with this graph, for almost all values of the coefficients"
    if verdict.status == "identified":
        return f"{query} is identified {grounds}."
    if verdict.status == "finite":
        return (
            f"{query} is identified only up to {verdict.degree or 'finitely many'} values: a covariance matrix of the "
            f"observed variables leaves that many answers (complex ones counted), and no amount of data chooses "
            f"between them."
        )
    if verdict.status == "undecided":
        return f"Whether {query} is identified was not decided within the budget; a larger one may decide it."
    return f"{query} is not identified {'in linear models with this graph' if verdict.scope == 'linear' else grounds}."
