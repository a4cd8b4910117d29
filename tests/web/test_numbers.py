"""The page's numbers are the library's, to the last bit, for every graph of the catalog and every kind of answer."""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.reporting.records import plain
from halftrek.web import Page
from halftrek.web.interface.checking import faults
from halftrek.web.interface.gives import GIVES
from tests.web.client import Client

ROWS = 400


@pytest.fixture(scope="module")
def client(page: Page) -> Iterator[Client]:
    """One session for all: its process remembers no more than a few fits."""
    with Client(page) as one:
        yield one


def rows_of(name: str) -> tuple[ht.Graph, bytes]:
    """Rows of the catalog's own model as a CSV file."""
    entry = ht.catalog(name)
    values = entry.model.sample(ROWS, 7)
    kept = io.StringIO()
    kept.write(",".join(entry.model.names) + "\n")
    np.savetxt(kept, values, delimiter=",", fmt="%.17g")
    return entry.graph, kept.getvalue().encode()


def questions_of(name: str) -> list[str]:
    """The catalog's questions, with values for what is done."""
    return [re.sub(r"do\((.*?)\)", _with_values, question) for question in ht.catalog(name).verdicts]


def _with_values(found: re.Match[str]) -> str:
    return f"do({', '.join(v if '=' in v else f'{v}=1' for v in found[1].split(', '))})"


def asked(client: Client, kind: str, **body: object) -> dict[str, Any]:
    """An answer, which has the shape that is promised."""
    found = client.ask(kind, **body)
    assert not list(faults(found, GIVES[kind]))
    return found


def bundled(client: Client, name: str) -> str:
    """A bundled data set, of which a session has each once."""
    there = client.http.get(f"/api/v1/sessions/{client.session}").json()["data"]
    return next((str(one["id"]) for one in there if one["name"] == name), None) or client.bundled(name)


def same(ours: object, theirs: object) -> bool:
    """Equal as JSON has them: what is not finite is null on both sides."""
    return json.dumps(plain(ours), sort_keys=True) == json.dumps(theirs, sort_keys=True)


@pytest.mark.parametrize("name", ht.catalog())
def test_the_catalog_through_the_page(name: str, client: Client, tmp_path: Any) -> None:
    graph, content = rows_of(name)
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    fit = ht.fit(graph, path)
    data = client.upload(content)["id"]
    try:
        compare_all(name, graph, fit, client, data)
    finally:
        client.http.delete(client.address(f"data/{data}"))


def compare_all(name: str, graph: ht.Graph, fit: ht.Fit, client: Client, data: str) -> None:
    text = ht.format_graph(graph)
    found = asked(client, "fit", text=text, data=data)
    assert same(fit.to_dict(), found["fit"])
    weights = {tuple(row["edge"]): row["est"] for row in found["edges"]}
    assert all((u, "->", v) in weights for u, v in graph.directed)
    for question in questions_of(name):
        asked_verdict = asked(client, "verdict", text=text, question=question)
        assert asked_verdict["verdict"]["status"] == ht.identify(graph, question, witness=False).status
        answer = asked(client, "answer", text=text, data=data, question=question)
        try:
            whole = fit.query(question)
        except ht.NotIdentifiedError as error:
            whole = error.answer
            assert answer["answer"]["form"] in ("refusal", "several values")
            assert "value" not in answer["answer"]
        assert same(whole.to_dict(), answer["answer"])
        assert answer["shown"] == str(whole).splitlines()
    effects = asked(client, "effects", text=text, data=data)["effects"]
    assert same(rows_in(fit.effects()), effects)
    checks = asked(client, "checks", text=text, data=data)["checks"]
    assert same(fit.measures(), checks["measures"])
    assert same(rows_in(fit.tests()), checks["tests"])


def rows_in(frame: Any) -> list[dict[str, object]]:
    from halftrek.cli.fitting import rows_of as records

    return [dict(row) for row in records(frame)]


@pytest.mark.parametrize(
    ("name", "question"),
    [("mroz", "educ -> lwage"), ("card", "educ ~> lwage"), ("airquality", "E[Ozone | do(Solar=200)]"),
     ("tal_or", "cond ~> reaction"), ("front_door", "P(cancer_risk | do(smoking=1))"),
     ("front_door", "P(cancer_risk > 1 | do(smoking=1))"), ("ecoli70", "eutG ~> asnA")],
)  # fmt: skip
def test_every_kind_of_answer_of_bundled_data(name: str, question: str, client: Client) -> None:
    study = ht.dataset(name)
    fit = ht.fit(study.graph, study.columns if study.path is None else study.path)
    data, text = bundled(client, name), ht.format_graph(study.graph)
    found = asked(client, "answer", text=text, data=data, question=question, crude=True)
    assert same(fit.query(question, crude=True).to_dict(), found["answer"])


@pytest.mark.parametrize("interval", ["delta", "robust", "profile", "bootstrap"])
def test_intervals_of_all_kinds(interval: Any, client: Client) -> None:
    study = ht.dataset("tal_or")
    fit = ht.fit(study.graph, study.path)
    data, text = bundled(client, "tal_or"), ht.format_graph(study.graph)
    sure = {"interval": interval, "level": 0.9, **({"replicates": 60} if interval == "bootstrap" else {})}
    found = asked(client, "answer", text=text, data=data, question="cond ~> reaction", uncertainty=sure)
    assert same(fit.query("cond ~> reaction", **sure).to_dict(), found["answer"])


def test_what_a_slider_moves_is_what_the_library_says(client: Client) -> None:
    study = ht.dataset("front_door")
    fit = ht.fit(study.graph, study.path)
    data, text = bundled(client, "front_door"), ht.format_graph(study.graph)
    found = asked(client, "distribution", text=text, data=data, cause="smoking", outcome="cancer_risk")
    done, line, bars = found["done"], found["line"], found["seen"]["histogram"]
    for value in (found["slider"]["low"], 0.0, 1.0, found["slider"]["high"]):
        answer = fit.query(f"P(cancer_risk | do(smoking={value!r}))")
        assert done["mean"] + done["slope"] * (value - done["at"]) == pytest.approx(answer.mean, rel=1e-10, abs=1e-12)
        assert done["sd"] ** 2 == pytest.approx(answer.variance, rel=1e-12)
        seen = fit.query(f"P(cancer_risk | do(smoking={value!r}))", crude=True).crude
        assert seen is not None
        assert line["mean"] + line["slope"] * (value - line["at"]) == pytest.approx(seen.mean, rel=1e-9, abs=1e-12)
        assert line["sd"] ** 2 == pytest.approx(seen.variance, rel=1e-9)
    assert sum(bars["height"]) * bars["width"] == pytest.approx(1.0, abs=0.01)
    low, high = found["span"]
    assert low < done["mean"] < high


def test_sensitivity_counts_weights_and_clusters_as_the_fit_does(client: Client) -> None:
    graph, content = rows_of("front-door")
    names, columns = _table(content)
    table = dict(zip(names, columns, strict=True)) | {"w": np.tile([1.0, 3.0], ROWS // 2), "c": np.arange(ROWS) // 4}
    kept = io.StringIO()
    kept.write(",".join(table) + "\n")
    np.savetxt(kept, np.column_stack(list(table.values())), delimiter=",", fmt="%.17g")
    cause, between, effect = graph.topological_order
    question = f"{cause} ~> {effect}"
    here = {"text": ht.format_graph(graph), "data": client.upload(kept.getvalue().encode())["id"]}
    ways: list[dict[str, Any]] = [{}, {"weights": "w"}, {"weights": "w", "cluster": "c"}]
    seen = []
    try:
        for fitting in ways:
            curve = asked(client, "sensitivity", **here, question=question, arc=[cause, between], fitting=fitting)[
                "sensitivity"
            ]
            own = ht.fit(graph, table, **fitting).sensitivity(question, f"{cause} <-> {between}")
            assert same(own.to_dict(), curve)
            seen.append(json.dumps(curve))
    finally:
        client.http.delete(client.address(f"data/{here['data']}"))
    assert len(set(seen)) == 3


def test_a_cause_of_two_values_has_no_slider_between_them(client: Client) -> None:
    study = ht.dataset("tal_or")
    data, text = bundled(client, "tal_or"), ht.format_graph(study.graph)
    found = asked(client, "distribution", text=text, data=data, cause="cond", outcome="pmi")
    assert found["slider"]["values"] == [0.0, 1.0]
    dose = asked(client, "dose", text=text, data=data, cause="cond", outcome="pmi")
    assert dose["apart"]
    assert [point["at"] for point in dose["points"]] == [0.0, 1.0]


def test_doses_paths_and_sensitivity(client: Client) -> None:
    study = ht.dataset("front_door")
    fit = ht.fit(study.graph, study.path)
    data, text = bundled(client, "front_door"), ht.format_graph(study.graph)
    here = {"text": text, "data": data}
    dose = asked(client, "dose", **here, cause="smoking", outcome="cancer_risk", values=[-1.0, 0.0, 2.5])
    for point in dose["points"]:
        answer = fit.query(f"P(cancer_risk | do(smoking={point['at']!r}))")
        assert point["est"] == answer.mean
        assert [point["ci_low"], point["ci_high"]] == list(np.ravel(answer.interval))  # type: ignore[arg-type]
    paths = asked(client, "decomposition", **here, cause="smoking", effect="cancer_risk")
    assert same(fit.decompose("smoking", "cancer_risk").to_dict(), paths["decomposition"])
    curve = asked(client, "sensitivity", **here, question="smoking ~> cancer_risk", arc=["smoking", "tar"])
    expected = ht.partial.sensitivity(study.graph, study.path, "smoking ~> cancer_risk", arc=("smoking", "tar"))
    assert same(expected.to_dict(), curve["sensitivity"])
    assumed = ["abs(smoking -> cancer_risk) <= 0.1"]
    limits = asked(client, "bounds", **here, question="smoking ~> cancer_risk", assume=assumed)
    assert same(fit.bounds("smoking ~> cancer_risk", assume=assumed).to_dict(), limits["bounds"])


def test_a_pasted_covariance(client: Client) -> None:
    text = "x,m,y\n1.0\n0.5 1.2\n0.2 0.6 1.1\n".replace(" ", ",")
    answer = client.post("data/covariance", text=text, n=412, divisor="n-1", means={"x": 0.5, "m": 0.0, "y": 1.0})
    assert answer.status_code == 201, answer.text
    datum = answer.json()["data"]
    assert (datum["kind"], datum["columns"], datum["n"]) == ("covariance", ["x", "m", "y"], 412)
    found = asked(client, "answer", text="x -> m -> y", data=datum["id"], question="x ~> y")
    cov = [[1.0], [0.5, 1.2], [0.2, 0.6, 1.1]]
    fit = ht.fit("x -> m -> y", cov=cov, n=412, divisor="n-1", mean=[0.5, 0.0, 1.0], names=["x", "m", "y"])
    assert same(fit.query("x ~> y").to_dict(), found["answer"])


def test_parquet_and_csv_give_the_same(client: Client) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    graph, content = rows_of("mediation")
    columns = dict(zip(*_table(content), strict=True))
    kept = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), kept)
    text, question = ht.format_graph(graph), questions_of("mediation")[0]
    answers = [
        asked(client, "answer", text=text, data=client.upload(file, name)["id"], question=question)["answer"]
        for file, name in ((content, "rows.csv"), (kept.getvalue(), "rows.parquet"))
    ]
    values = [one.get("value", one.get("distribution", {}).get("mean")) for one in answers]
    assert np.allclose(values[0], values[1], rtol=1e-12, atol=0.0)
    assert all(math.isfinite(x) for x in np.ravel(values))


def _table(content: bytes) -> tuple[list[str], list[list[float]]]:
    lines = content.decode().splitlines()
    rows = [[float(cell) for cell in line.split(",")] for line in lines[1:]]
    return lines[0].split(","), [list(column) for column in zip(*rows, strict=True)]
