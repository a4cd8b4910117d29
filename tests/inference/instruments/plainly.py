"""The slow, obvious way: regressions on rows with every column in them, one formula after the other."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Array = np.ndarray
PLACE = Path(__file__).parents[2] / "reference" / "instruments"


def stored_rows() -> dict[str, Array]:
    with (PLACE / "instruments.csv").open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


@dataclass(frozen=True, eq=False)
class Plain:
    """An equation as textbooks write it; ``groups`` are clusters."""

    y: Array
    X: Array
    Z: Array
    W: Array  # controls, without the constant
    groups: Array | None = None

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def exogenous(self) -> Array:
        return np.column_stack([np.ones(self.n), self.W])

    def meat(self, scores: Array) -> Array:
        """The sum of squares of rows, or of clusters."""
        if self.groups is not None:
            scores = np.array([scores[self.groups == g].sum(axis=0) for g in np.unique(self.groups)])
        return scores.T @ scores

    def correction(self, k: int) -> float:
        if self.groups is None:
            return self.n / (self.n - k)
        g = len(np.unique(self.groups))
        return g / (g - 1) * (self.n - 1) / (self.n - k)

    def regression(self, y: Array, columns: Array, robust: bool) -> tuple[Array, Array]:
        """Slopes and their covariance matrix."""
        bread = np.linalg.inv(columns.T @ columns)
        slopes = bread @ columns.T @ y
        rest = y - columns @ slopes
        k = columns.shape[1]
        if not robust:
            return slopes, bread * (rest @ rest) / (self.n - k)
        return slopes, bread @ self.meat(columns * rest[:, None]) @ bread * self.correction(k)

    def first_stage(self, cause: int, robust: bool) -> tuple[float, float]:
        """The F of the instruments, and Montiel Olea's and Pflueger's from its own definition."""
        K = self.Z.shape[1]
        columns = np.column_stack([self.Z, self.exogenous])
        slopes, cov = self.regression(self.X[:, cause], columns, robust)
        F = slopes[:K] @ np.linalg.solve(cov[:K, :K], slopes[:K]) / K
        # instruments without the controls, with the unit matrix as their covariance
        tools = self.Z - self.exogenous @ np.linalg.lstsq(self.exogenous, self.Z, rcond=None)[0]
        values, vectors = np.linalg.eigh(tools.T @ tools / self.n)
        tools = tools @ vectors / np.sqrt(values)
        slopes, cov = self.regression(self.X[:, cause], np.column_stack([tools, self.exogenous]), robust)
        return float(F), float(slopes[:K] @ slopes[:K] / np.trace(cov[:K, :K]))

    def tsls(self, robust: bool) -> tuple[Array, Array, Array]:
        """Slopes of the causes, their errors, and what is left of y."""
        columns = np.column_stack([self.X, self.exogenous])
        tools = np.column_stack([self.Z, self.exogenous])
        projected = tools @ np.linalg.lstsq(tools, columns, rcond=None)[0]
        bread = np.linalg.inv(projected.T @ projected)
        slopes = bread @ projected.T @ self.y
        rest = self.y - columns @ slopes
        k, m = columns.shape[1], self.X.shape[1]
        if robust:
            cov = bread @ self.meat(projected * rest[:, None]) @ bread * self.correction(k)
        else:
            cov = bread * (rest @ rest) / (self.n - k)
        return slopes[:m], np.sqrt(np.diag(cov))[:m], rest

    def j(self, robust: bool) -> float:
        """n times the minimum of two-step GMM, with all columns among the moments."""
        columns = np.column_stack([self.X, self.exogenous])
        tools = np.column_stack([self.Z, self.exogenous])
        rest = self.tsls(robust)[2]
        spread = self.meat(tools * rest[:, None]) if robust else tools.T @ tools * (rest @ rest) / self.n
        weight = np.linalg.inv(spread / self.n)
        A, b = tools.T @ columns / self.n, tools.T @ self.y / self.n
        slopes = np.linalg.solve(A.T @ weight @ A, A.T @ weight @ b)
        gap = b - A @ slopes
        return float(self.n * gap @ weight @ gap)

    def wu_hausman(self, robust: bool) -> float:
        """The F of the first stages' residuals beside the causes."""
        m = self.X.shape[1]
        tools = np.column_stack([self.Z, self.exogenous])
        left = self.X - tools @ np.linalg.lstsq(tools, self.X, rcond=None)[0]
        slopes, cov = self.regression(self.y, np.column_stack([left, self.X, self.exogenous]), robust)
        return float(slopes[:m] @ np.linalg.solve(cov[:m, :m], slopes[:m]) / m)

    def anderson_rubin(self, value: float, robust: bool) -> float:
        """The F of the instruments in the regression of ``y - x value``."""
        K = self.Z.shape[1]
        columns = np.column_stack([self.Z, self.exogenous])
        slopes, cov = self.regression(self.y - self.X[:, 0] * value, columns, robust)
        return float(slopes[:K] @ np.linalg.solve(cov[:K, :K], slopes[:K]) / K)
