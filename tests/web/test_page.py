"""``ht.open_page`` and ``halftrek serve``: what they begin with, how they end, what they say."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftrek as ht
from halftrek.cli import main
from halftrek.web import Page
from halftrek.web.interface.checking import faults
from halftrek.web.interface.gives import GIVES
from tests.web.client import Client
from tests.web.test_sessions import until, workers_of

STUDY = ht.dataset("front_door")


def begun(graph: object, data: object) -> tuple[dict[str, Any], float]:
    """What a page begins with, and the effect that it finds."""
    with ht.open_page(graph, data, browser=False, port=0) as page, Client(page) as client:
        session = client.http.get(f"/api/v1/sessions/{client.session}").json()
        text = session["start"]["text"]
        found = client.ask("answer", text=text, data="d0", question="smoking ~> cancer_risk")
        assert page.open
    assert not page.open
    return session, float(found["answer"]["value"])


def test_the_start_graph_comes_laid_out() -> None:
    text = "latent F; z -> F; F -> {a, b, c}; z -> a"
    with ht.open_page(text, browser=False, port=0) as page, Client(page) as client:
        start = client.http.get(f"/api/v1/sessions/{client.session}").json()["start"]
        assert not list(faults(start["graph"], GIVES["graph"]))
        assert start["graph"] == client.ask("graph", text=start["text"], notation=start["notation"])
        assert set(start["graph"]["layout"]) == {"z", "F", "a", "b", "c"}


@pytest.mark.parametrize("form", ["path", "frame", "array", "moments", "relation"])
def test_data_of_every_kind(form: str, tmp_path: Path) -> None:
    import duckdb
    import pandas as pd

    assert STUDY.path is not None
    frame = pd.read_csv(STUDY.path)
    data = {
        "path": STUDY.path,
        "frame": frame,
        "array": frame.to_numpy(),
        "moments": ht.moments(STUDY.path, STUDY.graph.observed),
        "relation": duckdb.read_csv(str(STUDY.path)),
    }[form]
    session, value = begun(STUDY.graph, data)
    assert value == pytest.approx(ht.fit(STUDY.graph, STUDY.path).effect(*ends()).value, rel=1e-9)
    assert [one["id"] for one in session["data"]] == ["d0"]
    assert session["start"]["data"] == "d0"
    assert not list(tmp_path.iterdir())


def ends() -> tuple[str, str]:
    return "smoking", "cancer_risk"


def test_a_page_without_anything() -> None:
    with ht.open_page(browser=False, port=0) as page, Client(page) as client:
        assert client.http.get(f"/api/v1/sessions/{client.session}").json()["start"] is None
        assert re.fullmatch(r"Page\('http://127\.0\.0\.1:\d+/\?token=[\w-]{32}'\)", repr(page))
        assert page.address in page._repr_html_()
    assert repr(page) == "Page(closed)"


def test_data_that_cannot_be_read_are_refused_before_anything_opens(tmp_path: Path) -> None:
    with pytest.raises(ht.DataError, match=r"nothing\.csv"):
        ht.open_page(STUDY.graph, tmp_path / "nothing.csv", browser=False)
    with pytest.raises(ht.DataError):
        ht.open_page(STUDY.graph, np.array(["a"]), browser=False)


def test_a_port_that_is_taken_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--no-browser", "--port", str(port)]) == 2
        said = capsys.readouterr().err
        assert f"port {port} is taken" in said
        assert "--port" in said
    with pytest.raises(ht.InputError, match="port 99999999"):
        ht.open_page(browser=False, port=99_999_999)
    assert main(["serve", "--port", "zero"]) == 2
    assert "is no port" in capsys.readouterr().err


def test_without_the_optional_part_it_says_how_to_get_it(monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "--no-browser"]) == 2
    assert "pip install 'halftrek[web]'" in capsys.readouterr().err
    with pytest.raises(ht.MissingExtraError, match="web"):
        ht.open_page(browser=False)


def test_the_core_does_not_load_it() -> None:
    code = (
        "import halftrek, sys; print(any(m.startswith(('starlette', 'uvicorn', 'halftrek.web')) for m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def served(*words: str, cwd: Path) -> tuple[subprocess.Popen[str], str]:
    """The program, and the address that it prints."""
    program = subprocess.Popen(
        [sys.executable, "-m", "halftrek", "serve", "--no-browser", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env={**os.environ, "TMPDIR": str(cwd), "PYTHONPATH": str(Path(ht.__file__).parents[1])},
    )  # fmt: skip
    assert program.stdout is not None
    address = re.search(r"http://127\.0\.0\.1:(\d+)/\?token=\S+", program.stdout.readline())
    assert address is not None
    return program, address[0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_in_the_middle_of_work(number: signal.Signals, tmp_path: Path) -> None:
    program, address = served("front_door", "front_door", cwd=tmp_path)
    assert address.startswith("http://127.0.0.1:")
    until(lambda: bool(workers_of(program.pid)))
    workers = workers_of(program.pid)
    program.send_signal(number)
    out, error = program.communicate(timeout=60)
    assert program.returncode == 0, error
    assert "Traceback" not in out + error
    until(lambda: not any(_exists(pid) for pid in workers), 20)
    assert not list(tmp_path.iterdir())  # nothing is left behind


def _exists(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().split()[2] != "Z"


def test_workers_end_when_their_server_is_killed(tmp_path: Path) -> None:
    program, _ = served(cwd=tmp_path)
    until(lambda: bool(workers_of(program.pid)))
    workers = workers_of(program.pid)
    program.kill()
    program.communicate(timeout=60)
    until(lambda: not any(_exists(pid) for pid in workers), 30)
    assert program.returncode == -signal.SIGKILL


def test_what_the_command_prints_for_programs(tmp_path: Path) -> None:
    from halftrek.cli.schemas import SCHEMAS
    from halftrek.web.interface.checking import faults

    program = subprocess.Popen(
        [sys.executable, "-m", "halftrek", "serve", "x -> y", "--no-browser", "--json"],
        stdout=subprocess.PIPE, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(ht.__file__).parents[1])},
    )  # fmt: skip
    assert program.stdout is not None
    text = "".join(iter(program.stdout.readline, "}\n")) + "}"
    program.terminate()
    program.communicate(timeout=60)
    assert not list(faults(json.loads(text), SCHEMAS["serve"]))


def test_a_browser_of_the_terminal_is_not_opened(page: Page, monkeypatch: Any) -> None:
    import webbrowser

    opened: list[str] = []

    def remember(_browser: object, address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser.GenericBrowser, "open", remember)
    monkeypatch.setattr(webbrowser.BackgroundBrowser, "open", remember)
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("lynx"))
    assert not page.show()
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.BackgroundBrowser("xdg-open"))
    assert page.show()
    assert opened == [page.address]
