"""What a request brings, read: its graph, its data, its choices; fits are remembered for the next request."""

from __future__ import annotations

import json
import pickle
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from halftrek.bottom.choices import AnySyntax, ColumnKind, Divisor, Ends, Interval, Missing
from halftrek.bottom.memory import remembered
from halftrek.errors import GraphError, InputError
from halftrek.graphs import Graph
from halftrek.graphs.as_written import Written
from halftrek.graphs.forms.sketch import Role, Sketch
from halftrek.syntax import parse_graph
from halftrek.web import limits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from halftrek.results.fit import Fit

_FITS = 4  # that are remembered


class Source(TypedDict, total=False):
    """Where data are, as the server says it; a request only has their name."""

    id: str
    kind: str  # "file", "bundled", "object" (a pickle that the server's own process wrote), "covariance"
    name: str  # for showing
    path: str
    text: str
    n: float
    means: Mapping[str, float] | None
    divisor: Divisor
    names: Sequence[str] | None
    columns: Sequence[str]  # once they are known


class Sure(TypedDict, total=False):
    """What a request may say of uncertainty."""

    interval: Interval | None
    level: float
    replicates: int
    ends: Ends
    random_state: int


class Rows(TypedDict, total=False):
    """What a request may say of how rows are taken."""

    missing: Missing
    weights: str
    sampling_weights: str
    cluster: str
    categories: Mapping[str, str]
    kinds: Mapping[str, ColumnKind]


class Request:
    """A body that has been checked, as typed parts."""

    def __init__(self, body: Mapping[str, object], source: Source | None = None) -> None:
        self.body = body
        self._source = source

    @property
    def source(self) -> Source:
        """Where the data are."""
        if self._source is None:
            raise InputError("this needs data: name those that were uploaded")
        return self._source

    @property
    def has_data(self) -> bool:
        return self._source is not None

    def text(self, key: str) -> str:
        """A text; empty if there is none."""
        return str(self.body.get(key) or "")

    def name(self, key: str) -> str | None:
        """A text, or nothing."""
        return self.text(key) or None

    def texts(self, key: str) -> list[str]:
        """A list of texts."""
        return [str(one) for one in cast(Sequence[object], self.body.get(key) or ())]

    def flag(self, key: str) -> bool:
        """True if it is said so."""
        return bool(self.body.get(key))

    def whole(self, key: str, usual: int) -> int:
        """A whole number."""
        return int(cast(int, self.body.get(key, usual)))

    def values(self, key: str) -> dict[str, float]:
        """Numbers by name."""
        return {name: float(x) for name, x in cast(Mapping[str, float], self.body.get(key) or {}).items()}

    def numbers(self, key: str) -> list[float] | None:
        """A list of numbers, or nothing."""
        given = cast(Sequence[float] | None, self.body.get(key))
        return None if given is None else [float(x) for x in given]

    @property
    def fitting(self) -> Rows:
        """The options of ``ht.fit``."""
        given = cast(Mapping[str, object], self.body.get("fitting") or {})
        return cast(Rows, {key: value for key, value in given.items() if value is not None})

    @property
    def uncertainty(self) -> Sure:
        """The options of ``fit.query``."""
        return cast(Sure, dict(cast(Mapping[str, object], self.body.get("uncertainty") or {})))

    @property
    def level(self) -> float:
        """How sure an interval is to be."""
        return float(self.uncertainty.get("level", 0.95))

    def graph(self) -> Graph:
        """The graph, from text or from pieces; never from a file, whatever the text."""
        text, pieces = self.body.get("text"), self.body.get("graph")
        if (text is None) == (pieces is None):
            raise InputError("give the graph either as text or as pieces")
        if text is not None:
            made = parse_graph(str(text), cast(AnySyntax, self.body.get("notation", "auto")))
        else:
            made = _from_pieces(cast(Mapping[str, object], pieces))
        count = len(made.nodes) + len(made.latents)
        if count > limits.VARIABLES:
            raise GraphError(
                f"the graph has {count} variables; the page takes "
                f"{limits.VARIABLES}. Larger ones go through Python or the command line"
            )
        return self._drawn(made)

    def _drawn(self, graph: Graph) -> Graph:
        """With the places and roles of the request, which stand before those of a text."""
        places = cast(Mapping[str, Sequence[float]], self.body.get("positions") or {})
        roles = cast(Mapping[str, Sequence[Role]], self.body.get("roles") or {})
        if not places and not roles:
            return graph
        known = {**graph.positions, **{v: (float(x), float(y)) for v, (x, y) in places.items()}}
        marked = {**graph.roles, **roles}
        sketch = Sketch(
            tuple((v, x, y) for v, (x, y) in known.items()),
            tuple((v, cast(Role, role)) for v, each in marked.items() for role in each),
            None if graph.sketch is None else graph.sketch.box,
        )
        return graph.with_(sketch=sketch)


def _from_pieces(pieces: Mapping[str, object]) -> Graph:
    pairs = {
        key: [(u, v) for u, v in cast(Sequence[tuple[str, str]], pieces.get(key, ()))]
        for key in ("directed", "bidirected")
    }
    known = {
        key: cast(Mapping[str, float | str], pieces.get(key, {})) for key in ("coefficients", "variances", "intercepts")
    }
    return Graph(
        pairs["directed"],
        pairs["bidirected"],
        cast(Mapping[str, Sequence[str]], pieces.get("latents", {})),
        cast(Sequence[str], pieces["observed"]),
        known["coefficients"],
        hidden=cast(Sequence[str], pieces.get("hidden", ())),
        variances=known["variances"],
        intercepts=known["intercepts"],
        definitions=cast(Mapping[str, str], pieces.get("definitions", {})),
    )


class Bench:
    """What a process remembers between requests."""

    def __init__(self) -> None:
        self._fits: dict[Hashable, Fit] = {}
        self._objects: dict[Hashable, object] = {}

    def fit(self, asked: Request) -> Fit:
        """The fit that a request is about, made if it is not remembered; it remembers its answers in turn."""
        graph, source = asked.graph(), asked.source
        options = json.dumps(asked.fitting, sort_keys=True, default=str)
        key = (Written(graph), source["id"], options)
        return remembered(self._fits, key, lambda: self._fitted(graph, asked), _FITS)

    def _fitted(self, graph: Graph, asked: Request) -> Fit:
        from halftrek.results import workflow

        source = asked.source
        if source["kind"] != "covariance":
            return workflow.fit(graph, self.data(source), **asked.fitting)
        if asked.fitting:
            what = "weights, clusters, categories, kinds and missing values"
            raise InputError(f"{what} belong to rows; a covariance has none")
        names, matrix = covariance_in(source)
        return workflow.fit(
            graph, cov=matrix, n=source["n"], mean=cast("ArrayLike | None", source.get("means")), names=names,
            divisor=source.get("divisor", "n"),
        )  # fmt: skip

    def data(self, source: Source) -> object:
        """What ``ht.fit`` takes as data."""
        return remembered(self._objects, source["id"], lambda: _data(source))

    def ordered(self, source: Source) -> list[str]:
        """The columns that the data themselves call ordered."""
        from halftrek.data.columns.ordered import ordered_columns

        return [] if source["kind"] == "covariance" else list(ordered_columns(self.data(source)))

    def columns(self, source: Source) -> list[str]:
        """The names of the columns of data."""
        from halftrek.data import Moments, Patterns
        from halftrek.data.read import opened_source

        if "columns" in source:
            return list(source["columns"])
        if source["kind"] == "covariance":
            names, matrix = covariance_in(source)
            return [f"x{k + 1}" for k in range(len(matrix))] if names is None else list(names)
        data = self.data(source)
        if isinstance(data, Moments | Patterns):
            return list(data.names)
        with opened_source(data, None) as opened:
            return list(opened.columns)


def _data(source: Source) -> object:
    if source["kind"] == "object":
        return pickle.loads(Path(source["path"]).read_bytes())
    if source["kind"] == "bundled":
        from halftrek.examples import dataset

        study = dataset(source["name"])
        return study.columns if study.path is None else str(study.path)
    return source["path"]


def covariance_in(source: Source) -> tuple[Sequence[str] | None, list[list[float]]]:
    """Names and rows of a covariance that was pasted."""
    from halftrek.cli.covariance import covariance_of

    names, matrix = covariance_of(source["text"], source["name"])
    return names if names is not None else source.get("names"), matrix
