"""One fit of each kind of data, made once in a process: what tests of mechanisms run over.

``NOT_TODAY`` says which mechanism which kind lacks. It is strict: what it names has to be refused, or wrong, in these
words, so that an entry goes when the cell is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import halftrek as ht

Columns = Mapping[str, np.ndarray]


def by_covariance(graph: str, rows: Columns, weights: str | None = None, **options: Any) -> Any:
    """Nothing but a covariance is handed over; weights count rows in it."""
    names = [name for name in rows if name in ht.graph(graph).observed]
    values, counts = np.column_stack([rows[name] for name in names]), rows.get(weights or "")
    cov = np.cov(values.T, ddof=0, aweights=counts)
    return ht.fit(graph, cov=cov, n=len(values) if counts is None else counts.sum(), names=names, **options)


@dataclass(frozen=True, eq=False)
class Kind:
    """Data and how they are fitted; options name columns of the rows, so that rows can be drawn again and moved."""

    name: str
    graph: str
    rows: Columns
    options: Mapping[str, Any] = field(default_factory=dict)
    fitting: Callable[..., Any] = ht.fit
    cause: str = "x"
    outcome: str = "y"
    given: str = "m"
    edges: tuple[str, ...] = ("m -> y",)  # one coefficient, which a smaller model holds
    equal: Mapping[str, str] = field(default_factory=dict)  # lines of the table that are one parameter, by its name
    scale: Mapping[str, float] = field(default_factory=lambda: {"z": 2.0, "x": 0.5, "m": 4.0, "y": 10.0})

    def __str__(self) -> str:
        return self.name

    @property
    def n(self) -> int:
        """Lines of the table."""
        return len(self.rows["z"])

    @property
    def seen(self) -> list[str]:
        """Columns that are variables, and not weights or labels."""
        return [v for v in self.rows if v not in self.options.values()]

    @property
    def behind(self) -> bool:
        """Whether what is fitted are correlations of normal variables behind the columns."""
        return "kinds" in self.options and "acts" not in self.options["kinds"].values()

    def again(self, rows: Columns | None = None, **changes: Any) -> Any:
        """Another fit, of these rows or with these options."""
        return self.fitting(self.graph, self.rows if rows is None else rows, **{**self.options, **changes})

    def holding(self, value: float) -> Any:
        """The fit with the one coefficient held."""
        return self.again(coefficients={**self.options.get("coefficients", {}), **dict.fromkeys(self.edges, value)})


@cache
def fit(kind: Kind) -> Any:
    """The fit of this kind, made when it is first asked for."""
    return kind.again()


def _rows(n: int = 160) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    z, u = rng.normal(size=(2, n))
    x = 0.8 * z + u + rng.normal(size=n)
    m = 0.7 * x + rng.normal(size=n)
    return {"z": z, "x": x, "m": m, "y": 0.5 * m + u + rng.normal(size=n)}


def _factor_rows(n: int = 160) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    z = rng.normal(size=n)
    factor = 0.6 * z + rng.normal(size=n)
    loadings = {"a": 1.0, "b": 0.8, "c": 0.7, "y": 0.9}
    return {"z": z} | {v: load * factor + rng.normal(size=n) for v, load in loadings.items()}


def _with_holes(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {v: np.where(rng.random(len(x)) < 0.2, np.nan, x) if v in "xmy" else x for v, x in rows.items()}


FRONT_DOOR = "z -> x -> m -> y; x <-> y"
ROWS, FACTOR_ROWS = _rows(), _factor_rows()
HALVES = np.repeat(["p", "q"], 80)
LEVELS: dict[str, np.ndarray] = {**ROWS, "y": np.digitize(ROWS["y"], [-1.0, 0.2, 1.3])}
PLAIN_SCALE = {"z": 2.0, "x": 0.5, "m": 4.0}
FACTOR_SCALE = {"z": 2.0, "a": 0.5, "b": 4.0, "c": 3.0, "y": 10.0, "F": 0.5}

KINDS = {
    kind.name: kind
    for kind in (
        Kind("complete", FRONT_DOOR, ROWS),
        Kind("covariance", FRONT_DOOR, ROWS, fitting=by_covariance),
        Kind("missing", FRONT_DOOR, _with_holes(ROWS)),
        Kind("ordered", FRONT_DOOR, LEVELS, {"kinds": {"y": "ordered"}}, scale=PLAIN_SCALE),
        Kind("ranked", FRONT_DOOR, {**ROWS, "y": np.exp(ROWS["y"])}, {"kinds": {"y": "ranked"}}, scale=PLAIN_SCALE),
        Kind(
            "acts",
            FRONT_DOOR,
            {**ROWS, "x": (ROWS["x"] > 0.0).astype(int)},
            {"kinds": {"x": "acts"}},
            scale={"z": 2.0, "m": 4.0, "y": 1e4},
        ),
        Kind("dwls", FRONT_DOOR, LEVELS, {"kinds": {"y": "ordered"}, "estimator": "dwls"}, scale=PLAIN_SCALE),
        Kind(
            "latent",
            "latent F; z -> F; F -> {b, c, y}; F -> a [1]",
            FACTOR_ROWS,
            cause="z",
            given="a",
            edges=("F -> b",),
            scale=FACTOR_SCALE,
        ),
        Kind("groups", FRONT_DOOR, {**ROWS, "half": HALVES}, {"by": "half"}),
        Kind(
            "together",
            "F =~ a + b + c + y\nF ~ z",
            {**FACTOR_ROWS, "half": HALVES},
            {"by": "half", "equal": ["loadings", "intercepts", "residuals"]},
            ht.fit_together,
            cause="z",
            given="a",
            edges=("F -> b",),
            equal={f"{v} {op}": f"{v} {op}" for v in "abcy" for op in ("~~", "~1")} | {f"F =~ {v}": v for v in "bcy"},
            scale=FACTOR_SCALE,
        ),
        Kind("weights", FRONT_DOOR, {**ROWS, "count": np.arange(160) % 3 + 1}, {"weights": "count"}),
        Kind("sampling", FRONT_DOOR, {**ROWS, "share": np.arange(160) % 5 * 0.5 + 1}, {"sampling_weights": "share"}),
        Kind("clusters", FRONT_DOOR, {**ROWS, "site": np.arange(160) % 40}, {"cluster": "site"}),
        Kind(
            "held",
            FRONT_DOOR,
            ROWS,
            {"coefficients": {"z -> x": 0.8, "x -> m": "k", "m -> y": "k"}, "intercepts": {"z": 0.0}},
            edges=("x -> m", "m -> y"),
            equal={"m ~ x": "k", "y ~ m": "k"},
            scale=dict.fromkeys("zxmy", 3.0),
        ),
    )
}


class Lack(NamedTuple):
    """What is raised in place of a number, words of it, and why; an assertion is what fails for a wrong number."""

    error: type[Exception]
    words: str
    why: str


BEHIND = ("ordered", "ranked", "dwls")
CHANCE = (*BEHIND, "acts")
BY_INFLUENCE = "errors are by influence alone, under another name (issue 46)"
NO_ANSWERS = "groups that share parameters have a table, and no answers (issue 46)"
FOR_ONE_GROUP = "it is there for the fit of one group (issue 46)"


def _each(names: tuple[str, ...], error: type[Exception], words: str, why: str) -> dict[str, Lack]:
    return dict.fromkeys(names, Lack(error, words, why))


def _without(method: str) -> dict[str, Lack]:
    """Fits of groups that do not have a method at all."""
    words = f"object has no attribute '{method}'"
    return {
        "groups": Lack(AttributeError, words, FOR_ONE_GROUP),
        "together": Lack(AttributeError, words, NO_ANSWERS),
    }


NO_INDEX: dict[str, Lack] = {
    "acts": Lack(
        ht.InputError, r"modifications\(\) is not known where", "there are no moments; score tests (issue 47)"
    ),
    "dwls": Lack(ht.InputError, "scores of the likelihood", "the score of the estimator is not written (issue 46)"),
    **_without("modifications"),
}

UNSAVED = r"needs the rows, and they were not saved with this fit: .* save\(path, rows=True\)"

NOT_TODAY: dict[str, dict[str, Lack]] = {
    "value": {
        "dwls": Lack(AssertionError, "assert -8", "that of another fit, by likelihood (issue 46)"),
        "groups": Lack(AttributeError, "loglik", "in the measures of each group, and nowhere the sum (issue 46)"),
    },
    "gradient": {},
    "profile": {
        **_each(CHANCE, ht.InputError, r"profile\(\) is not known where", "profiles are of normal rows (issue 46)"),
        **_without("profile"),
    },
    "nested fits": {
        **_each(CHANCE, ht.InputError, "coefficients cannot be used with kinds", "nothing can be held (issue 47)"),
        "groups": Lack(ht.InputError, "is a graph, not a fit", "fits of groups are not compared (issue 41)"),
        "together": Lack(TypeError, "coefficients", "held in the text alone; not compared either (issue 41)"),
    },
    "observed errors": {
        **_each(CHANCE, ht.InputError, 'interval="delta" is not known where', BY_INFLUENCE),
        "groups": Lack(TypeError, "unexpected keyword argument 'information'", FOR_ONE_GROUP),
    },
    "expected errors": _each(CHANCE, ht.InputError, 'interval="delta" is not known where', BY_INFLUENCE),
    "robust errors": {
        "covariance": Lack(ht.InputError, "needs the rows", "a covariance has none"),
        "groups": Lack(ht.InputError, "is for one group", FOR_ONE_GROUP),
        "together": Lack(TypeError, "unexpected keyword argument 'interval'", NO_ANSWERS),
    },
    "score test": NO_INDEX,
    "robust score test": {
        **NO_INDEX,
        "covariance": Lack(ht.InputError, "needs the rows", "a covariance has none"),
        "latent": Lack(AssertionError, "robust score test", "about zero here, about its mean elsewhere (issue 46)"),
    },
    "saved": {"together": Lack(AttributeError, "no attribute 'save'", "not written (issue 49)")},
    "saved without rows": {
        **_each((*BEHIND, "clusters"), ht.InputError, UNSAVED, "errors need the rows"),
        "sampling": Lack(AssertionError, "'se'", "another error, in silence (issue 41)"),
        "together": Lack(AttributeError, "no attribute 'save'", "not written (issue 49)"),
    },
    "measures without rows": {
        **_each(("ordered", "ranked"), AssertionError, "loglik", "another test, in silence (issue 41)"),
        **_each(("acts", "dwls"), ht.InputError, UNSAVED, "their tests need the rows"),
        "sampling": Lack(UserWarning, "are not at hand", "its test needs the rows"),
        "clusters": Lack(UserWarning, "were not saved with it", "its test needs the rows"),
        "together": Lack(AttributeError, "no attribute 'save'", "not written (issue 49)"),
    },
    "pickled": {},
    "schema": {
        "groups": Lack(KeyError, "DataFrame", "answers by group are a bare table (issue 42)"),
        "together": Lack(AttributeError, "no attribute 'effect'", NO_ANSWERS),
    },
    "table of effects": {
        "dwls": Lack(AssertionError, "effects", "the table has errors of another fit (issues 39 and 46)"),
        "weights": Lack(AssertionError, "effects", "the answer has a profile, the table has not (issue 39)"),
        **_without("effects"),
    },
    "table of parameters": {
        "weights": Lack(AssertionError, "parameters", "the answer has a profile, the table has not (issue 39)"),
        "together": Lack(AttributeError, "no attribute 'query'", NO_ANSWERS),
    },
    "asked twice": {"together": Lack(AttributeError, "no attribute 'effect'", NO_ANSWERS)},
    "bootstrap": {
        "covariance": Lack(ht.InputError, "needs the rows", "a covariance has none"),
        "groups": Lack(TypeError, "unexpected keyword argument 'replicates'", FOR_ONE_GROUP),
        "together": Lack(TypeError, "unexpected keyword argument 'interval'", NO_ANSWERS),
    },
    "errors of answers": {
        **_each(CHANCE, ht.InputError, 'interval="delta" is not known where', BY_INFLUENCE),
        "groups": Lack(TypeError, "unexpected keyword argument 'information'", FOR_ONE_GROUP),
        "together": Lack(AttributeError, "no attribute 'query'", NO_ANSWERS),
    },
    "robust errors of answers": {
        "acts": Lack(AssertionError, "Not equal to tolerance", "as if districts varied by themselves (issue 47)"),
        "covariance": Lack(ht.InputError, "needs the rows", "a covariance has none"),
        "groups": Lack(ht.InputError, "is for one group", FOR_ONE_GROUP),
        "together": Lack(AttributeError, "no attribute 'query'", NO_ANSWERS),
    },
    "jackknife": {
        "covariance": Lack(ht.DataError, "cluster goes with rows", "a covariance has none"),
        "acts": Lack(ht.InputError, 'interval="jackknife" is not known where', "not written (issue 47)"),
        "groups": Lack(ht.InputError, "is for one group", FOR_ONE_GROUP),
        "together": Lack(TypeError, "unexpected keyword argument 'cluster'", NO_ANSWERS),
    },
    "order": {},
    "repeated rows": {
        "sampling": Lack(ht.DataError, "give either weights", "a row of a survey does not count rows"),
    },
    "groups apart": {
        "covariance": Lack(ValueError, "truth value of an array", "a raw error (issue 42)"),
    },
    "units": {},
}


def lacking(mechanism: str, kind: Kind) -> AbstractContextManager[object]:
    """Around what a test asserts of a kind: nothing, or the assertion that the kind still lacks it."""
    lack = NOT_TODAY[mechanism].get(kind.name)
    return nullcontext() if lack is None else pytest.raises(lack.error, match=lack.words)
