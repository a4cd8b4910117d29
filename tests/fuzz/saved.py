"""Saved files of every kind, edited at random and given a new digest: what loads is whole, or the refusal is ours."""

from __future__ import annotations

import contextlib
import copy
import json
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import halftrek as ht
from halftrek.storage import files
from halftrek.storage.kinds import names
from tests import public_values

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3.5, -0.0, 1e308, -1e308, 1e-320, 10**30, 10**400, "", "x", "y", " x", "x -> y",
    "converged", "nan", "\ud800", "\x00", [], [[]], [1], ["x", "x"], ["x", ["y"]], [[1.0, 2.0]], {}, {"type": "map"},
    {"type": "map", "items": []}, {"type": "map", "items": [["x", 1.0]]}, {"type": "map", "items": [[[], 1], 2]},
    {"type": "set", "items": [{"type": "list", "items": []}]}, {"type": "list", "items": [1, "x"]},
    {"type": "number", "value": "nan"}, {"type": "number", "value": "inf"}, {"type": "number", "value": "x"},
    {"type": "array", "shape": [2], "values": [1.0, 2.0]}, {"type": "array", "shape": [2, 2], "values": [0, 0, 0, 0]},
    {"type": "array", "shape": [0], "values": []}, {"type": "array", "shape": [-1], "values": [1.0]},
    {"type": "array", "shape": [1], "dtype": "str", "width": 10**12, "values": ["x"]},
    {"type": "array", "shape": [1], "dtype": "int64", "values": [10**30]},
    {"type": "array", "shape": [1], "base64": "AA"},
    {"type": "TotalEffect", "cause": "x", "effect": "y"}, {"type": "Graph"}, {"type": "Note", "code": "text"},
    {"type": "Quantile", "level": 2.0, "of": {"type": "Sum", "parts": []}}, {"type": "Popen"}, {"type": ["x"]},
)  # fmt: skip


@cache
def saved() -> tuple[tuple[str, str], ...]:
    """A file of every kind: its name and its text."""
    some = public_values.values()
    wanted = {name: value for name, value in some.items() if type(value) in names()}
    few: dict[str, Any] = {}
    for name, value in wanted.items():  # of verdicts and answers one for each kind of question, and of their ends
        kind = (type(value).__name__, type(getattr(value, "query", None)).__name__, getattr(value, "status", ""))
        few.setdefault(name if isinstance(value, ht.Fit) else str(kind), value)
    with tempfile.TemporaryDirectory() as folder:
        texts = [(name, ht.save(value, Path(folder) / "v.json").read_text()) for name, value in few.items()]
        whole = some["complete"].save(Path(folder) / "v.json", rows=True).read_text()
    return (*texts, ("complete with rows", whole))


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in the data: what holds it, and its key."""
    keys = tree.keys() if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from places(tree[key])


def nudged(value: Any, others: list[Any], rng: np.random.Generator) -> Any:
    """Another value of the same kind, so that many an edited file passes every check of kinds."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-2, -1, 1, 2, 50]))
    if isinstance(value, float):
        return value * float(rng.choice([0.0, -1.0, 0.5, 1.01, 3.0, 1e6, 1e-6, 1e200])) + float(rng.choice([0.0, 0.1]))
    texts = [other for other in others if isinstance(other, str)]
    return texts[int(rng.integers(len(texts)))] if texts else value + "_"


def edit(content: Any, rng: np.random.Generator) -> tuple[Any, str]:
    """One to three random changes, and what they were."""
    content = copy.deepcopy(content)
    said = []
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        spots = list(places(content))
        if not spots:
            break
        if rng.random() < 0.7:  # numbers of arrays are most of a file, and the least of what may be wrong with it
            spots = [s for s in spots if not (isinstance(s[0], list) and isinstance(s[0][s[1]], float))] or spots
        holder, key = spots[int(rng.integers(len(spots)))]
        other = spots[int(rng.integers(len(spots)))]
        if rng.random() < 0.6 and isinstance(holder[key], (bool, int, float, str)):
            said.append(f"{key!r}: {str(holder[key])[:40]}")
            holder[key] = nudged(holder[key], [s[0][s[1]] for s in spots], rng)
            said[-1] += f" -> {str(holder[key])[:40]}"
            continue
        match int(rng.integers(5)):
            case 0 | 1:
                holder[key] = copy.deepcopy(ODD[int(rng.integers(len(ODD)))])
                said.append(f"{key!r} = {str(holder[key])[:60]}")
            case 2:
                del holder[key]
                said.append(f"without {key!r}")
            case 3:
                holder[key] = copy.deepcopy(other[0][other[1]])
                said.append(f"{key!r} = what {other[1]!r} is")
            case _ if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
                said.append(f"entry {key} twice")
            case _:
                holder[f"{key}_"] = holder[key]
                said.append(f"{key!r} and {key}_")
    return content, "; ".join(said)


def use(value: Any) -> None:
    """Print it, and ask it what its kind can be asked."""
    public_values.printed(value)
    match value:
        case ht.Fit():
            names = value.graph.observed
            refused(lambda: value.effect(names[0], names[-1]))
            refused(lambda: value.query(f"P({names[-1]} | do({names[0]}=1))", interval="delta"))
            refused(value.params)
            refused(value.measures)
        case ht.GroupFits():
            names = value.graph.observed
            refused(lambda: value.effect(names[0], names[-1]))
            refused(lambda: value[value.keys[0]])
        case ht.CGLSCM() | ht.GLSCM():
            model = value.centralize() if isinstance(value, ht.GLSCM) else value
            refused(lambda: model.query(f"P({model.names[-1]} | do({model.names[0]}=1))"))
            model.sample(3, random_state=0)
        case ht.Moments():
            refused(lambda: ht.fit(ht.Graph(observed=value.names), value))
        case ht.BatchFit():
            _ = value.cov, value.mean, list(value.code)
        case ht.Verdict():
            _ = value.adjustment_sets
            recipe = value.recipe
            if recipe is not None:
                refused(lambda: ht.solve(recipe, np.eye(len(recipe.names)) + 0.3))
        case ht.Answer():
            _ = value.se, value.interval, value.variance_interval, value.value, value.variance


def refused(ask: Any) -> None:
    """An answer, or a refusal of ours."""
    with contextlib.suppress(ht.HalftrekError):
        ask()


def _loaded(path: Path) -> Any:
    """What the file holds; None where it is refused, in words that name the file."""
    try:
        return ht.load(path)
    except ht.HalftrekError as error:
        if str(path) not in str(error):
            raise AssertionError(f"the refusal does not name the file: {error}") from error
        return None


def edited_saves(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Saved files that were edited and given a new digest load and can be used, or are refused in words."""
    failures = []
    whole = saved()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "edited.json"
        for i in range(count):
            name, text = whole[int(rng.integers(len(whole)))]
            envelope = json.loads(text)
            envelope["content"], said = edit(envelope["content"], rng)
            envelope["digest"] = files._digest(envelope["content"])
            path.write_text(json.dumps(envelope))
            try:
                with np.errstate(all="ignore"):
                    value = _loaded(path)
                    if value is not None:
                        refused(lambda value=value: use(value))
            except Exception as error:
                failures.append(f"number {i}, {name}: {said}: {type(error).__name__}: {error}")
    return count, failures
