"""What one installation promises: run inside a fresh environment, which has nothing of the repository.

``python smoke.py EXTRA`` exits with 1 and a line for each promise that is broken.
"""

from __future__ import annotations

import json
import math
import os
import pty
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

GRAPH = "X1 -> X2 -> X3; X1 <-> X3"
QUESTION = "X1 ~> X3"

# What each part brings. Without it: the words that say which part is missing, or less colour.
BRINGS = {
    "core": set[str](),
    "plot": {"pictures"},
    "sql": {"files"},
    "databases": {"files", "databases", "colours"},  # rich comes with ibis
    "report": {"pictures", "colours", "reports"},
    "web": {"files", "pictures", "colours", "reports", "page"},
    "all": {"files", "databases", "pictures", "colours", "reports", "page"},
}


def core() -> None:
    """Everything up to a saved answer needs no optional part: from numpy, from a dict, from a bundled data set."""
    import halftrek as ht

    place = Path(ht.__file__)
    assert "site-packages" in place.parts, f"not the installed package: {place}"
    assert (place.parent / "py.typed").is_file()
    rows = _rows()
    from_array = ht.fit(GRAPH, rows, names=["X1", "X2", "X3"]).effect("X1", "X3").value
    fit = ht.fit(GRAPH, {f"X{k + 1}": rows[:, k].tolist() for k in range(3)})
    assert math.isclose(fit.effect("X1", "X3").value, from_array, rel_tol=1e-12)
    assert "converged" in fit.summary()
    fit.save("fit.json")
    assert ht.load("fit.json").loglik == fit.loglik
    assert "3,010 rows" in str(ht.dataset("card"))
    assert _program("--version") == (0, f"halftrek {ht.__version__}\n", "")
    assert _program("identify", GRAPH, QUESTION)[0] == 0


def files(there: bool) -> None:
    """CSV, Parquet and SQL, in Python and on the command line."""
    import halftrek as ht

    text = "\n".join(",".join(map(str, row)) for row in _rows().tolist())
    Path("rows.csv").write_text(f"X1,X2,X3\n{text}\n", encoding="utf-8")
    if there:
        import duckdb

        rows = duckdb.sql("SELECT * FROM 'rows.csv'")
        assert rows is not None
        rows.write_parquet("rows.parquet")
        assert ht.fit(GRAPH, "rows.csv").n == ht.fit(GRAPH, "rows.parquet").n == 500
    else:
        Path("rows.parquet").write_bytes(b"PAR1")
        for path in ("rows.csv", "rows.parquet"):
            _says("reading files", "sql", lambda path=path: ht.fit(GRAPH, path))  # type: ignore[misc]
    for words in (("rows.csv",), ("--sql", "SELECT * FROM 'rows.csv'")):
        code, _, error = _program("fit", GRAPH, *words)
        assert (code == 0) if there else (code == 2 and "pip install 'halftrek[sql]'" in error), (words, code, error)


def databases(there: bool) -> None:
    """A query asked of a database by its address."""
    import sqlite3

    with sqlite3.connect("rows.db") as connection:
        connection.execute("create table visits (X1 real, X2 real, X3 real)")
        connection.executemany("insert into visits values (?, ?, ?)", _rows().tolist())
    connection.close()
    words = ("--sql", "SELECT * FROM visits", "--connect", "sqlite:///rows.db")
    code, _, error = _program("fit", GRAPH, *words)
    assert (code == 0) if there else (code == 2 and "pip install 'halftrek[databases]'" in error), (code, error)


def pictures(there: bool) -> None:
    """A graph drawn into a file."""
    import halftrek as ht

    if there:
        _draw(ht.graph(GRAPH))
        assert Path("graph.png").read_bytes().startswith(b"\x89PNG")
    else:
        _says("drawing pictures", "plot", lambda: _draw(ht.graph(GRAPH)))


def reports(there: bool) -> None:
    """A page with the graph and pictures; without this part, not a file that is half of one."""
    import halftrek as ht

    fit = ht.fit(GRAPH, _rows(), names=["X1", "X2", "X3"])
    assert "<svg" in fit._repr_html_(), "a notebook needs no optional part"
    if there:
        page = fit.report("report.html", QUESTION).read_text(encoding="utf-8")
        assert page.count("<svg") > 1, "pictures in a report"
        assert "left out here" not in page, "what a report says of pictures"
    else:
        _says("writing a report", "report", lambda: fit.report("report.html", QUESTION))
        assert not Path("report.html").exists()


def colours(there: bool) -> None:
    """A verdict on a terminal: with colours, or the same words without."""
    shown = _on_a_terminal("identify", GRAPH, QUESTION)
    assert "front-door" in shown, shown
    assert ("\x1b[" in shown) == there, repr(shown[:200])


def page(there: bool) -> None:
    """The page, built, with an answer from its processes; without this part, the words that say which it is."""
    import halftrek as ht

    if not there:
        _says("the page", "web", lambda: ht.open_page(browser=False))
        code, _, error = _program("serve", "--no-browser")
        assert code == 2, error
        assert "pip install 'halftrek[web]'" in error, error
        return
    with ht.open_page(GRAPH, {f"X{k + 1}": _rows()[:, k].tolist() for k in range(3)}, browser=False, port=0) as opened:
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        root = f"http://127.0.0.1:{opened.port}"
        browser.open(opened.address).close()
        with browser.open(f"{root}/") as shown:
            assert b"<script" in shown.read(), "the built page"
        session = _asked(browser, root, "sessions", {})["session"]
        answer = _asked(
            browser, root, f"sessions/{session}/answer", {"text": GRAPH, "data": "d0", "question": QUESTION}
        )
        assert answer["answer"]["form"] == "point", answer


def _asked(browser: urllib.request.OpenerDirector, root: str, address: str, body: dict[str, object]) -> Any:
    headers = {"origin": root, "content-type": "application/json"}
    request = urllib.request.Request(f"{root}/api/v1/{address}", json.dumps(body).encode(), headers)
    with browser.open(request, timeout=120) as answer:
        return json.loads(answer.read())


def _draw(graph: Any) -> None:
    from halftrek.reporting import draw_graph, save

    figure = draw_graph(graph).get_figure(root=True)
    assert figure is not None
    save(figure, "graph.png")


def _rows() -> Any:
    import halftrek as ht

    return ht.catalog("front-door").model.sample(500, random_state=1)


def _says(what: str, extra: str, call: Callable[[], object]) -> None:
    import halftrek as ht

    said = "nothing, and it worked"
    try:
        call()
    except ht.MissingExtraError as error:
        said = str(error)
    assert said == f"{what} needs an optional part: pip install 'halftrek[{extra}]'", said


def _command(words: tuple[str, ...]) -> list[str]:
    return [str(Path(sys.executable).with_name("halftrek")), *words]


def _program(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(_command(words), capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


def _on_a_terminal(*words: str) -> str:
    ours, theirs = pty.openpty()
    wanted = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    wanted.pop("NO_COLOR", None)
    with subprocess.Popen(_command(words), stdin=theirs, stdout=theirs, stderr=theirs, env=wanted):
        os.close(theirs)
        pieces = []
        while piece := _read(ours):
            pieces.append(piece)
    os.close(ours)
    return b"".join(pieces).decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other side has gone
        return b""


def main(extra: str) -> int:
    """Tries every promise and says which are broken."""
    there = BRINGS[extra]
    tries: list[tuple[str, Callable[[], None]]] = [
        ("core", core),
        ("files", lambda: files("files" in there)),
        ("databases", lambda: databases("databases" in there)),
        ("pictures", lambda: pictures("pictures" in there)),
        ("colours", lambda: colours("colours" in there)),
        ("reports", lambda: reports("reports" in there)),
        ("page", lambda: page("page" in there)),
    ]
    broken = 0
    os.chdir(tempfile.mkdtemp())
    for name, attempt in tries:
        try:
            attempt()
        except Exception as error:
            broken += 1
            print(f"{extra}: {name}: {type(error).__name__}: {error}")
    print(f"{extra}: {len(tries) - broken} of {len(tries)} promises kept ({', '.join(sorted(there)) or 'bare'})")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
