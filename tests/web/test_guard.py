"""Who may ask: every line of what keeps the page safe, attacked."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest

import halftrek as ht
from halftrek.web import Page, limits
from halftrek.web.built import Built
from tests.web.client import Client

GRAPH = "smoking -> tar -> cancer_risk; smoking <-> cancer_risk"


def raw(page: Page, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> tuple[int, str]:
    """A request as it is written here, with nothing that a library would add."""
    line = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        line.putheader(name, value)
    line.putheader("content-length", str(len(body)))
    line.endheaders(body)
    answer = line.getresponse()
    text = answer.read().decode("utf-8", "replace")
    line.close()
    return answer.status, text


def good(client: Client, page: Page) -> dict[str, str]:
    cookie = "; ".join(f"{name}={value}" for name, value in client.http.cookies.items())
    own = f"127.0.0.1:{page.port}"
    return {"host": own, "origin": f"http://{own}", "cookie": cookie, "content-type": "application/json"}


def test_the_page_itself_may_ask(client: Client, page: Page) -> None:
    assert raw(page, "POST", "/api/v1/sessions", good(client, page), b"{}")[0] == 201


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1",
                                  "", "[::1]:{port}", "127.0.0.1:1", "localhost.:{port}"])  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_host_is_refused(host: str, method: str, client: Client, page: Page) -> None:
    named = host.format(port=page.port)
    headers = {**good(client, page), "host": named, "origin": f"http://{named}"}
    status, text = raw(page, method, "/api/v1/sessions" if method == "POST" else "/api/v1/about", headers, b"{}")
    assert status in (400, 403)  # the server itself refuses a request without a host
    if status == 403:
        assert json.loads(text)["error"]["code"] == "foreign"


def test_no_host_at_all_is_refused(client: Client, page: Page) -> None:
    headers = {name: value for name, value in good(client, page).items() if name != "host"}
    assert raw(page, "GET", "/api/v1/about", headers)[0] in (400, 403)


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1",
                                    "http://127.0.0.1:{port}.evil.example", "http://localhost:{port}", ""])  # fmt: skip
def test_another_origin_is_refused(origin: str, client: Client, page: Page) -> None:
    headers = {**good(client, page), "origin": origin.format(port=page.port)}
    for method, path in (("POST", "/api/v1/sessions"), ("DELETE", f"/api/v1/sessions/{client.session}"),
                         ("GET", "/api/v1/about")):  # fmt: skip
        status, text = raw(page, method, path, headers, b"{}")
        assert status == 403, (method, text)


def test_a_form_of_another_page_has_no_origin_of_ours(client: Client, page: Page) -> None:
    headers = {name: value for name, value in good(client, page).items() if name != "origin"}
    assert raw(page, "POST", "/api/v1/sessions", headers, b"{}")[0] == 403
    plain = {**good(client, page), "content-type": "text/plain"}
    assert raw(page, "POST", "/api/v1/sessions", plain, b"{}")[0] == 415


@pytest.mark.parametrize("path", ["/", "/index.html", "/assets/x.js", "/api/v1/about", "/api/v1/openapi.json",
                                  "/api/v1/sessions/abc", "/?token=", "/?token=wrong", "/?x=token"])  # fmt: skip
def test_without_the_token_there_is_nothing(path: str, client: Client, page: Page) -> None:
    for cookie in ("", "halftrek=1", f"halftrek_{page.port}=wrong", f"halftrek_{page.port}=", "\x00;;=;"):
        headers = {**good(client, page), "cookie": cookie}
        status, text = raw(page, "GET", path, headers)
        assert status in (400, 401), (path, cookie, text)  # the server itself refuses a cookie that is no header
        assert "Traceback" not in text


def test_the_cookie_is_not_for_scripts_or_other_sites(page: Page) -> None:
    answer = httpx.get(page.address)
    cookie = answer.headers["set-cookie"]
    assert answer.status_code == 200
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "token" not in answer.text  # the address that it goes on to has none
    assert str(page.port) in cookie


def test_tokens_differ_and_are_long(page: Page) -> None:
    with ht.open_page(browser=False, port=0) as other:
        mine, theirs = page.address.partition("token=")[2], other.address.partition("token=")[2]
        assert mine != theirs
        assert len(mine) >= 32
        with Client(page) as here:
            own = f"127.0.0.1:{other.port}"
            headers = {**good(here, page), "host": own, "origin": f"http://{own}"}
            assert raw(other, "POST", "/api/v1/sessions", headers, b"{}")[0] == 401


def test_it_listens_on_this_machine_alone(page: Page) -> None:
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in {str(a) for a in addresses if not str(a).startswith("127.")}:
        with socket.socket() as line:
            line.settimeout(3)
            assert line.connect_ex((address, page.port)) != 0
    with socket.create_connection(("127.0.0.1", page.port), 3) as line:
        assert line.getpeername()[0] == "127.0.0.1"


def test_every_answer_tells_the_browser_to_be_strict(client: Client) -> None:
    for path in ("/", "/api/v1/about", "/api/v1/nothing", "/nothing"):
        answer = client.http.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


# -- files and SQL ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/../pyproject.toml", "/..%2f..%2fpyproject.toml", "/%2e%2e/%2e%2e/etc/passwd",
                                  "/assets/../../page.py", "/static/../page.py", "//etc/passwd", "/etc/passwd",
                                  "/index.html%00", "/assets/%5c..%5c..%5cpage.py"])  # fmt: skip
def test_no_address_is_a_path(path: str, client: Client, page: Page) -> None:
    status, text = raw(page, "GET", path, good(client, page))
    assert status == 404, text
    assert "root:" not in text


def test_only_files_of_the_page_are_known(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("the page")
    built = Built({"/index.html": tmp_path / "index.html"})
    assert built.response("/").body == b"the page"
    assert Built().response("/").status_code == 503


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("secret_cause -> secret_effect\n")
    return path


def test_the_text_of_a_graph_is_never_a_file(secret: Path, client: Client) -> None:
    for text in (str(secret), f"file://{secret}", "/etc/passwd", "../../etc/passwd", "front_door.txt"):
        for body in ({"text": text}, {"graph": {"observed": [text]}}):
            answer = client.post("graph", body)
            assert answer.status_code in (200, 422)
            assert "secret_cause" not in answer.text
            assert "root:" not in answer.text


def test_data_are_named_never_found(secret: Path, client: Client) -> None:
    for name in (str(secret), "/etc/passwd", "d1/../../secret.txt", "select 1", "bundled/mroz", ""):
        error = client.error("fit", 404, text="x -> y", data=name)
        assert error["code"] == "not found"
    bundled = client.post("data/bundled", name=str(secret))
    assert bundled.status_code == 422
    assert "secret_cause" not in bundled.text


def test_a_file_name_is_for_showing(client: Client, tmp_path: Path) -> None:
    for name in ("../../../evil.csv", "/etc/cron.d/evil", "..\\..\\evil.csv", "<script>alert(1)</script>.csv",
                 "\x00.csv", "a" * 5000, "'; DROP TABLE x; --.csv", "*.csv", "[a].csv", "-"):  # fmt: skip
        datum = client.upload(b"x,y\n1,2\n2,3\n3,5\n4,4\n", name)
        assert datum["columns"] == ["x", "y"]
        assert "/" not in datum["name"]
        assert client.ask("answer", text="x -> y", data=datum["id"], question="x ~> y")["answer"]["form"] == "point"
        assert client.http.delete(client.address(f"data/{datum['id']}")).status_code == 200
    assert not list(tmp_path.parent.glob("**/evil*"))


def test_sql_in_names_stays_a_name(client: Client) -> None:
    evil = "x\"; COPY (SELECT 1) TO '/tmp/halftrek-evil'; --"
    header = ",".join('"' + name.replace('"', '""') + '"' for name in (evil, "y"))
    datum = client.upload(f"{header}\n1,2\n2,3\n3,5\n4,4.5\n".encode())
    assert datum["columns"] == [evil, "y"]
    graph = {"observed": [evil, "y"], "directed": [[evil, "y"]]}
    answer = client.post("effects", graph=graph, data=datum["id"])
    assert answer.status_code in (200, 422)
    assert not Path("/tmp/halftrek-evil").exists()
    for option in ("weights", "cluster", "sampling_weights"):
        said = client.post("fit", text="y", data=datum["id"], fitting={option: "(SELECT 1)"})
        assert said.status_code == 422, said.text


@pytest.mark.parametrize("evil", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{7*7}}",
                                  "</title><script>", "javascript:alert(1)"])  # fmt: skip
def test_names_are_text_in_everything_that_is_taken_away(evil: str, client: Client) -> None:
    header = ",".join('"' + name.replace('"', '""') + '"' for name in (evil, "y"))
    lines = [f"{k},{2 * k + (k * 7) % 5}" for k in range(30)]
    data = client.upload("\n".join([header, *lines]).encode(), f"{evil}.csv")["id"]
    graph = {"observed": [evil, "y"], "directed": [[evil, "y"]]}
    for form in ("svg", "report"):
        answer = client.post("export", graph=graph, data=data, format=form, title=evil)
        assert answer.status_code == 200, answer.text
        assert "<script>alert" not in answer.text
        assert "<img src=x" not in answer.text
        assert answer.headers["content-disposition"].startswith("attachment")
    assert client.ask("graph", graph=graph)["graph"]["observed"] == [evil, "y"]


# -- size and number -------------------------------------------------------------------------------


def test_what_is_too_large_is_refused_before_it_is_read(client: Client, page: Page) -> None:
    headers = good(client, page)
    line = http.client.HTTPConnection("127.0.0.1", page.port, timeout=20)
    line.putrequest("POST", f"/api/v1/sessions/{client.session}/data", skip_host=True)
    for name, value in headers.items():
        line.putheader(name, value)
    line.putheader("content-length", str(limits.UPLOAD_BYTES + 1))
    line.endheaders(b"x,y\n1,2\n")
    assert line.getresponse().status == 413
    line.close()


def test_what_grows_too_large_on_the_way_leaves_nothing(client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "UPLOAD_BYTES", 10_000)
    chunks = (b"x,y\n" if k == 0 else b"1,2\n" * 500 for k in range(40))
    answer = client.http.post(client.address("data"), content=chunks)
    assert answer.status_code == 413
    assert client.http.get(f"/api/v1/sessions/{client.session}").json()["data"] == []


def test_bodies_of_json_are_bounded(client: Client) -> None:
    big = json.dumps({"text": "x" * (limits.JSON_BYTES + 10)})
    answer = client.http.post(client.address("graph"), content=big, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert client.error("graph", 400, text="x" * (limits.GRAPH_LETTERS + 1))["code"] == "bad request"
    many = "; ".join(f"a{k} -> b" for k in range(limits.VARIABLES + 5))
    assert client.error("graph", 422, text=many)["code"] == "graph"


def test_a_session_has_so_many_files_and_no_more(client: Client) -> None:
    for _ in range(limits.UPLOADS):
        client.post("data/covariance", text="x,y\n1,0\n0,1", n=10)
    answer = client.post("data/covariance", text="x,y\n1,0\n0,1", n=10)
    assert answer.status_code == 429
    assert "delete one" in answer.json()["error"]["sentence"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"text": NaN}', b'{"number": 1e999, "text": "x"}',
                                  b"\xff\xfe",
                                  b"[" * 100_000, b'{"number": ' + b"9" * 6000 + b"}", b'{"text": "x", "more": 1}',
                                  b'{"text": "x", "number": true}', b'{"text": "x", "number": -1}'])  # fmt: skip
def test_what_is_not_json_of_the_right_shape_is_refused_in_a_sentence(body: bytes, client: Client) -> None:
    answer = client.http.post(client.address("graph"), content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["code"] == "bad request"
    assert "Traceback" not in error["sentence"]


def test_letters_that_no_file_can_hold_are_no_defect(client: Client) -> None:
    body = b'{"text": "x\\ud800 -> y", "question": "x ~> \\u0000\\ud800"}'
    export = b'{"format": "analysis", "text": "x -> y", "data": "d1", "questions": ["\\uD800"]}'
    whole = b'{"text": "x\\ud835\\udc65 -> y", "question": "x\\ud835\\udc65 ~> y"}'
    asked = [("graph", body, 400), ("verdict", body, 400), ("export", export, 400), ("verdict", whole, 200)]
    for kind, sent, status in asked:
        answer = client.http.post(client.address(kind), content=sent, headers={"content-type": "application/json"})
        assert answer.status_code == status, answer.text


def test_errors_are_sentences_with_their_place(client: Client) -> None:
    error = client.error("graph", 422, text="x -> y\ny -> -> z")
    assert error["code"] == "graph syntax"
    assert (error["place"]["line"], error["place"]["column"]) == (2, 6)
    assert "Traceback" not in error["sentence"]
    assert "syntax=" not in error["sentence"]
    error = client.error("verdict", 422, text=GRAPH, question="smoking ~> cancer")
    assert "cancer_risk" in error["sentence"]
    error = client.error("verdict", 422, text=GRAPH, question="P(tar | do(")
    assert error["code"] == "question syntax"
    assert error["place"]["start"] >= 0


def test_errors_of_data_name_the_file_as_its_owner_does(client: Client) -> None:
    answer = client.http.post(client.address("data"), params={"name": "my study.csv"}, content=b"1,2\n3,4\n")
    assert answer.status_code == 422
    sentence = answer.json()["error"]["sentence"]
    assert "my study.csv" in sentence
    assert "/tmp" not in sentence
