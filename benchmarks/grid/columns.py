"""Kinds of data and models: one column of the grid each, with a graph, its data, and who plays which part in it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import halftrek as ht
from benchmarks.grid.samples import N, cfa, clustered, cut, factors, grouped, holes, linear

MAIN = "z -> x; w -> {x, y}; x -> m -> y; x -> y"
IV = "z -> x -> y; w -> {x, y}; x <-> y"
BOW = "w -> {x, y}; x -> y; x <-> y"
TIED = "z -> x; w -> {x, y}; x -> m; m -> y [b]; x -> y [b]"
SEM_FREE = "latent F; x -> F; F -> {a, b, c}; F -> y; x -> y; w -> y"
SEM = SEM_FREE + "; F -> a [1]"
CFA = "latent F; latent G; F -> {a, b, c}; G -> {d, e, f}; F <-> G"
SEM_IV_FREE = "latent F; w -> x; x -> F; F -> {a, b, c}; x -> y; x <-> y; w -> y"
SEM_BOW_FREE = "latent F; x -> {F, y}; F -> {a, b, c}; F -> y; F <-> y; w -> y"


@dataclass
class Kind:
    """A kind of data and model, and the parts that its variables play in the questions.

    Fits are made when they are first asked for, and kept: that of ``graph``, and those of three other graphs of the
    same columns, with an instrument, with a bow (an effect that is not identified), and with a further edge.
    """

    data: Any = None
    graph: str = MAIN
    iv: str = IV
    bow: str = BOW
    alt: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    cause: str = "x"
    outcome: str = "y"
    mediator: str = "m"
    covariate: str = "w"
    other: str = "z"
    absent: str = ""  # an edge that the graph has not
    absent2: str = ""
    present: str = ""
    tied: tuple[str, str] = ("", "")  # two coefficients that may be called equal
    cut: float = 0.5
    truth: float | None = 0.64  # the total effect, where the question has it
    asked: str = ""  # what answers are made of; a total effect, where that is one number
    lavaan: str = "m ~ x\ny ~ m + x + w\nx ~ z + w"
    member: str | None = None  # one group of the fit
    rows: Any = None  # a few to ask about, where the data have no head
    bow_effect: str = ""
    iv_effect: str = ""
    assume: str = ""
    kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        c, o = self.cause, self.outcome
        self.asked = self.asked or self.effect
        self.absent = self.absent or f"{self.mediator} <-> {o}"
        self.absent2 = self.absent2 or f"{c} <-> {o}"
        self.present = self.present or f"{c} -> {o}"
        self.tied = self.tied if all(self.tied) else (f"{c} -> {o}", f"{self.covariate} -> {o}")
        self.alt = self.alt or f"{self.graph}; {self.other} -> {o}"
        self.bow_effect = self.bow_effect or f"{c} ~> {o}"
        self.iv_effect = self.iv_effect or f"{c} ~> {o}"
        self.assume = self.assume or f"corr({c} <-> {o}) in [-0.3, 0.3]"

    def made(self, graph: Any, **more: Any) -> Any:
        """A fit of these data with another graph or further options."""
        options = self.options | more
        found = ht.fit(graph, **options) if self.data is None else ht.fit(graph, self.data, **options)
        return found if self.member is None else found[self.member]

    def _once(self, name: str, graph: str) -> Any:
        if name not in self.kept:
            options = dict(self.options)
            if "kinds" in options and name != "fit":
                there = set(ht.graph(graph).nodes)
                options["kinds"] = {k: v for k, v in options["kinds"].items() if k in there}
            try:
                self.kept[name] = self.made(graph, **options)
            except Exception as error:  # kept too: a fit that fails fails once
                self.kept[name] = error
        if isinstance(self.kept[name], Exception):
            raise self.kept[name]
        return self.kept[name]

    @property
    def fit(self) -> Any:
        return self._once("fit", self.graph)

    @property
    def iv_fit(self) -> Any:
        return self._once("iv", self.iv)

    @property
    def bow_fit(self) -> Any:
        return self._once("bow", self.bow)

    @property
    def alt_fit(self) -> Any:
        return self._once("alt", self.alt)

    def q(self, text: str) -> str:
        """A question with this kind's variables in it."""
        return text.format(c=self.cause, o=self.outcome, m=self.mediator, w=self.covariate, k=self.cut)

    @property
    def effect(self) -> str:
        return f"{self.cause} ~> {self.outcome}"

    @property
    def few(self) -> Any:
        """A few rows to ask about, in the data's own library."""
        if self.rows is not None:
            return self.rows
        return self.data.head(5)

    @property
    def size(self) -> int:
        """How many rows the data have; those in files and databases have 300."""
        return int(self.data.shape[0]) if hasattr(self.data, "shape") else N

    @property
    def moments(self) -> Any:
        """What is known where only a covariance matrix is."""
        given = self.options
        return ht.Moments.from_cov(given["cov"], given["n"], mean=given["mean"], names=given["names"])


def covariance(frame: pd.DataFrame, names: list[str], graph: str = MAIN, **parts: Any) -> Kind:
    """A covariance matrix, means and a number of rows in place of the rows."""
    values = frame[names]
    options = {"cov": np.cov(values.T, bias=True), "n": len(frame), "names": names, "mean": values.mean().to_numpy()}
    return Kind(None, graph, options=options, rows=frame.head(5), **parts)


def weighted(frame: pd.DataFrame, counts: bool = False) -> pd.DataFrame:
    r = np.random.default_rng(4)
    return frame.assign(wt=r.integers(1, 4, len(frame)) if counts else r.uniform(0.5, 2, len(frame)))


def acting(confounded: bool = False, mediator: bool = False) -> pd.DataFrame:
    """A yes/no cause, or a yes/no mediator, that acts."""
    r = np.random.default_rng(8)
    z, w, u = r.normal(size=(3, N)) if not mediator else (*r.normal(size=(2, N)), np.zeros(N))
    u = u * (0.7 if confounded else 0)
    if mediator:
        x = 0.7 * z + 0.5 * w + r.normal(size=N)
        m = (0.6 * x + r.normal(size=N) > 0).astype(int)
        y = 0.8 * m + 0.4 * x + 0.4 * w + r.normal(size=N)
    else:
        x = (0.8 * z + 0.5 * w + u + r.normal(size=N) > 0).astype(int)
        m = 0.6 * x + r.normal(size=N)
        y = 0.4 * m + 0.4 * x + 0.4 * w + u + r.normal(size=N)
    return pd.DataFrame({"z": z, "w": w, "x": x, "m": m, "y": y})


def binary(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame.assign(**{column: (frame[column] > 0).astype(int)})


def parquet(frame: pd.DataFrame, name: str) -> str:
    frame.to_parquet(name)
    return name


def csv(frame: pd.DataFrame, name: str) -> str:
    frame.to_csv(name, index=False)
    return name


def duckdb_relation(frame: pd.DataFrame) -> Any:
    import duckdb

    return duckdb.sql(f"SELECT * FROM '{parquet(frame, 'duck.parquet')}'")


def sqlite_table(frame: pd.DataFrame) -> Any:
    import ibis

    path = Path("rows.db")
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as base:
        frame.to_sql("rows", base, index=False)
    return ibis.sqlite.connect(str(path)).table("rows")


def polars_frame(frame: pd.DataFrame) -> Any:
    import polars as pl

    return pl.from_pandas(frame)


def arrow_table(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


def regions(frame: pd.DataFrame) -> pd.DataFrame:
    """A column of words with three categories."""
    words = np.where(frame.w > 0, "north", "south").astype(object)
    return frame.assign(w=np.where(np.arange(N) % 3 == 0, "west", words))


def columns() -> dict[str, Callable[[], Kind]]:
    """Every kind by its name; data and fits are made when it is asked for, files in the folder where this runs."""
    frame = linear()
    hollow = holes(frame, ["w", "m", "y"])
    with_aux = hollow.assign(aux=frame.y + 0.5 * np.random.default_rng(3).normal(size=N))
    aux = "; {z, w, x, m, y} -> aux"
    skewed = frame.assign(y=np.exp(frame.y))
    items = cut(factors(), "a", "b", "c")
    tied_alt = "z -> {x, y}; w -> {x, y}; x -> m; m -> y [b]; x -> y [b]"

    sem: dict[str, Any] = {
        "iv": SEM_IV_FREE + "; F -> a [1]", "bow": SEM_BOW_FREE + "; F -> a [1]",
        "alt": SEM.replace("w -> y", "w -> y; w -> F"), "mediator": "F", "other": "w",
        "lavaan": "F =~ a + b + c\nF ~ x\ny ~ F + x + w", "truth": 0.6, "absent": "F <-> y", "absent2": "x <-> y",
        "bow_effect": "F ~> y", "assume": "abs(corr(F <-> y)) <= 0.3",
    }  # fmt: skip
    of_items = sem | {"iv": SEM_IV_FREE, "bow": SEM_BOW_FREE, "truth": None, "alt": SEM_FREE + "; w -> F"}
    two_factors: dict[str, Any] = {
        "iv": "latent F; F -> {a, b, c}; a -> d", "bow": "latent F; F -> {a, b, c}; a -> b", "alt": CFA + "; a <-> b",
        "cause": "F", "outcome": "c", "mediator": "a", "covariate": "b", "other": "d",
        "lavaan": "F =~ a + b + c\nG =~ d + e + f", "truth": None, "absent": "a <-> c", "absent2": "b <-> c",
        "present": "F -> c", "bow_effect": "a ~> b", "iv_effect": "a ~> d", "assume": "abs(corr(a <-> b)) <= 0.3",
        "tied": ("F -> b", "F -> c"),
    }  # fmt: skip
    acts: dict[str, Any] = {"kinds": {"x": "acts"}}
    ordered: dict[str, Any] = {"kinds": {"y": "ordered"}}
    ranked: dict[str, Any] = {"kinds": {"y": "ranked"}}
    item_kinds: dict[str, Any] = {"kinds": dict.fromkeys("abc", "ordered")}
    level: dict[str, Any] = {"cut": 0, "truth": None}

    return {
        "complete": lambda: Kind(frame),
        "missing (FIML)": lambda: Kind(hollow),
        "missing + auxiliary": lambda: Kind(with_aux, MAIN + aux, alt=MAIN + "; z -> y" + aux),
        "clusters": lambda: Kind(clustered(frame), options={"cluster": "g"}),
        "sampling weights": lambda: Kind(weighted(frame), options={"sampling_weights": "wt"}),
        "count weights": lambda: Kind(weighted(frame, True), options={"weights": "wt"}),
        "covariance only": lambda: covariance(frame, ["z", "w", "x", "m", "y"]),
        "groups": lambda: Kind(grouped(frame), options={"by": "g"}),
        "one of groups": lambda: Kind(grouped(frame), options={"by": "g"}, member="A"),
        "groups + missing": lambda: Kind(grouped(hollow), options={"by": "g"}),
        "constraints": lambda: Kind(frame, TIED, alt=tied_alt),
        "hidden, bow-free": lambda: Kind(
            linear(confounded=True, direct=0.0), "z -> x; w -> {x, y}; x -> m -> y; x <-> y", truth=0.24,
            present="x <-> y", absent2="x -> y", tied=("m -> y", "w -> y"),
            alt="z -> {x, y}; w -> {x, y}; x -> m -> y; x <-> y"),
        "unidentified corner": lambda: Kind(frame, MAIN + "; z <-> x", alt=MAIN + "; z <-> x; z -> m"),
        "factors (CFA)": lambda: Kind(cfa(), CFA, **two_factors),
        "factor + regression (SEM)": lambda: Kind(factors(), SEM, **sem),
        "SEM + missing": lambda: Kind(holes(factors(), ["a", "b", "y"]), SEM, **sem),
        "SEM + groups": lambda: Kind(grouped(factors()), SEM, options={"by": "g"}, **sem),
        "SEM + clusters + missing": lambda: Kind(
            clustered(holes(factors(), ["a", "b", "y"]), on=("a", "y")), SEM, options={"cluster": "g"}, **sem),
        "ordered outcome": lambda: Kind(cut(frame, "y"), options=ordered, **level),
        "ordered + missing": lambda: Kind(holes(cut(frame, "y"), ["w", "m", "y"]), options=ordered, **level),
        "ordered items (SEM)": lambda: Kind(items, SEM_FREE, options=item_kinds, **of_items),
        "ordered + groups": lambda: Kind(grouped(cut(frame, "y")), options=ordered | {"by": "g"}, **level),
        "binary treatment acts": lambda: Kind(acting(), options=acts),
        "binary mediator acts": lambda: Kind(
            acting(mediator=True), options={"kinds": {"m": "acts"}}, truth=None,
            asked="E[y | do(x=1)] - E[y | do(x=0)]"),
        "ranked outcome": lambda: Kind(skewed, options=ranked, truth=None, cut=1.5),
        "non-normal errors": lambda: Kind(linear(skew=True, n=600)),
        "polars": lambda: Kind(polars_frame(frame)),
        "few clusters (8)": lambda: Kind(clustered(frame, 38), options={"cluster": "g"}),
        "DuckDB relation": lambda: Kind(duckdb_relation(frame), rows=frame.head(5)),
        "Parquet file": lambda: Kind(parquet(frame, "rows.parquet"), rows=frame.head(5)),
        "SQL (Ibis on SQLite)": lambda: Kind(sqlite_table(frame), rows=frame.head(5)),
        # crossings that users have, too
        "acts + confounded": lambda: Kind(
            acting(confounded=True), IV, options=acts, truth=None, mediator="w", absent="z -> y", present="x <-> y",
            absent2="z <-> y", alt=IV + "; z -> y"),
        "acts + missing": lambda: Kind(holes(acting(), ["w", "m", "y"]), options=acts),
        "acts + ordered outcome": lambda: Kind(
            binary(acting(), "y"), options={"kinds": {"x": "acts", "y": "ordered"}}, **level),
        "acts + clusters": lambda: Kind(clustered(acting()), options=acts | {"cluster": "g"}),
        "acts + groups": lambda: Kind(grouped(acting()), options=acts | {"by": "g"}),
        "acts + factor": lambda: Kind(binary(factors(), "x"), SEM, options=acts, **sem | {"truth": None}),
        "ranked + missing": lambda: Kind(holes(skewed, ["w", "m"]), options=ranked, truth=None, cut=1.5),
        "ordered + clusters": lambda: Kind(
            clustered(cut(frame, "y"), on=("m",)), options=ordered | {"cluster": "g"}, **level),
        "ordered + sampling weights": lambda: Kind(
            weighted(cut(frame, "y")), options=ordered | {"sampling_weights": "wt"}, **level),
        "SEM + sampling weights": lambda: Kind(weighted(factors()), SEM, options={"sampling_weights": "wt"}, **sem),
        "SEM, covariance only": lambda: covariance(factors(), list("xwabcy"), SEM, **sem),
        "groups + clusters": lambda: Kind(clustered(grouped(frame), name="k"), options={"by": "g", "cluster": "k"}),
        "groups + sampling weights": lambda: Kind(
            weighted(grouped(frame)), options={"by": "g", "sampling_weights": "wt"}),
        "ordered, DWLS": lambda: Kind(cut(frame, "y"), options=ordered | {"estimator": "dwls"}, **level),
        "constraints + missing": lambda: Kind(hollow, TIED, alt=tied_alt),
        "0/1 outcome, linear": lambda: Kind(binary(frame, "y"), truth=None),
        "CSV with missing": lambda: Kind(csv(hollow, "holes.csv"), rows=frame.head(5)),
        "ordered items + missing": lambda: Kind(
            holes(items, ["a", "b", "y"]), SEM_FREE, options=item_kinds, **of_items),
        "ordered items + groups": lambda: Kind(grouped(items), SEM_FREE, options=item_kinds | {"by": "g"}, **of_items),
        "categories= (indicators)": lambda: Kind(
            regions(frame), options={"categories": {"w": "north"}}, truth=None, covariate="z", other="x",
            tied=("x -> y", "m -> y"), alt=MAIN + "; z -> m"),
        "Arrow table": lambda: Kind(arrow_table(frame), rows=frame.head(5)),
    }  # fmt: skip
