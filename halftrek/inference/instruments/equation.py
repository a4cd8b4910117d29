"""One equation with its instruments in numbers: what is left of all variables without the controls.

Outcome y, causes X (m of them), instruments Z (K), controls W (L, and a constant). By the theorem of Frisch, Waugh and
Lovell everything here is the same whether W stands in every regression or is taken out of y, X and Z before. Then

- first stage: ``π = Szz⁻¹ Szx``, what is left ``v = x - z'π``; the same for y (reduced form);
- two-stage least squares: ``b = (Sxz Szz⁻¹ Szx)⁻¹ Sxz Szz⁻¹ Szy``, what is left ``u = y - x'b``;
- endogeneity (Durbin, Wu, Hausman): the slopes of v in the regression of y on X and v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.data import Moments
from halftrek.errors import DataError

TINY = 1e-10  # share of a variance that is left where the others determine a variable


@dataclass(frozen=True, eq=False)
class Equation:
    """Moments of the rows for one outcome, its causes, instruments and controls."""

    moments: Moments
    outcome: str
    causes: tuple[str, ...]
    instruments: tuple[str, ...]
    controls: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.n <= 1 + len(self.controls) + len(self.instruments) + len(self.causes):
            raise DataError(
                f"{self.n:.4g} rows are too few for {len(self.instruments)} instruments and {len(self.controls)} "
                f"controls of {self.outcome!r}; name fewer, or bring more rows"
            )
        sd = np.sqrt(np.diag(self.moments.select(self.ends).cov))
        left = np.sqrt(np.maximum(np.diag(self.S), 0.0))
        for v, whole, rest in zip(self.ends, sd, left, strict=True):
            if rest <= np.sqrt(TINY) * whole:
                raise DataError(f"the controls determine {v!r}, so that nothing of it is left to tell; leave it out")

    @property
    def n(self) -> float:
        """Number of rows."""
        return self.moments.n

    @property
    def ends(self) -> tuple[str, ...]:
        """All variables but the controls."""
        return (self.outcome, *self.causes, *self.instruments)

    @property
    def names(self) -> tuple[str, ...]:
        """All variables."""
        return (*self.ends, *self.controls)

    @property
    def first_free(self) -> float:
        """Degrees of freedom of the first stage."""
        return self.n - 1 - len(self.controls) - len(self.instruments)

    @property
    def second_free(self) -> float:
        """Degrees of freedom of the equation itself."""
        return self.n - 1 - len(self.controls) - len(self.causes)

    @property
    def spare(self) -> int:
        """How many more instruments than causes."""
        return len(self.instruments) - len(self.causes)

    @cached_property
    def without_controls(self) -> Floats:
        """One column for each of ``ends``: itself less what the controls explain, in the order of ``names``."""
        cov = self.moments.select(self.names).cov
        count = len(self.ends)
        explained = np.linalg.lstsq(cov[count:, count:], cov[count:, :count], rcond=None)[0]
        return np.vstack([np.eye(count), -explained])

    @cached_property
    def S(self) -> Floats:
        """Covariances (divisor n) of ``ends`` without the controls."""
        cov = self.moments.select(self.names).cov
        return np.asarray(self.without_controls.T @ cov @ self.without_controls)

    def _at(self, which: str) -> slice:
        start = 1 + len(self.causes)
        return {"y": slice(0, 1), "x": slice(1, start), "z": slice(start, None), "yx": slice(0, start)}[which]

    def part(self, rows: str, columns: str) -> Floats:
        """A block of ``S``: "y", "x", "z", or "yx" for outcome and causes together."""
        return self.S[self._at(rows), self._at(columns)]

    @cached_property
    def first_stage(self) -> Floats:
        """Slopes of the instruments in the outcome and in each cause, one column each."""
        return np.linalg.solve(self.part("z", "z"), self.part("z", "yx"))

    @cached_property
    def left(self) -> Floats:
        """Covariances of what the first stage leaves of outcome and causes."""
        return np.asarray(self.part("yx", "yx") - self.part("yx", "z") @ self.first_stage)

    @cached_property
    def explained(self) -> Floats:
        """Covariances of what the instruments explain of the causes."""
        return np.asarray(self.part("x", "z") @ self.first_stage[:, 1:])

    @cached_property
    def slopes(self) -> Floats:
        """Two-stage least squares."""
        return np.linalg.solve(self.explained, self.first_stage[:, 1:].T @ self.part("z", "y")[:, 0])

    @property
    def error_variance(self) -> float:
        """Mean square of what two-stage least squares leaves."""
        taken = np.concatenate([[1.0], -self.slopes])
        return float(taken @ self.part("yx", "yx") @ taken)

    @property
    def partial_r2(self) -> Floats:
        """What the instruments explain of each cause beside the controls."""
        return np.asarray(np.diag(self.explained) / np.diag(self.part("x", "x")))

    @property
    def shea_r2(self) -> Floats:
        """The same beside the other causes too (Shea 1997): what is left to tell this cause from the others."""
        own, left = (np.diag(np.linalg.inv(block)) for block in (self.part("x", "x"), self.explained))
        return np.asarray(own / left)

    @property
    def cragg_donald(self) -> float:
        """The first-stage F of the weakest combination of the causes (Cragg and Donald 1993)."""
        ratios = np.linalg.eigvals(np.linalg.solve(self.left[1:, 1:], self.explained)).real
        return float(ratios.min() * self.first_free / len(self.instruments))

    # -- variables as sums of the columns of rows, in the order of ``names`` ---------------------------------

    def forms(self, weights: Floats) -> Floats:
        """Sums of ``ends`` (one column of weights each) as sums of columns of the rows."""
        return np.asarray(self.without_controls @ weights)

    @cached_property
    def z(self) -> Floats:
        """The instruments without the controls."""
        return self.forms(np.eye(len(self.ends))[:, self._at("z")])

    @cached_property
    def v(self) -> Floats:
        """What the first stage leaves of outcome and causes."""
        return self.forms(np.vstack([np.eye(1 + len(self.causes)), -self.first_stage]))

    @cached_property
    def u(self) -> Floats:
        """What two-stage least squares leaves."""
        return self.forms(np.concatenate([[1.0], -self.slopes, np.zeros(len(self.instruments))])[:, None])

    @cached_property
    def added(self) -> tuple[Floats, Floats, Floats]:
        """The regression that tests endogeneity: slopes of v, v without all other regressors, what it leaves of y."""
        m, K = len(self.causes), len(self.instruments)
        x = np.vstack([np.zeros((1, m)), np.eye(m), np.zeros((K, m))])
        v = np.vstack([np.zeros((1, m)), np.eye(m), -self.first_stage[:, 1:]])
        alone = v - x @ np.linalg.solve(x.T @ self.S @ x, x.T @ self.S @ v)
        y = np.eye(1 + m + K)[:, :1]
        both = np.hstack([x, v])
        slopes = np.linalg.solve(both.T @ self.S @ both, both.T @ self.S @ y)
        return slopes[m:, 0], alone, y - both @ slopes
