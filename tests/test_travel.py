"""Everything that a user can hold goes into another process and through a copy, and comes back as it was."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek import errors
from tests import public_values
from tests.narrow import some
from tests.public_values import differences, printed

ROOT = Path(__file__).parents[1]


def pickled(value: Any, protocol: int) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"pickle {protocol}": partial(pickled, protocol=protocol) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_public_value_is_the_same_afterwards(way: str) -> None:
    wrong = []
    for name, value in public_values.values().items():
        back = WAYS[way](value)
        wrong += [f"{name}{d}" for d in differences(value, back)]
        if printed(back) != printed(value):
            wrong.append(f"{name}: prints another text")
    assert not wrong


def test_what_cannot_be_written_to_cannot_be_afterwards() -> None:
    for go in WAYS.values():
        fit = go(public_values.fits()["missing"])
        for array in (fit.model.T, fit.moments.cov, fit.patterns.mean, go(fit.model.joint).cov):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
        with pytest.raises(TypeError):
            go(fit.graph).latents["V"] = ("x",)
        with pytest.raises(TypeError):
            go(ht.parse_question("P(y | do(x=1))")).do["x"] = 2.0


def every_error() -> list[errors.HalftrekError]:
    verdict = ht.identify("x -> y; x <-> y", "x -> y")
    made: dict[str, errors.HalftrekError] = {
        "TextError": errors.TextError("odd", "x -> \n y", 5, 6),
        "GraphSyntaxError": errors.GraphSyntaxError("odd", "x -> -> y", 5, 7),
        "QuestionSyntaxError": errors.QuestionSyntaxError("odd"),
        "AssumptionSyntaxError": errors.AssumptionSyntaxError("odd"),
        "NotIdentifiedError": errors.NotIdentifiedError("no answer", verdict),
        "MissingExtraError": errors.MissingExtraError("drawing", "plot"),
    }
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.HalftrekError)]
    return [made.get(kind.__name__) or kind(f"a {kind.__name__}") for kind in kinds]


@pytest.mark.parametrize("way", WAYS)
def test_errors_say_the_same_afterwards(way: str) -> None:
    for error in some(every_error()):
        error.add_note("while fitting")
        back = WAYS[way](error)
        assert type(back) is type(error)
        assert (str(back), repr(back), back.args) == (str(error), repr(error), error.args)
        assert back.__notes__ == ["while fitting"]
        for name, held in vars(error).items():
            assert not differences(held, getattr(back, name))
        if isinstance(error, errors.TextError):
            assert isinstance(back, errors.TextError)
            assert (back.line, back.column) == (error.line, error.column)


def test_a_verdict_comes_with_the_error_that_was_raised() -> None:
    with pytest.raises(ht.NotIdentifiedError) as caught:
        public_values.fits()["complete"].query("c -> d")
    back = pickle.loads(pickle.dumps(caught.value))
    assert back.verdict.witness is not None
    assert back.verdict.explain() == caught.value.verdict.explain()
    assert back.answer.explain() == caught.value.answer.explain() == str(back)


def test_nothing_is_sent_that_can_be_worked_out_again() -> None:
    """What was computed and kept meanwhile makes no value larger."""
    rows = public_values.rows(200)
    fit, graph = ht.fit(public_values.GRAPH, rows), ht.Graph([("x", "y")], [("x", "y")])
    verdict, model = ht.identify("x -> y; z -> x; x <-> y", "x ~> y"), fit.model
    before = [len(pickle.dumps(value)) for value in (fit, graph, verdict, model)]
    fit.summary(), fit.effect("z", "y"), fit.effect("z", "y", interval="bootstrap", replicates=50)
    graph.districts, hash(graph), verdict.adjustment_sets, model.cov, model.B
    assert [len(pickle.dumps(value)) for value in (fit, graph, verdict, model)] == before


def ask(fit: ht.Fit) -> tuple[Any, ...]:
    answer = fit.effect("z", "y", interval="delta")
    return fit.summary(), answer, fit.query("P(y | do(x=1))", interval="delta").result


def refuse(fit: ht.Fit) -> None:
    fit.query("c -> d")


def lack(_: int) -> None:
    raise ht.MissingExtraError("drawing", "plot")


def test_other_processes_give_the_same_answers_and_errors() -> None:
    """A new interpreter, as joblib and Dask start it, which shares nothing with this one."""
    names = ("complete", "missing", "clustered", "weighted")
    fits = [public_values.fits()[name] for name in names]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        for fit, there in zip(fits, pool.map(ask, fits), strict=True):
            here = ask(fit)
            assert there[0] == here[0]
            assert not differences(there[1:], here[1:])
        with pytest.raises(ht.NotIdentifiedError) as caught:
            pool.submit(refuse, fits[0]).result()
        assert caught.value.verdict.status == "not identified"
        with pytest.raises(ht.MissingExtraError, match=r"pip install 'halftrek\[plot\]'"):
            pool.submit(lack, 0).result()


# In a program of its own: joblib's processes outlive the call, and this one's warnings are errors.
WITH_JOBLIB = """
from joblib import Parallel, delayed
from tests import public_values
from tests.public_values import differences
from tests.test_travel import ask, lack, refuse

fits = [public_values.fits()[name] for name in ("complete", "missing", "clustered", "weighted")]
with Parallel(n_jobs=2, backend="loky") as pool:
    found = pool(delayed(ask)(fit) for fit in fits)
    for fit, there in zip(fits, found, strict=True):
        here = ask(fit)
        assert there[0] == here[0] and not differences(there[1:], here[1:])
    for task, given, said in ((refuse, fits[0], "NotIdentifiedError"), (lack, 0, "MissingExtraError")):
        try:
            pool([delayed(task)(given)])
        except Exception as error:
            print(type(error).__name__ == said, getattr(getattr(error, "verdict", None), "status", None))
"""


def test_joblib_gives_the_same_answers_and_errors() -> None:
    """loky starts new interpreters and sends values by cloudpickle."""
    words = [sys.executable, "-c", WITH_JOBLIB]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("True not identified\nTrue None\n", 0), done.stderr


def test_rows_that_hang_on_a_connection_stay_behind() -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("create table kept as select random() x, random() y, i % 10 c from range(200) t(i)")
        table = connection.sql("select * from kept")
        fit = ht.fit("x -> y", table, cluster="c")
        sent = pickle.loads(pickle.dumps(fit))
        assert not differences(sent.model, fit.model)
        with pytest.raises(ht.DataError, match="a DuckDBPyRelation cannot be sent to another process"):
            sent.effect("x", "y")
        assert sent.effect("x", "y", interval="delta").se == fit.effect("x", "y", interval="delta").se
        for near in (copy.copy(fit), copy.deepcopy(fit)):
            assert near.effect("x", "y").interval == fit.effect("x", "y").interval


def test_a_deep_copy_keeps_its_rows_when_the_user_changes_theirs() -> None:
    values = np.array(public_values.rows(100))
    fit = ht.fit(public_values.GRAPH, values)
    copied = copy.deepcopy(fit)
    values += 5.0
    assert copied.effect("z", "y", interval="robust").se is not None
    with pytest.raises(ht.DataError, match="no longer those"):
        fit.effect("z", "y", interval="robust")
