"""Rows of known models, and what is done to them: values that are missing, clusters, groups, cut columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

N = 300


def linear(
    seed: int = 1, n: int = N, confounded: bool = False, direct: float = 0.4, skew: bool = False
) -> pd.DataFrame:
    """A cause with a mediator, a common cause w and an instrument z; x's total effect on y is .24 + direct."""
    r = np.random.default_rng(seed)

    def e() -> np.ndarray:
        return r.exponential(size=n) - 1 if skew else r.normal(size=n)

    z, w, u = e(), e(), e() * (0.7 if confounded else 0.0)
    x = 0.7 * z + 0.5 * w + e() + u
    m = 0.6 * x + e()
    y = 0.4 * m + direct * x + 0.4 * w + e() + u
    return pd.DataFrame({"z": z, "w": w, "x": x, "m": m, "y": y})


def factors(seed: int = 2, n: int = N) -> pd.DataFrame:
    """A factor F with three items, which x acts on and which acts on y; x's total effect on y is .6."""
    r = np.random.default_rng(seed)

    def e() -> np.ndarray:
        return r.normal(size=n)

    x, w = e(), e()
    F = 0.5 * x + e()
    d = {"x": x, "w": w}
    for k, c in zip("abc", (1.0, 0.8, 0.7), strict=True):
        d[k] = c * F + 0.7 * e()
    d["y"] = 0.6 * F + 0.3 * x + 0.3 * w + e()
    return pd.DataFrame(d)


def cfa(seed: int = 3, n: int = N) -> pd.DataFrame:
    """Two correlated factors with three items each."""
    r = np.random.default_rng(seed)
    F = r.normal(size=n)
    G = 0.5 * F + 0.87 * r.normal(size=n)
    d = {k: c * F + 0.7 * r.normal(size=n) for k, c in zip("abc", (1.0, 0.8, 0.7), strict=True)}
    d |= {k: c * G + 0.7 * r.normal(size=n) for k, c in zip("def", (1.0, 0.8, 0.7), strict=True)}
    return pd.DataFrame(d)


def holes(frame: pd.DataFrame, columns: Sequence[str], share: float = 0.12, seed: int = 5) -> pd.DataFrame:
    """Values that are missing completely at random."""
    r, frame = np.random.default_rng(seed), frame.copy()
    for c in columns:
        frame[c] = frame[c].astype(float).where(r.random(len(frame)) > share)
    return frame


def grouped(frame: pd.DataFrame) -> pd.DataFrame:
    """Two groups, A and B, in turns."""
    return frame.assign(g=np.array(["A", "B"])[np.arange(len(frame)) % 2])


def clustered(frame: pd.DataFrame, size: int = 6, name: str = "g", on: Sequence[str] = ("y", "m")) -> pd.DataFrame:
    """Clusters of neighbouring rows that share a part of some columns."""
    r = np.random.default_rng(9)
    label = np.arange(len(frame)) // size
    frame = frame.copy()
    for c in on:
        frame[c] = frame[c] + 0.5 * r.normal(size=label.max() + 1)[label]
    return frame.assign(**{name: label})


def cut(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Columns in four ordered levels."""
    return frame.assign(**{c: np.digitize(frame[c], (-1.0, 0.0, 1.0)) for c in columns})
