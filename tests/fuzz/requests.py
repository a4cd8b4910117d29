"""Requests to the page's server, mutated: bodies, bytes, addresses, headers. Each is answered, and none by a defect."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np

import halftrek as ht
from halftrek.web.interface.shapes import FORMATS
from tests.fuzz.texts import mutants
from tests.web.client import Client

GRAPH = "smoking -> tar -> cancer_risk; smoking <-> cancer_risk"
PIECES = {"observed": ["smoking", "tar", "cancer_risk"], "directed": [["smoking", "tar"], ["tar", "cancer_risk"]],
          "bidirected": [["smoking", "cancer_risk"]], "latents": {}, "coefficients": {}}  # fmt: skip
QUESTIONS = ("smoking ~> cancer_risk", "P(cancer_risk | do(smoking=1))", "smoking -> tar", "E[tar | do(smoking=2)]")
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 2**53, 1e308, -0.0, "", " ", "\x00", "\ud800", "‮", "x" * 3000, "../../etc/passwd", "d1", "d0",
    "<script>", "'; DROP TABLE rows; --", "{{7*7}}", [], {}, [[]], [None], {"": ""}, ["x", "x"], {"smoking": "x"},
    [["smoking", "smoking"]], {"smoking": [1e308, -1e308]}, 0.5, "NaN", "1e999", [1.5, 2.5], "em", "fiml", "bootstrap",
)  # fmt: skip
ENDS = {"cause": "smoking", "outcome": "cancer_risk"}


def seeds(data: str) -> list[tuple[str, dict[str, Any]]]:
    """Good requests of every kind."""
    here: dict[str, Any] = {"text": GRAPH, "data": data}
    question = {"question": QUESTIONS[0]}
    return [
        ("graph", {"text": GRAPH, "number": 1, "notation": "auto", "question": QUESTIONS[0]}),
        ("graph", {"graph": PIECES, "positions": {"tar": [1, 2]}, "roles": {"smoking": ["exposure"]}, "layout": True}),
        ("verdict", {"text": GRAPH, "question": QUESTIONS[1], "adjusted": ["tar"]}),
        ("verdict", {"graph": PIECES, "question": QUESTIONS[2]}),
        ("help", {"text": "x -> y; x <-> y", "question": "x ~> y"}),
        ("implied", {"text": GRAPH}),
        ("match", here),
        ("fit", {**here, "fitting": {"missing": "drop"}, "uncertainty": {"level": 0.9}}),
        ("answer", {**here, "question": QUESTIONS[1], "crude": True, "uncertainty": {"interval": "robust"}}),
        ("answer", {**here, **question}),
        ("distribution", {**here, **ENDS, "given": {}}),
        ("dose", {**here, **ENDS, "values": [0, 1]}),
        ("decomposition", {**here, "cause": "smoking", "effect": "cancer_risk", "most": 5}),
        ("effects", {**here, "kind": "total"}),
        ("checks", here),
        ("sensitivity", {**here, **question, "arc": ["smoking", "tar"]}),
        ("bounds", {**here, **question, "assume": ["corr(smoking <-> tar) in [-0.3, 0.3]"]}),
        *(("export", {"format": form, **here, "questions": [QUESTIONS[0]]}) for form in FORMATS),
        ("stop", {"kind": "fit"}),
        ("data/bundled", {"name": "no such set"}),
        ("data/covariance", {"text": "x,y\n1,0\n0,1", "n": 10, "means": {"x": 1}, "divisor": "n"}),
    ]


def mutated_requests(rng: np.random.Generator, count: int) -> tuple[int, list[str]]:
    """Good requests to the page, spoilt in one or several places: every one is answered, and none with status 500."""
    texts = mutants(rng, (GRAPH, *QUESTIONS))
    with ht.open_page(browser=False, port=0) as page, Client(page) as client, ThreadPoolExecutor(4) as pool:
        data = client.bundled("front_door")
        good = seeds(data)
        made = [_mutated(rng, *good[int(rng.integers(len(good)))], texts) for _ in range(count)]
        failures = [words for words in pool.map(lambda one: _failure(client, *one), made) if words]
        if client.post("graph", text=GRAPH).status_code != 200:
            failures.append("the server does not answer any more")
    return count, failures


def _mutated(
    rng: np.random.Generator, kind: str, body: dict[str, Any], texts: Iterator[str]
) -> tuple[str, bytes, dict[str, str]]:
    """An address, the bytes of a body, and headers."""
    spoilt = copy.deepcopy(body)
    for _ in range(int(rng.integers(1, 4))):
        _spoil(rng, spoilt, texts)
    raw = json.dumps(spoilt).encode()
    headers = {"content-type": "application/json"}
    fate = rng.random()
    if fate < 0.1:  # bytes are lost, doubled, changed
        at = int(rng.integers(len(raw)))
        raw = (raw[:at], raw[:at] + raw, raw[:at] + bytes(rng.integers(0, 256, 3).tolist()) + raw[at:])[
            int(rng.integers(3))
        ]
    elif fate < 0.15:
        kind = ("%00", "data/..%2f", "export/", "graph?x=1", "data/d1", "données", "_", "stop/stop")[
            int(rng.integers(8))
        ]
    elif fate < 0.2:
        headers["content-type"] = ("text/plain", "application/json; charset=latin-1", "", "multipart/form-data")[
            int(rng.integers(4))
        ]
    return kind, raw, headers


def _spoil(rng: np.random.Generator, body: Any, texts: Iterator[str]) -> None:
    """One place of a body, at any depth, becomes something else, or goes."""
    if isinstance(body, dict) and body:
        key: Any = list(body)[int(rng.integers(len(body)))]
    elif isinstance(body, list) and body:
        key = int(rng.integers(len(body)))
    else:
        return
    inside = body[key]
    fate = rng.random()
    if isinstance(inside, dict | list) and inside and fate < 0.6:
        _spoil(rng, inside, texts)
    elif isinstance(inside, str) and fate < 0.5:
        body[key] = next(texts)
    elif fate < 0.6:
        del body[key]
    else:
        body[key] = copy.deepcopy(HOSTILE[int(rng.integers(len(HOSTILE)))])


def _failure(client: Client, kind: str, raw: bytes, headers: dict[str, str]) -> str:
    """What is wrong with the answer; empty if nothing is."""
    try:
        answer = client.http.post(client.address(kind), content=raw, headers=headers)
    except httpx.HTTPError as error:
        return f"{kind} {raw[:300]!r}: {type(error).__name__}: {error}"
    if answer.status_code >= 500 or "Traceback" in answer.text:
        return f"{kind} {raw[:300]!r}: {answer.status_code} {answer.text[:300]}"
    if answer.status_code >= 400 and not answer.json()["error"]["sentence"]:
        return f"{kind} {raw[:300]!r}: an error without words"
    return ""
