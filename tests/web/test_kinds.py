"""Kinds of columns by the page: what they change, what is asked for, and what is refused in words."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

import halftrek as ht
from halftrek.web.interface.checking import faults
from halftrek.web.interface.gives import ERROR, GIVES
from tests.web.client import Client

GRAPH = "x -> m -> y; x -> y"


def table(n: int = 300) -> dict[str, list[float]]:
    """A number, a yes or no, and a scale of five points."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=n)
    m = (0.8 * x + rng.normal(size=n) > 0).astype(float)
    y = np.clip(np.round(1.5 + 0.7 * m + 0.5 * x + rng.normal(size=n)), 0, 4)
    return {"x": x.round(6).tolist(), "m": m.tolist(), "y": y.tolist()}


@pytest.fixture
def data(client: Client) -> str:
    written = io.StringIO()
    rows = csv.writer(written)
    rows.writerow(table())
    rows.writerows(zip(*table().values(), strict=True))
    return str(client.upload(written.getvalue().encode())["id"])


@pytest.mark.parametrize(
    ("kinds", "question"),
    [
        ({"y": "ordered"}, "x ~> y"),
        ({"y": "ordered"}, "P(y > 2 | do(x=1))"),
        ({"y": "ordered", "m": "behind"}, "m ~> y"),
        ({"y": "ordered", "m": "acts"}, "E[y | do(m=1)] - E[y | do(m=0)]"),
        ({"x": "ranked"}, "x ~> y"),
        ({"x": "ranked", "y": "ordered", "m": "acts"}, "P(y > 2 | do(m=1))"),
    ],
)
def test_answers_are_those_of_the_library(kinds: dict[str, str], question: str, data: str, client: Client) -> None:
    found = client.ask("answer", text=GRAPH, data=data, question=question, fitting={"kinds": kinds})
    assert not list(faults(found, GIVES["answer"]))
    own = ht.fit(GRAPH, table(), kinds=kinds).query(question)
    assert found["shown"] == str(own).splitlines()
    plain = client.ask("answer", text=GRAPH, data=data, question=question)
    assert plain["shown"] != found["shown"]


def test_what_acts_is_asked(data: str, client: Client) -> None:
    answer = client.post("fit", text=GRAPH, data=data, fitting={"kinds": {"y": "ordered", "m": "ordered"}})
    assert answer.status_code == 422
    assert not list(faults(answer.json(), ERROR))
    assert answer.json()["error"]["asks"] == "m"
    assert "say what acts" in answer.json()["error"]["sentence"]
    assert client.ask("match", text=GRAPH, data=data)["recognised"] == {}


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_files_that_call_columns_ordered_are_believed(ending: str, client: Client) -> None:
    rows, levels = table(), ["never", "seldom", "sometimes", "often", "always"]
    scale = pd.Categorical([levels[int(y)] for y in rows["y"]], levels, ordered=True)
    frame, written = pd.DataFrame({**rows, "y": scale}), io.BytesIO()
    (frame.to_parquet if ending == "parquet" else frame.to_feather)(written)
    data = str(client.upload(written.getvalue(), f"rows.{ending}")["id"])
    assert client.ask("match", text=GRAPH, data=data)["recognised"] == {"y": "ordered"}
    found = client.ask("answer", text=GRAPH, data=data, question="P(y > 2 | do(x=1))")
    assert found["shown"] == str(ht.fit(GRAPH, frame).query("P(y > 2 | do(x=1))")).splitlines()


@pytest.mark.parametrize("kinds", [{"y": "ordered"}, {"y": "ordered", "m": "acts"}, {"x": "ranked", "m": "behind"}])
def test_nothing_crashes_and_no_straight_line_is_drawn(kinds: dict[str, str], data: str, client: Client) -> None:
    more = {"text": GRAPH, "data": data, "fitting": {"kinds": kinds}}
    ends = {"cause": "x", "outcome": "y"}
    for kind, body in (
        ("fit", {}), ("effects", {}), ("checks", {}), ("dose", ends), ("decomposition", {"cause": "x", "effect": "y"}),
        ("bounds", {"question": "x ~> y"}), ("export", {"format": "svg"}), ("export", {"format": "report"}),
        ("export", {"format": "analysis"}), ("export", {"format": "python"}),
    ):  # fmt: skip
        answer = client.post(kind, more, **body)
        assert answer.status_code in (200, 422), f"{kind}: {answer.text[:300]}"
    assert client.error("distribution", 422, **more, **ends)["sentence"]
    assert client.error("sensitivity", 422, **more, question="x ~> y", arc=["x", "y"])["code"] == "input"
