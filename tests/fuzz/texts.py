"""Texts that nobody would write: mutants of graphs and questions, and what must hold of each.

A text is a value or an error of ours, whose message is short and can be shown on any terminal; a graph that is read is
written and read again as the same; a question that is read is answered by a finite number, an error of ours or a word.
"""

from __future__ import annotations

import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice

import numpy as np

from halftrek.bottom.choices import Syntax
from halftrek.errors import HalftrekError, printable
from halftrek.examples.lookup import catalog
from halftrek.graphs import Graph
from halftrek.models import Gaussian
from halftrek.queries import evaluate
from halftrek.simulation import random_model
from halftrek.syntax import format_graph, parse_graph, parse_question

LONGEST_MESSAGE = 5_000
SLOWEST = 20.0  # seconds for one short text; generous, since the machine may have other work
SYNTAXES: tuple[Syntax, ...] = ("arrows", "lavaan", "dagitty", "dot")
_PIECE = re.compile(r"\s+|\w+|<->|->|<-|~~|=~|~>|:=|.", re.DOTALL)
_SEEDS = (
    "x -> y -> z; x <-> z; latent U; U -> {x, y} [0.5]",
    '"a b" -> c [lab]; {c, d} <-> {c, d} # remark\nobserved e',
    "y ~ 0.5*x1 + a*x2 + x3\nx1 ~~ 0*x2; f =~ NA*a + b + 2*c\nf ~~ 1*f; y ~ 1; e := a*2",
    'dag { bb="0,0,1,1" x [exposure,pos="1,2"] y [outcome]; U [latent]; x -> y [beta=0.5]; U -> {x y}; x <-> z }',
    "digraph g { node [color=red]; subgraph c { a -> b } b -> c [dir=both]; U [latent=true]; U -> {a c} [label=q] }",
)
_QUESTIONS = (
    "P(y | do(x=1), z=2)", "E[y_{x=1} - y_{x=0} | x=0, y=2]", "x ~> y", "x -> m -> y", "x <-> y", "std(x ~> y)",
    "P(1 < y < 2, z > 0 | do(x += 1))", "Q(0.9, y | do(x ~ N(0, 2)))", "Corr[y, z | x > 1]", "2 * (x ~> y) - E[y] / 3",
    "E[y_{m_{x=0}, x=1}] - E[y]", "Var[2 * y - z / 3 | x=1]", "P(y)", "SD[y | do(x -> y = 1)]", "E[y | do(x *= 2)]",
)  # fmt: skip
_ODD = (
    *"{}[]();,=~*+-/|:<>#!@'\"\\", "->", "<->", "<-", "~>", "~~", "=~", ":=", "/*", "*/", "//", "\n", " ", "\x00",
    "\x1b]0;title\x07", "\x9b2J", "\u202e", "\u2066", "\ud800", "\ufeff", "é", "\uff11", "1e308", "1e-320", "10**400",
    "nan", "inf", "0", "-1", "1e60", "latent", "observed", "node", "subgraph", "strict", "digraph {", "dag {", "do(",
    "P(", "E[", "y_{", "NA*", "start(", "x", "y", "z", "U",
)  # fmt: skip


def mutants(rng: np.random.Generator, seeds: tuple[str, ...]) -> Iterator[str]:
    """Texts of pieces inserted, deleted, swapped, repeated and spliced from one seed into another."""
    cut = [_PIECE.findall(seed) for seed in seeds]
    while True:
        pieces = list(cut[rng.integers(len(cut))])
        for _ in range(int(rng.integers(0, 7))):
            at = int(rng.integers(len(pieces) + 1))
            match int(rng.integers(6)):
                case 0:
                    pieces.insert(at, _ODD[rng.integers(len(_ODD))])
                case 1:
                    del pieces[at : at + 1 + int(rng.integers(3))]
                case 2 if len(pieces) > 1:
                    i, j = rng.integers(len(pieces), size=2)
                    pieces[i], pieces[j] = pieces[j], pieces[i]
                case 3:
                    stop = at + 1 + int(rng.integers(4))
                    pieces[at:at] = pieces[at:stop] * int(rng.choice([1, 2, 3, 200]))
                case 4:
                    other = cut[rng.integers(len(cut))]
                    start = int(rng.integers(len(other)))
                    pieces[at:] = other[start:]
                case _:
                    pieces[at:at] = [_ODD[k] for k in rng.integers(len(_ODD), size=2)]
        yield "".join(pieces)


@cache
def graph_seeds() -> tuple[str, ...]:
    """Graphs of the catalog in every notation that can write them, and texts with everything a notation has."""
    found = list(_SEEDS)
    for name in catalog():
        graph = catalog(name).graph
        if len(graph) > 8:
            continue
        for syntax in SYNTAXES:
            try:
                found.append(format_graph(graph, syntax))
            except HalftrekError:  # a name that R cannot read
                continue
    return tuple(found)


def mutated_graph_texts(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Mutants of graph texts in four notations are read and written again, or refused in words."""
    return _tried(_check_graph, islice(mutants(rng, graph_seeds()), count))


def mutated_questions(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Mutants of questions, asked of a small model, give a finite number or are refused in words."""
    graph = Graph(
        [("x", "m"), ("m", "y"), ("z", "y"), ("z", "x"), ("x", "y")], [("x", "m")], observed=["x", "m", "y", "z"]
    )
    model = random_model(graph, random_state=1)
    return _tried(lambda text: _check_question(text, model), islice(mutants(rng, _QUESTIONS), count))


def _tried(check: Callable[[str], str | None], texts: Iterator[str]) -> tuple[int, list[str]]:
    count, failures = 0, []
    for text in texts:
        count += 1
        start = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                wrong = check(text)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error} at {traceback.extract_tb(error.__traceback__)[-1]}"
        taken = time.monotonic() - start
        if wrong is None and taken > SLOWEST:
            wrong = f"took {taken:.0f} seconds"
        if wrong is not None:
            failures.append(f"{text!r}: {wrong}")
    return count, failures


def _check_graph(text: str) -> str | None:
    try:
        graph = parse_graph(text)
    except HalftrekError as error:
        return _wrong_message(error)
    for syntax in SYNTAXES:
        try:
            written = format_graph(graph, syntax)
        except HalftrekError as error:
            if syntax != "lavaan":
                return f"cannot be written as {syntax}: {error}"
            continue
        if syntax != "lavaan" and parse_graph(written, syntax) != graph:
            return f"is another graph when written as {syntax} and read again: {written!r}"
    return None


def _check_question(text: str, model: object) -> str | None:
    try:
        query = parse_question(text)
        if parse_question(str(query)) != query:
            return f"is another question when written and read again: {query}"
        found = evaluate(query, model)  # type: ignore[arg-type]
    except HalftrekError as error:
        return _wrong_message(error)
    numbers = [found.mean, found.cov] if isinstance(found, Gaussian) else [np.array(found)]
    return None if all(np.isfinite(x).all() for x in numbers) else f"is answered by {found}"


def _wrong_message(error: HalftrekError) -> str | None:
    message = str(error)
    if printable(message) != message:
        return f"the message has controls in it: {message!r}"
    return f"the message has {len(message)} letters" if len(message) > LONGEST_MESSAGE else None
