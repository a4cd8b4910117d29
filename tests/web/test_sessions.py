"""How the server behaves under hand: tabs that do not mix, numbers, stopping, many at once, browsers that go."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np

from halftrek.web import Page
from tests.web.client import Client

FRONT_DOOR = "x -> m -> y; x <-> y"
SLOW = {"interval": "bootstrap", "replicates": 20_000}  # of many rows: most of a minute of work
MANY = 300_000


def rows(seed: int, n: int = 3000) -> bytes:
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    m = 0.5 * x + random.normal(size=n)
    y = 0.7 * m + random.normal(size=n)
    lines = ["x,m,y", *(f"{a!r},{b!r},{c!r}" for a, b, c in zip(x.tolist(), m.tolist(), y.tolist(), strict=True))]
    return "\n".join(lines).encode()


def slow_answer(client: Client, data: str, number: int = 1) -> tuple[threading.Thread, list[httpx.Response]]:
    """A request for much work, in a thread, once it is being worked at; the response when it comes."""
    came: list[httpx.Response] = []
    body = {"number": number, "text": FRONT_DOOR, "data": data, "question": "x ~> y", "uncertainty": SLOW}
    thread = threading.Thread(target=lambda: came.append(client.post("answer", body)))
    thread.start()
    until(lambda: any(job["kind"] == "answer" and job["taken"] for job in jobs(client)))
    return thread, came


def jobs(client: Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.http.get(f"/api/v1/sessions/{client.session}").json()["running"]
    return found


def running(client: Client) -> list[str]:
    return [job["kind"] for job in jobs(client)]


def until(so: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def test_two_tabs_do_not_mix(page: Page) -> None:
    with Client(page) as one, Client(page) as other:
        first, second = one.upload(rows(1))["id"], other.upload(rows(2))["id"]
        assert first == second  # names are a session's own
        values = [
            c.ask("answer", text=FRONT_DOOR, data=first, question="x ~> y")["answer"]["value"] for c in (one, other)
        ]
        assert values[0] != values[1]
        third = one.upload(rows(3))["id"]
        assert other.error("fit", 404, text=FRONT_DOOR, data=third)["code"] == "not found"
        one.ask("graph", number=10, text="x -> y")
        assert other.ask("graph", number=1, text="x -> y")["number"] == 1  # numbers, too
        gone = one.http.delete(f"/api/v1/sessions/{one.session}")
        assert gone.status_code == 200
        assert one.post("graph", text="x -> y").status_code == 404
        assert other.post("graph", text="x -> y").status_code == 200


def test_an_older_request_never_follows_a_newer_one(client: Client) -> None:
    data = client.upload(rows(4, MANY))["id"]
    thread, came = slow_answer(client, data, number=1)
    newer = client.ask("answer", number=2, text=FRONT_DOOR, data=data, question="x ~> m")
    thread.join(30)
    assert newer["number"] == 2
    assert came[0].status_code == 409
    assert came[0].json()["error"]["code"] == "superseded"
    assert came[0].json()["number"] == 1
    late = client.error("answer", 409, number=1, text=FRONT_DOOR, data=data, question="x ~> m")
    assert late["code"] == "superseded"
    assert client.ask("verdict", number=1, text=FRONT_DOOR, question="x ~> y")["number"] == 1  # another kind


def test_long_work_can_be_stopped_and_holds_up_no_verdict(client: Client) -> None:
    data = client.upload(rows(5, MANY))["id"]
    thread, came = slow_answer(client, data)
    verdict = client.ask("verdict", text=FRONT_DOOR, question="x ~> y")
    assert verdict["verdict"]["identified"]
    assert running(client) == ["answer"]  # it goes on meanwhile
    assert client.ask("stop", kind="fit") == {"stopped": 0}
    assert client.ask("stop", kind="answer") == {"stopped": 1}
    thread.join(30)
    assert came[0].status_code == 409
    assert came[0].json()["error"]["code"] == "stopped"
    assert running(client) == []
    assert client.ask("answer", text=FRONT_DOOR, data=data, question="x ~> y")["answer"]["form"] == "point"


def test_a_browser_that_goes_ends_its_work(client: Client, page: Page) -> None:
    data = client.upload(rows(6, MANY))["id"]
    impatient = httpx.Client(
        base_url=client.root, headers=client.http.headers, cookies=client.http.cookies, timeout=2.0
    )
    body = {"text": FRONT_DOOR, "data": data, "question": "x ~> y", "uncertainty": SLOW}
    started = False
    try:
        impatient.post(client.address("answer"), json=body)
    except httpx.TimeoutException:
        started = True
    impatient.close()
    assert started
    until(lambda: running(client) == [])
    assert client.ask("answer", text=FRONT_DOOR, data=data, question="x ~> y")["answer"]["form"] == "point"
    assert page.open


def test_two_hundred_requests_side_by_side(client: Client) -> None:
    async def all_at_once() -> list[int]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(
            base_url=client.root, headers=client.http.headers, cookies=client.http.cookies, timeout=120.0, limits=limits
        ) as many:
            asked = [
                many.post(
                    client.address("verdict"), json={"text": f"x{k} -> m -> y; x{k} <-> y", "question": f"x{k} ~> y"}
                )
                for k in range(200)
            ]
            answers = await asyncio.gather(*asked)
            assert all(a.json()["verdict"]["query"] == f"x{k} ~> y" for k, a in enumerate(answers))
            return [a.status_code for a in answers]

    with ThreadPoolExecutor(1) as aside:  # a browser that another test drives has a loop of its own in this thread
        assert aside.submit(lambda: asyncio.run(all_at_once())).result() == [200] * 200
    assert client.ask("verdict", text=FRONT_DOOR, question="x ~> y")["verdict"]["identified"]


def test_connections_that_say_nothing_or_half_a_request_harm_nobody(client: Client, page: Page) -> None:
    lines = [socket.create_connection(("127.0.0.1", page.port)) for _ in range(60)]
    for k, line in enumerate(lines):
        line.sendall((b"", b"POST / HTT", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\x16\x03\x01 rubbish\r\n\r\n")[k % 4])
    assert client.ask("graph", text="x -> y")["graph"]["observed"] == ["x", "y"]
    for line in lines:
        line.close()
    assert client.ask("graph", text="x -> y")["graph"]["observed"] == ["x", "y"]


def workers_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line.split()[0]) for line in found.stdout.splitlines() if "halftrek.web.worker" in line]


def test_a_process_that_dies_is_replaced(client: Client) -> None:
    data = client.upload(rows(7, MANY))["id"]
    before = set(workers_of(os.getpid()))
    thread, came = slow_answer(client, data)
    for pid in before | set(workers_of(os.getpid())):
        os.kill(pid, signal.SIGKILL)
    thread.join(60)
    assert came[0].status_code == 503
    assert came[0].json()["error"]["code"] == "ended"
    # those that were waiting have died too, and are not waited for
    assert client.ask("verdict", text=FRONT_DOOR, question="x ~> y")["verdict"]["identified"]
    assert client.ask("help", text=FRONT_DOOR, question="x ~> y")["verdict"]["identified"]
    assert client.ask("fit", text=FRONT_DOOR, data=data)["fit"]["converged"]


def test_sessions_make_room_for_others(page: Page, monkeypatch: Any) -> None:
    from halftrek.web import limits

    with Client(page) as client:
        monkeypatch.setattr(limits, "SESSIONS", 3)
        names = [client.new_session() for _ in range(4)]
        assert client.http.get(f"/api/v1/sessions/{names[0]}").status_code == 404
        assert client.http.get(f"/api/v1/sessions/{names[3]}").status_code == 200


def test_a_verdict_that_takes_too_long_is_given_up(client: Client, monkeypatch: Any) -> None:
    from halftrek.web import limits

    client.ask("help", text=FRONT_DOOR, question="x ~> y")  # the process is there
    monkeypatch.setattr(limits, "QUICK_SECONDS", 0.01)
    pairs = "; ".join(f"v{i} -> v{j}; v{i} <-> v{j}" for i in range(9) for j in range(i + 1, 9))
    error = client.error("help", 503, text=pairs, question="v0 ~> v8")
    assert error["code"] == "took too long"
    monkeypatch.undo()
    assert client.ask("help", text=FRONT_DOOR, question="x ~> y")["verdict"]["identified"]
