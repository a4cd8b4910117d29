"""One random model: a sample of it, halftrek's fit, the plain loop from the truth, and which is higher.

Both likelihoods are worked out here from mean and covariance, row by row, so that no constant and no shortcut of either
side counts. With ordered columns both climb the normal likelihood of the correlations behind them, or least squares
with the weights of the fit.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

import halftrek as ht
from benchmarks.maxima.drawn import Drawn
from benchmarks.maxima.kinds import KINDS
from benchmarks.maxima.loop import LOG_2PI, Ended, Piece, Problem, Weights, borders, maximum
from benchmarks.maxima.model import Entry, Model, Shape, rows_of, shapes, text_of
from halftrek.estimation.dwls import weights_of
from halftrek.estimation.space import make_space
from halftrek.estimation.status import troubles

LOWER = 1e-6  # of a log-likelihood
MOST = 5000  # rows
DIGITS = 2.5  # a unit is at most so many powers of ten from one


@dataclass(frozen=True)
class Sample:
    """A model in the units of its columns, and rows of each group."""

    drawn: Drawn
    models: tuple[Model, ...]
    rows: tuple[np.ndarray, ...]
    units: tuple[float, float]

    @property
    def text(self) -> str:
        """The model for halftrek; what groups hold equal is said beside it."""
        first = self.models[0]
        if len(self.models) > 1:
            first = replace(first, entries=tuple(replace(e, label="") for e in first.entries))
        return text_of(first)


@dataclass(frozen=True)
class Trial:
    """What came of one model; ``difference`` is halftrek's log-likelihood less the loop's."""

    kind: str
    seed: int
    n: int
    scale: tuple[float, float]  # smallest and largest unit
    p: int
    df: int
    difference: float | None
    status: str  # of halftrek's fit, or why there is none
    warned: bool
    refused: bool
    loop: str  # inside, border, unsettled, none
    left: float | None  # what another step of the loop promises
    gap: float | None  # what the border may be worth beyond its end
    seconds: tuple[float, float]  # halftrek, the loop

    @property
    def lower(self) -> bool:
        """True if the loop found a higher point of the same model."""
        return self.difference is not None and self.difference <= -LOWER

    @property
    def higher(self) -> bool:
        """True if halftrek found the higher one."""
        return self.difference is not None and self.difference >= LOWER

    @property
    def claimed(self) -> bool:
        """True if it is lower and its status is one of a fit that converged, with a warning or without."""
        return self.lower and self.status in ("converged", "flat", "boundary")

    @property
    def silent(self) -> bool:
        """True if it is lower and nothing in its status speaks against it."""
        return self.claimed and not self.warned

    @property
    def name(self) -> str:
        """What it is called in files of results."""
        return f"{self.kind} {self.seed}"


def sample(kind: str, seed: int) -> Sample:
    """The model of this number, always the same, and its rows."""
    rng = np.random.default_rng([20261120, crc32(kind.encode()), seed])
    drawn = KINDS[kind](rng)
    families = sorted(set(drawn.families.values()) - {""})
    unit = dict(zip(families, 10.0 ** rng.uniform(-DIGITS, DIGITS, len(families)), strict=True)) | {"": 1.0}
    units = {v: float(unit[family]) for v, family in drawn.families.items()}
    models = tuple(model.in_units(units) for model in drawn.models)
    n = int(np.exp(rng.uniform(np.log(drawn.fewest), np.log(MOST))))
    sizes = np.full(len(models), max(n // len(models), drawn.fewest))
    rows = tuple(_spoiled(rows_of(m, int(k), rng), m, drawn, rng) for m, k in zip(models, sizes, strict=True))
    used = [units[v] for v in models[0].seen]
    return Sample(drawn, models, rows, (min(used), max(used)))


def _spoiled(rows: np.ndarray, model: Model, drawn: Drawn, rng: np.random.Generator) -> np.ndarray:
    """Rows with holes, that depend on the first column, and with columns cut into categories."""
    rows = rows.copy()
    for j, v in enumerate(model.seen):
        if v in drawn.cuts:
            ranks = rows[:, j].argsort().argsort()
            rows[:, j] = np.searchsorted(np.array(drawn.cuts[v]), (ranks + 0.5) / len(rows))
    if drawn.holes:
        more = np.where(rows[:, 0] > np.median(rows[:, 0]), 1.5, 0.5)[:, None]
        holes = rng.random(rows.shape) < drawn.holes * more
        holes[:, 0] = False
        rows[holes] = np.nan
    return rows


def tried(kind: str, seed: int) -> Trial:
    """Fit one sample both ways, and compare."""
    taken = sample(kind, seed)
    found, truth = shapes(taken.models)
    p = len(taken.models[0].seen)
    df = len(taken.models) * p * (p + 3) // 2 - len(truth)
    least, most = (float(f"{unit:.2g}") for unit in taken.units)
    facts = kind, seed, sum(map(len, taken.rows)), (least, most), p, df
    began = time.perf_counter()
    fit, why = fitted(taken)
    middle = time.perf_counter()
    data = criteria(taken, fit)
    ended = None if data is None else looped(taken, found, truth, data)
    times = round(middle - began, 3), round(time.perf_counter() - middle, 3)
    loop, left, gap = "none", None, None
    if ended is not None:
        loop = "unsettled" if not ended.settled else "border" if ended.border else "inside"
        left, gap = float(f"{ended.left:.1e}"), float(f"{ended.gap:.1e}")
    if fit is None:
        return Trial(*facts, None, why, True, ended is not None, loop, left, gap, times)
    refuse_another_model(taken, fit)
    if ended is None or data is None:
        return Trial(*facts, None, _code(fit), _warned(fit), False, loop, left, gap, times)
    mine = sum(height(d, *s.moments(ended.theta)) for s, d in zip(found, data, strict=True))
    theirs = sum(height(d, *moments) for d, moments in zip(data, moments_of(fit, taken.models[0].seen), strict=True))
    return Trial(*facts, float(f"{theirs - mine:.6g}"), _code(fit), _warned(fit), False, loop, left, gap, times)


Fit = ht.Fit | ht.FitsTogether
Data = np.ndarray | Piece | Weights


def fitted(taken: Sample) -> tuple[Fit | None, str]:
    """halftrek's fit, or why there is none."""
    seen, drawn = taken.models[0].seen, taken.drawn
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if len(taken.rows) > 1:
                columns = dict(zip(seen, np.concatenate(taken.rows).T, strict=True))
                columns["group"] = np.repeat(np.arange(len(taken.rows)), [len(rows) for rows in taken.rows])
                return ht.fit_together(taken.text, columns, by="group", equal=drawn.equal), ""
            graph = ht.from_lavaan(taken.text, "sem")
            columns = dict(zip(seen, taken.rows[0].T, strict=True))
            kinds = dict.fromkeys(drawn.cuts, "ordered") or None
            return ht.fit(graph, columns, kinds=kinds, estimator="dwls" if drawn.weighted else "ml"), ""
        except ht.HalftrekError as error:
            return None, " ".join(str(error).split())[:120]


def moments_of(fit: Fit, seen: tuple[str, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The mean and covariance of what is seen, of each group, as halftrek has them."""
    models = [fit.model] if isinstance(fit, ht.Fit) else list(fit.models.values())
    found = []
    for model in models:
        at = [model.names.index(v) for v in seen]
        found.append((model.mean[at], model.cov[np.ix_(at, at)]))
    return found


def refuse_another_model(taken: Sample, fit: Fit) -> None:
    """Raise unless halftrek's fit is a point of the same model, with as many parameters."""
    seen = taken.models[0].seen
    scms = [fit.model] if isinstance(fit, ht.Fit) else list(fit.models.values())
    read = [_read(model, scm) for model, scm in zip(taken.models, scms, strict=True)]
    found, theta = shapes(read)
    for shape, (mean, cov) in zip(found, moments_of(fit, seen), strict=True):
        own, sd = shape.moments(theta), np.sqrt(np.diag(cov))
        off = max(np.abs((own[0] - mean) / sd).max(), np.abs((own[1] - cov) / np.outer(sd, sd)).max())
        if off > 1e-6:
            raise ValueError(f"halftrek's fit is no point of this model, {off:.1e} away:\n{taken.text}")
    if isinstance(fit, ht.Fit):
        size = make_space(fit.graph.opened, fit.model.names, fit.options).size
        if size != len(theta):
            raise ValueError(f"halftrek's model has {size} parameters, this one {len(theta)}:\n{taken.text}")


def _read(model: Model, scm: ht.CGLSCM) -> Model:
    """The model with halftrek's values for what is free."""
    at = {v: i for i, v in enumerate(scm.names)}

    def value(e: Entry) -> float:
        if e.part == "m":
            return float(scm.mu[at[e.row]])
        if e.part == "S":
            return float(scm.W[at[e.row], at[e.col]])
        if e.col in scm.latents:
            return float(scm.C[scm.latents.index(e.col), at[e.row]])
        return float(scm.T[at[e.col], at[e.row]])

    return replace(model, entries=tuple(e if e.held else replace(e, value=value(e)) for e in model.entries))


def criteria(taken: Sample, fit: Fit | None) -> list[Data] | None:
    """What is to be as high as can be, of each group: rows, or moments; None if only a fit would say it."""
    if not taken.drawn.cuts:
        return list(taken.rows)
    if not isinstance(fit, ht.Fit):
        return None
    at = [fit.moments.names.index(v) for v in taken.models[0].seen]
    n, cov, mean = fit.n, fit.moments.cov[np.ix_(at, at)], fit.moments.mean[at]
    if not taken.drawn.weighted:
        return [Piece(np.arange(len(mean)), n, mean, cov)]
    weights = np.zeros_like(cov)
    weights[np.triu_indices(len(cov))] = weights_of(fit)
    weights = np.maximum(weights, weights.T)[np.ix_(at, at)]
    return [Weights(n, cov, weights[np.triu_indices(len(cov))])]


def looped(taken: Sample, found: Sequence[Shape], truth: np.ndarray, data: Sequence[Data]) -> Ended | None:
    """The plain loop. Least squares have no borders here, as halftrek's have none.

    Variances that are one by convention are met exactly by error variances, which move nothing else: at the end.
    """
    if isinstance(data[0], Weights):
        (shape,), cut = found, [j for j, v in enumerate(taken.models[0].seen) if v in taken.drawn.cuts]
        i, j = np.triu_indices(shape.seen)
        rest = replace(data[0], weights=np.where((i == j) & np.isin(i, cut), 0.0, data[0].weights))
        ended = maximum(Problem((shape,), (rest,), ()), truth)
        if ended is None:
            return None
        theta = ended.theta.copy()
        for v in cut:
            theta[shape.moves[1][:, v, v] != 0.0] += (data[0].cov - shape.moments(ended.theta)[1])[v, v]
        return replace(ended, theta=theta)
    pieces = [[one] if isinstance(one, Piece) else patterns(one) for one in data if not isinstance(one, Weights)]
    blocks = [
        block
        for shape, one in zip(found, data, strict=True)
        if not isinstance(one, Weights)
        for block in borders(shape, variances(shape, truth, one))
    ]
    return maximum(Problem(tuple(found), tuple(pieces), tuple(blocks)), truth)


def patterns(rows: np.ndarray) -> list[Piece]:
    """Rows by what they have."""
    kinds, which = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    found = []
    for k, seen in enumerate(kinds):
        own, at = rows[which.ravel() == k][:, seen], np.flatnonzero(seen)
        found.append(Piece(at, float(len(own)), own.mean(axis=0), np.cov(own.T, ddof=0).reshape(len(at), len(at))))
    return [piece for piece in found if len(piece.seen)]


def variances(shape: Shape, truth: np.ndarray, data: np.ndarray | Piece) -> np.ndarray:
    """Of seen and hidden variables: what floors are shares of, the larger of what halftrek may take.

    It takes the data's of seen variables, the least of these for hidden ones, and of groups those of a first fit.
    """
    A, S, _ = shape.at(truth)
    E = np.linalg.inv(np.eye(len(A)) - A)
    own = np.diag(data.cov) if isinstance(data, Piece) else np.nanvar(data, axis=0)
    rough = np.append(own, np.full(len(A) - len(own), own.min()))
    return np.asarray(np.maximum(rough, np.diag(E @ S @ E.T)))


def height(data: Data, mean: np.ndarray, cov: np.ndarray) -> float:
    """The criterion at a mean and covariance, by its definition."""
    if isinstance(data, Weights):
        gap = (data.cov - cov)[np.triu_indices(len(cov))]
        return float(-0.5 * data.n * (data.weights * gap**2).sum())
    if isinstance(data, Piece):
        about = data.cov + np.outer(data.mean - mean, data.mean - mean)
        inside = np.trace(np.linalg.solve(cov, about))
        return float(-0.5 * data.n * (len(mean) * LOG_2PI + np.linalg.slogdet(cov)[1] + inside))
    value = 0.0
    for kind in np.unique(~np.isnan(data), axis=0):
        own = data[(~np.isnan(data) == kind).all(axis=1)][:, kind] - mean[kind]
        inner = cov[np.ix_(kind, kind)]
        squares = (own * np.linalg.solve(inner, own.T).T).sum()
        value -= 0.5 * (len(own) * (kind.sum() * LOG_2PI + np.linalg.slogdet(inner)[1]) + squares)
    return float(value)


def _code(fit: Fit) -> str:
    if isinstance(fit, ht.Fit):
        return fit.status.code
    return "not converged" if not fit.converged else "boundary" if fit.at_zero else "converged"


def _warned(fit: Fit) -> bool:
    """True if the status says anything against the fit."""
    if isinstance(fit, ht.Fit):
        return bool(troubles(fit.status, fit.districts))
    return not fit.converged or bool(fit.at_zero)
