"""What every Python tool's driver shares: it reads a problem's folder and prints one line of JSON.

``python run_<tool>.py FOLDER answer`` answers the question for each table; ``python run_<tool>.py FOLDER time VARIANT``
times fits. Only the standard library is imported here: the tool's own imports are part of what is measured.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

LONG = 5.0  # seconds; the first call may load libraries, so a shorter one says little


class Refusal(Exception):
    """The tool says that it has no answer: honest, and not an error."""


class NotForThis(Exception):
    """The tool is made for other problems: nothing was asked of it."""


def measure(call, seconds, most=1001):
    """Milliseconds of repeated calls, for so many seconds; the first fifth warms up, unless one call is long."""
    start = time.perf_counter()
    call()
    first = time.perf_counter() - start
    if first > LONG:
        return [1e3 * first]
    end, taken = time.perf_counter() + seconds, []
    while len(taken) < 3 or (len(taken) < most and time.perf_counter() < end):
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return taken[len(taken) // 5 :]


def _short(text):
    return " ".join(str(text).split())[:160]


def _answer_one(answer, problem, path):
    said = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(said):
        warnings.simplefilter("always")
        try:
            found = answer(problem, path)
        except Refusal as refusal:
            return {"refused": _short(refusal)}
        except NotForThis as reason:
            return {"inapplicable": _short(reason)}
        except Exception as error:
            return {"error": _short(f"{type(error).__name__}: {error}")}
    quiet = (DeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
    notes = [str(w.message) for w in caught if not issubclass(w.category, quiet)]
    found.setdefault("warning", _short("; ".join(dict.fromkeys(notes))))
    return found


def total_effect(problem, weights):
    """Sum over paths of the products of their edges' weights."""
    total = 0.0
    for path in problem["paths"]:
        product = 1.0
        for edge in pairwise(path):
            product *= weights[edge]
        total += product
    return total


def run(answer=None, timed=None):
    """``answer(problem, path)`` gives a dictionary; ``timed(problem, folder, variant)`` the call to be timed."""
    folder, task = Path(sys.argv[1]), sys.argv[2]
    problem = json.loads((folder / "graph.json").read_text())
    out = os.fdopen(os.dup(1), "w")
    if task == "answer":
        files = [folder / f"data_{k}.csv" for k in range(problem["tables"])]
        result = {"answers": [_answer_one(answer, problem, str(path)) for path in files]}
    else:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call = timed(problem, folder, sys.argv[3])
                result = {"milliseconds": measure(call, problem.get("seconds", 5.0))}
            except Refusal as refusal:
                result = {"refused": _short(refusal)}
            except Exception as error:
                result = {"error": _short(f"{type(error).__name__}: {error}")}
    print(json.dumps(result), file=out, flush=True)
