"""A model that has a given answer and obeys, by Newton steps in all weights of the graph.

The coordinates of the fibre are some of the weights, and the others follow from them; where they do not (at a pole),
where claims touch in one place, or where equations leave points alone, a place in the coordinates is no model, or none
that is known to enough digits. Here every weight and loading moves: the equations of the graph, the assumptions and the
answer are solved together, inequalities as far as they are broken (Gauss and Newton's steps of least length).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halftrek.bottom.arrays import Flags, Floats
from halftrek.errors import HalftrekError
from halftrek.models import CGLSCM
from halftrek.models.kernels import quiet
from halftrek.partial.assumptions import Conditions, State
from halftrek.partial.fibre import Fibre
from halftrek.partial.fibre.models import FibreModels
from halftrek.queries import Query
from halftrek.queries.evaluate import values_of

_STEPS = 40
_MOVE = 1e-6  # by which weights are moved for slopes, in their units
_DONE = 1e-9  # of equations, assumptions and the answer, each in its own size
_FAR = 1e5  # units: farther out covariances have few digits


@dataclass(frozen=True, eq=False)
class Showing:
    """A question and assumptions on a fibre, asked about all weights at once."""

    query: Query
    fibre: Fibre
    held: Conditions

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Causes and effects whose weight or loading is not held."""
        return [(i, c.at) for c in self.fibre.plan.columns for i in (*c.solved, *(i for i, _ in c.free))]

    @cached_property
    def units(self) -> Floats:
        """About one standard deviation of the effect per one of the cause, of each."""
        sd = np.sqrt(np.abs(np.diag(self.fibre.plan.form)))
        return np.array([sd[j] / sd[i] for i, j in self.places])

    @cached_property
    def pairs(self) -> tuple[list[int], list[int]]:
        """Pairs of variables whose error covariance is known."""
        p = len(self.fibre.plan.names)
        found = [(i, j) for j in range(p) for i in range(j) if not np.isnan(self.fibre.plan.known[i, j])]
        return [i for i, _ in found], [j for _, j in found]

    def model(self, value: float | None, starts: Iterable[Floats]) -> CGLSCM | None:
        """A model with this answer, None for any, that obeys: from the first place on the fibre that leads to one."""
        if any(c.tied for c in self.fibre.plan.columns):
            return None
        with quiet():
            for u in starts:
                columns = self.fibre.columns(u)
                if np.isfinite(columns).all() and np.abs(columns).max(initial=0.0) < _FAR:
                    found = self._solved(columns, value)
                    if found is not None:
                        return found
        return None

    def _solved(self, columns: Floats, value: float | None) -> CGLSCM | None:
        rows, across = [i for i, _ in self.places], [j for _, j in self.places]
        w = -columns[rows, across] / self.units
        gap, broken = self._gap(columns, w, value)
        for _ in range(_STEPS):
            if gap is None or broken is None:
                return None
            size = float(np.abs(gap[broken]).max(initial=0.0))
            if size < _DONE:
                return self._models(self._placed(columns, w)).one()
            moved = self._slopes(columns, w, value)
            if moved is None:
                return None
            step = np.linalg.lstsq(moved[broken], -gap[broken], rcond=1e-10)[0]
            step *= min(1.0, max(1.0, float(np.abs(w).max())) / max(float(np.abs(step).max()), 1e-300))
            for _ in range(5):
                tried, failing = self._gap(columns, w + step, value)
                if tried is not None and float(np.abs(tried[failing]).max(initial=0.0)) < size:
                    break
                step = 0.5 * step
            w = w + step
            gap, broken = tried, failing
        return None

    def _placed(self, columns: Floats, w: Floats) -> Floats:
        found = np.broadcast_to(columns, (*w.shape[:-1], *columns.shape)).copy()
        for k, (i, j) in enumerate(self.places):
            found[..., i, j] = -w[..., k] * self.units[k]
        return found

    def _models(self, columns: Floats) -> FibreModels:
        return self.fibre.models_of(columns)

    def _gap(self, columns: Floats, w: Floats, value: float | None) -> tuple[Floats | None, Flags | None]:
        """What is missing, and which of it is broken; None where a model has no answer."""
        raw = self._raw(columns, w, value)
        if raw is None or not np.isfinite(raw).all():
            return None, None
        equal = np.ones(len(raw), dtype=bool)
        first = len(self.pairs[0]) + (value is not None)
        equal[first:] = False
        equal[first : first + len(self.held)] = self.held.equal
        return raw, equal | (raw > 0.0)

    def _slopes(self, columns: Floats, w: Floats, value: float | None) -> Floats | None:
        moves = _MOVE * np.maximum(1.0, np.abs(w))
        both = np.concatenate([w + np.diag(moves), w - np.diag(moves)])
        raw = self._raw(columns, both, value)
        if raw is None or not np.isfinite(raw).all():
            return None
        n = len(w)
        return np.asarray((raw[:n] - raw[n:]).T / (2.0 * moves))

    def _raw(self, columns: Floats, w: Floats, value: float | None) -> Floats | None:
        """Equations of the graph, the answer, assumptions, and noise: ``(..., m)``, at most zero or zero."""
        there = self._placed(columns, w)
        models = self._models(there)
        form, known = self.fibre.plan.form, self.fibre.plan.known
        first, second = self.pairs
        sd = np.sqrt(np.einsum("...ii->...i", models.omega))
        whole = np.swapaxes(there, -1, -2) @ form @ there
        gaps = (whole[..., first, second] - known[first, second]) / (sd[..., first] * sd[..., second])
        held = self.held.values(State(models.T, models.omega, self.fibre.sigma, models.noise))
        noise = -models.noise / np.diag(self.fibre.sigma) if self.fibre.plan.latents else models.noise[..., :0]
        if value is None:
            return np.concatenate([gaps, held, noise], axis=-1)
        try:
            answers = np.asarray(values_of(self.query, models)[0][..., 0])
        except (HalftrekError, np.linalg.LinAlgError):
            return None
        miss = (answers - value) / max(1.0, abs(value))
        return np.concatenate([gaps, miss[..., None], held, noise], axis=-1)
