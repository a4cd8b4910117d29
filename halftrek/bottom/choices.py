"""Choices that users have, by name, each spelt out once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypedDict

Interval = Literal["delta", "t", "robust", "sandwich", "jackknife", "bootstrap", "parametric", "profile", "influence"]
SetInterval = Literal["likelihood", "stoye"]  # of a set of values
Redraw = Literal["bootstrap", "parametric", "jackknife"]  # intervals from fits of other data sets
Ends = Literal["percentile", "bca"]
Information = Literal["expected", "observed"]
RobustTest = Literal["yuan-bentler", "satorra-bentler"]
Scoring = Literal["regression", "bartlett"]  # of hidden variables
Invariant = Literal["configural", "metric", "scalar", "strict"]  # what is equal in all groups
Equal = Literal[  # kinds of parameters that are equal in all groups, by lavaan's names
    "loadings", "intercepts", "means", "regressions", "residuals", "residual.covariances", "lv.variances",
    "lv.covariances",
]  # fmt: skip
Multiplicity = Literal["holm", "bh", "none"]
EffectKind = Literal["all", "direct", "indirect", "total", "through"]
Unidentified = Literal["raise", "nan"]
Missing = Literal["fiml", "drop", "error"]
ColumnKind = Literal["plain", "ordered", "ranked", "behind", "acts"]
Divisor = Literal["n", "n-1"]
Method = Literal["em", "cgl-go"]
Estimator = Literal["ml", "dwls"]
Mask = Literal["edge", "ancestor"]
Noise = Literal["free", "unit"] | Mapping[str, float]
Intercepts = Literal["free", "zero"] | Mapping[str, float]
ErrorKind = Literal["uncorrelated", "independent"]
Beyond = Literal["correlation", "linearity"]
Scope = Literal["linear", "nonparametric", "non-normal"]
Syntax = Literal["arrows", "lavaan", "dagitty", "dot"]
AnySyntax = Literal["auto", Syntax]
LavaanFunction = Literal["sem", "cfa", "growth"]


class Bounding(TypedDict, total=False):
    """What bounds may be told; ``assume`` and ``constraints`` are texts of assumptions, or assumptions as values."""

    assume: str | Iterable[object]
    level: float
    interval: SetInterval | None
    constraints: str | Iterable[object] | None
