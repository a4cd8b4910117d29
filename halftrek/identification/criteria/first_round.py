"""The first round of the closure, once for all questions about a part of a graph.

Each question tries a cut of its own first in every pass, and then all variables with their parents. As long as its own
cut gives nothing, what a question sees is what all others see; when it gives something, that answers the question, or
the question goes its own way from the start. The steps found are those of a closure that began with the question.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from halftrek.identification.criteria.closure import Closure, Cut
from halftrek.identification.recipes.recipe import Step


@dataclass(frozen=True, eq=False)
class _Pass:
    """One pass: the closure before it, after its instruments, and after how many steps an effect became known."""

    before: Closure
    middle: Closure
    by_instruments: dict[str, int]
    by_sums: dict[str, int]
    changed: bool


@dataclass(eq=False)
class FirstRound:
    """The passes so far over the cuts of parents; more are made when a question needs them."""

    closure: Closure
    cuts: list[Cut]
    passes: list[_Pass] = field(default_factory=list)

    @cached_property
    def applies(self) -> bool:
        """False where edges share a label: what is equal becomes known between passes."""
        numbers = [e.parameter for e in self.closure.bench.point.parameters.direct.values() if e.parameter is not None]
        return len(set(numbers)) == len(numbers)

    def steps_to(self, wanted: str, own: Cut | None) -> list[Step] | None:
        """The steps of a closure that ends when an effect is known; None if this round alone does not tell them."""
        begun = self._pass(0).before
        if wanted in begun.known:
            return begun.steps
        number = 0
        while True:
            now = self._pass(number)
            if own is not None:
                branch = now.before.branch()
                if any(key in branch.known for key in own.keys):
                    return None
                if branch.instrument_step(own):
                    return branch.steps if wanted in branch.known else None
            if wanted in now.by_instruments:
                return self.closure.steps[: now.by_instruments[wanted]]
            if own is not None:
                branch = now.middle.branch()
                if any(branch.sum_step(own, x) for x in branch.and_ancestors(own.effect)):
                    return branch.steps if wanted in branch.known else None
            if wanted in now.by_sums:
                return self.closure.steps[: now.by_sums[wanted]]
            if not now.changed:
                return None
            number += 1

    def _pass(self, number: int) -> _Pass:
        while len(self.passes) <= number:
            self.passes.append(self._next())
        return self.passes[number]

    def _next(self) -> _Pass:
        closure = self.closure
        before, changed = closure.branch(), False
        by_instruments: dict[str, int] = {}
        for cut in self.cuts:
            if closure.instrument_step(cut):
                changed = True
                self._note(by_instruments, before)
            changed |= closure.add_combinations(cut)
        middle = closure.branch()
        by_sums: dict[str, int] = {}
        for cut in self.cuts:
            for x in closure.and_ancestors(cut.effect):
                if closure.sum_step(cut, x):
                    changed = True
                    self._note(by_sums, middle)
        return _Pass(before, middle, by_instruments, by_sums, changed)

    def _note(self, found: dict[str, int], before: Closure) -> None:
        """Remember after how many steps the latest effects became known."""
        for effect in reversed(self.closure.known):
            if effect in before.known or effect in found:
                break
            found[effect] = len(self.closure.steps)
