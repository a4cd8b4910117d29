"""The graphical criteria by name: each takes a graph at a point and the edges known so far, and gives further steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from halftrek.identification.criteria.edgewise import edgewise_half_trek, edgewise_steps
from halftrek.identification.criteria.half_trek import half_trek, half_trek_steps
from halftrek.identification.criteria.latent_factors import latent_factor_half_trek
from halftrek.identification.criteria.trek_separation import trek_separation
from halftrek.identification.recipes.recipe import LinearStep

if TYPE_CHECKING:
    from halftrek.identification.criteria.bench import Bench

Criterion = Callable[["Bench", Collection[str]], tuple[LinearStep, ...]]

CRITERIA: Mapping[str, Criterion] = {
    "half-trek": half_trek,
    "edgewise half-trek": edgewise_half_trek,
    "trek separation": trek_separation,
    "latent-factor half-trek": latent_factor_half_trek,
}

STEPWISE: Mapping[str, Callable[[Bench], Iterator[LinearStep]]] = {
    "half-trek": half_trek_steps,
    "edgewise half-trek": edgewise_steps,
}


def apply_criteria(bench: Bench, names: Sequence[str], known: Collection[str] = ()) -> tuple[LinearStep, ...]:
    """Steps of several criteria that build on each other, each tried again whenever another has found something."""
    settled, steps = set(known), list[LinearStep]()
    grown = True
    while grown:
        grown = False
        for name in names:
            for step in CRITERIA[name](bench, settled):
                outputs = tuple(None if q in settled else q for q in step.outputs)  # each edge comes from one step
                if any(outputs):
                    steps.append(replace(step, outputs=outputs))
                    settled.update(filter(None, outputs))
                    grown = len(names) > 1
    return tuple(steps)
