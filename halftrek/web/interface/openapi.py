"""The interface for machines: what every address takes and gives, as OpenAPI."""

from __future__ import annotations

from functools import cache
from typing import cast

from halftrek import __version__
from halftrek.web.interface import gives, shapes
from halftrek.web.interface.checking import Schema

Described = dict[str, object]
_ONE = "/api/v1/sessions/{session}"
_ERRORS = {
    400: "not of the right shape",
    401: "no token",
    403: "from another place",
    404: "no such session or data",
    405: "another method",
    409: "superseded or stopped",
    413: "too large",
    415: "not JSON",
    422: "cannot be used; the sentence says what to change",
    429: "too many",
    503: "took too long, or its process ended",
}
_WORDS = {
    "graph": "the graph in all notations, with places",
    "verdict": "can it be known, and along which paths",
    "help": "the proof of a refusal, and what would help",
    "implied": "independences that data could contradict",
    "match": "which variables the data have",
    "fit": "the fit, and the weights of the edges",
    "answer": "an answer with its interval and notes",
    "distribution": "an outcome as seen and as done",
    "dose": "the mean of an outcome along the values of a cause",
    "decomposition": "an effect path by path",
    "effects": "every effect",
    "checks": "what in the graph the data contradict",
    "sensitivity": "the answer along the correlation of two errors",
    "bounds": "what the data leave open under assumptions",
    "export": "a file to take away",
}


@cache
def description() -> Described:
    """All addresses."""
    paths: dict[str, Described] = {
        "/api/v1/about": {"get": _operation("what there is to choose from", gives.ABOUT)},
        "/api/v1/openapi.json": {"get": _operation("this description", {"type": "object"})},
        "/api/v1/sessions": {"post": _operation("a new session", gives.SESSION, shapes.EMPTY, status=201)},
        _ONE: {
            "get": _operation("a session as it is now", gives.SESSION),
            "delete": _operation("the end of a session", {"type": "object"}),
        },
        f"{_ONE}/stop": {"post": _operation("stops work", {"type": "object"}, shapes.STOP)},
        f"{_ONE}/data": {"post": _upload()},
        f"{_ONE}/data/bundled": {"post": _data("a bundled data set", shapes.BUNDLED)},
        f"{_ONE}/data/covariance": {"post": _data("a covariance", shapes.COVARIANCE)},
        f"{_ONE}/data/{{data}}": {"delete": _operation("forgets data", {"type": "object"})},
    }
    for kind, takes in shapes.TAKES.items():
        made = gives.GIVES.get(kind)
        paths[f"{_ONE}/{kind}"] = {"post": _operation(_WORDS[kind], made, takes)}
    for address, methods in paths.items():
        named = [part[1:-1] for part in address.split("/") if part.startswith("{")]
        for operation in methods.values():
            known = cast(list[object], cast(Described, operation).setdefault("parameters", []))
            known += [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in named]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "halftrek's page",
            "version": __version__,
            "summary": "What docs/page.md says, for machines.",
        },
        "paths": paths,
    }


def _operation(words: str, made: Schema | None, takes: Schema | None = None, *, status: int = 200) -> Described:
    content = {"application/json": {"schema": made}} if made is not None else {"*/*": {"schema": {}}}
    responses: Described = {str(status): {"description": words, "content": content}}
    responses |= {
        str(code): {"description": why, "content": {"application/json": {"schema": gives.ERROR}}}
        for code, why in _ERRORS.items()
    }
    body = {"requestBody": {"required": True, "content": {"application/json": {"schema": takes}}}} if takes else {}
    return {"summary": words, "responses": responses, **body}


def _data(words: str, takes: Schema) -> Described:
    return _operation(words, shapes.record({"data": gives.DATUM}), takes, status=201)


def _upload() -> Described:
    made = _operation("a file", shapes.record({"data": gives.DATUM}), status=201)
    file: Described = {"type": "string", "format": "binary"}
    made["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": file}}}
    made["parameters"] = [{"name": "name", "in": "query", "required": False, "schema": {"type": "string"}}]
    return made
