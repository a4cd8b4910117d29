"""Runs every fuzzing function of this folder for a share of the time, and tells what came of it.

A fuzzing function is public, stands in a module of this folder and has the form ``(rng, count) -> (tried, failures)``:
it makes ``count`` hostile inputs with the generator, and gives how many it tried and a description of each failure.
What a batch does hangs on its seed, its number and its count alone, so that a failure can be had again.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np

import tests.fuzz as folder

Fuzz = Callable[[np.random.Generator, int], tuple[int, list[str]]]

BATCHES = 8  # about so many batches fill the time of a function
MOST = 10_000  # inputs in a batch


@dataclass(frozen=True)
class Batch:
    """One call of a fuzzing function."""

    name: str
    number: int
    count: int
    tried: int
    failures: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Tally:
    """All calls of a fuzzing function."""

    name: str
    about: str
    batches: tuple[Batch, ...]

    @property
    def tried(self) -> int:
        return sum(batch.tried for batch in self.batches)

    @property
    def failures(self) -> int:
        return sum(len(batch.failures) for batch in self.batches)

    @property
    def seconds(self) -> float:
        return sum(batch.seconds for batch in self.batches)


def discovered() -> dict[str, Fuzz]:
    """All fuzzing functions of this folder, by names such as ``texts.mutated_questions``."""
    here = sorted(m.name for m in pkgutil.iter_modules(folder.__path__))
    modules = [n for n in here if n not in ("__main__", "runner", "page") and not n.startswith("test_")]
    return dict(pair for name in modules for pair in functions(importlib.import_module(f"{folder.__name__}.{name}")))


def functions(module: ModuleType) -> Iterator[tuple[str, Fuzz]]:
    """The fuzzing functions that a module itself defines, as they stand in it."""
    for name, value in vars(module).items():
        own = inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
        if own and list(inspect.signature(value).parameters) == ["rng", "count"]:
            yield f"{module.__name__.rpartition('.')[2]}.{name}", value


def run_batch(name: str, fuzz: Fuzz, seed: int, number: int, count: int) -> Batch:
    """One call; what it raises is a failure too, for a fuzzing function has to survive what it tries."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
    begun = time.monotonic()
    try:
        tried, failures = fuzz(rng, count)
    except Exception as error:
        tried, failures = 0, [f"the fuzzing function itself raised {type(error).__name__}: {error}"]
    return Batch(name, number, count, tried, tuple(failures), time.monotonic() - begun)


def run_for(name: str, fuzz: Fuzz, seed: int, seconds: float) -> Iterator[Batch]:
    """Batches until the time is used up, at least one; each is as large as the speed so far suggests."""
    spent, count, number = 0.0, 1, 0
    while number == 0 or spent < seconds:
        batch = run_batch(name, fuzz, seed, number, count)
        yield batch
        spent += batch.seconds
        number += 1
        count = next_count(batch, seconds, seconds - spent)


def next_count(batch: Batch, seconds: float, left: float) -> int:
    """How many inputs fill a share of the time or the rest of it; growth is bounded, for a first batch says little."""
    speed = batch.count / max(batch.seconds, 1e-6)
    wanted = speed * min(seconds / BATCHES, max(left, 0.0))
    return int(max(1, min(wanted, 10 * batch.count, MOST)))


def about(fuzz: Fuzz) -> str:
    """The first sentence of the function's docstring."""
    text = inspect.getdoc(fuzz) or ""
    return text.split("\n\n")[0].replace("\n", " ").strip().rstrip(".")
