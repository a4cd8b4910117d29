"""What can be taken away holds the library's numbers, and gives them again."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import halftrek as ht
from halftrek.web import Page
from halftrek.web.interface.shapes import FORMATS
from tests.web.client import Client

QUESTION = "smoking ~> cancer_risk"
STUDY = ht.dataset("front_door")
TEXT = ht.format_graph(STUDY.graph)


@pytest.fixture(scope="module")
def client(page: Page) -> Iterator[Client]:
    with Client(page) as one:
        yield one


@pytest.fixture(scope="module")
def data(client: Client) -> str:
    assert STUDY.path is not None
    return str(client.upload(STUDY.path.read_bytes(), "my study.csv")["id"])


def taken(client: Client, form: str, **body: object) -> httpx.Response:
    answer = client.post("export", format=form, text=TEXT, **body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''")
    return answer


def test_pictures_with_and_without_weights(client: Client, data: str) -> None:
    assert ">0.82<" not in taken(client, "svg").text
    assert ">0.82<" in taken(client, "svg", data=data, cause="smoking", outcome="cancer_risk").text
    assert taken(client, "png", data=data).content.startswith(b"\x89PNG")
    assert "$0.82$" in taken(client, "tikz", data=data).text


def test_a_picture_has_the_places_of_the_page(client: Client) -> None:
    places = {"smoking": [0, 0], "tar": [0, 5], "cancer_risk": [0, 10]}  # one below the other
    svg = taken(client, "svg", positions=places).text
    centres = dict(re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*>(\w+)</text>', svg))
    heights = {name: float(y) for y, name in centres.items()}
    assert heights["smoking"] < heights["tar"] < heights["cancer_risk"]


def test_a_picture_with_weights_has_the_places_of_now(client: Client, data: str) -> None:
    for places in ({"smoking": [0, 0], "tar": [5, 0], "cancer_risk": [9, 0]},
                   {"smoking": [9, 0], "tar": [5, 0], "cancer_risk": [0, 0]}):  # fmt: skip
        svg = taken(client, "svg", data=data, positions=places).text
        across = {name: float(x) for x, name in re.findall(r'<text x="([\d.]+)"[^>]*>([a-z_]+)</text>', svg)}
        assert (across["smoking"] < across["cancer_risk"]) == (places["smoking"] < places["cancer_risk"])
        assert ">0.82<" in svg


@pytest.mark.parametrize("form", ["arrows", "lavaan", "dagitty", "dot"])
def test_texts(form: str, client: Client) -> None:
    assert taken(client, form).text == ht.format_graph(STUDY.graph, form)  # type: ignore[arg-type]


def test_tables_have_the_numbers(client: Client, data: str) -> None:
    fit = ht.fit(STUDY.graph, STUDY.path)
    answer = fit.query(QUESTION)
    (row,) = csv.DictReader(io.StringIO(taken(client, "csv", data=data, questions=[QUESTION]).text))
    assert float(row["est"]) == answer.value
    assert float(row["se"]) == answer.se
    effects = list(csv.DictReader(io.StringIO(taken(client, "csv", data=data).text)))
    assert len(effects) == len(fit.effects()["est"])
    assert "0.4220" in taken(client, "latex", data=data, questions=[QUESTION], title="My table").text
    with zipfile.ZipFile(io.BytesIO(taken(client, "word", data=data, questions=[QUESTION]).content)) as word:
        assert "0.4220" in word.read("word/document.xml").decode()


def test_the_report_names_the_file_and_no_folder_of_the_server(client: Client, data: str) -> None:
    text = taken(client, "report", data=data, questions=[QUESTION]).text
    assert "0.4220" in text
    assert "my_study.csv" in text
    assert not re.search(r"/[\w./-]*my_study\.csv", text)


def test_lines_of_python_give_the_same_number(client: Client, data: str, tmp_path: Path) -> None:
    assert STUDY.path is not None
    (tmp_path / "my study.csv").write_bytes(STUDY.path.read_bytes())
    shown = client.ask("answer", text=TEXT, data=data, question=QUESTION)["shown"]
    covariance = client.post(
        "data/covariance", text="smoking,tar,cancer_risk\n1\n.8,1.2\n.5,.6,1.9", n=500, divisor="n-1"
    )
    again = client.ask("answer", text=TEXT, data=covariance.json()["data"]["id"], question=QUESTION)["shown"]
    for source, wanted in (
        (data, shown),
        (client.bundled("front_door"), shown),
        (covariance.json()["data"]["id"], again),
    ):
        code = taken(client, "python", data=source, questions=[QUESTION]).text
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == wanted
    alone = taken(client, "python", questions=[QUESTION]).text
    done = subprocess.run([sys.executable, "-c", alone], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "is identified" in done.stdout


def test_the_analysis_runs(client: Client, data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from halftrek.cli import main

    assert STUDY.path is not None
    (tmp_path / "my study.csv").write_bytes(STUDY.path.read_bytes())
    sure = {"level": 0.9}
    text = taken(client, "analysis", data=data, questions=[QUESTION], uncertainty=sure).text
    (tmp_path / "analysis.toml").write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / "analysis.toml")]) == 0
    shown = client.ask("answer", text=TEXT, data=data, question=QUESTION, uncertainty=sure)["shown"][0]
    assert shown.split(" = ")[1].split(" ")[0] in capsys.readouterr().out


def test_what_needs_data_says_so(client: Client) -> None:
    for form in ("csv", "latex", "word", "report", "analysis"):
        assert "needs data" in client.error("export", 422, format=form, text=TEXT)["sentence"]
    assert set(FORMATS) >= {"csv", "svg"}


def test_a_cell_is_no_formula_for_a_spreadsheet(client: Client) -> None:
    name = "=cmd|' /C calc'!A0"
    rows = "\n".join(f"{k},{2 * k + (k * 7) % 5}" for k in range(30))
    data = client.upload(f'"{name}",y\n{rows}\n'.encode())["id"]
    graph = {"observed": [name, "y"], "directed": [[name, "y"]]}
    answer = client.post("export", format="csv", graph=graph, data=data)
    assert answer.status_code == 200, answer.text
    assert all(not cell.startswith("=") for row in csv.reader(io.StringIO(answer.text)) for cell in row)
