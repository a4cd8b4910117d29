"""What may be asked about the assumptions of a fit: which of them carry an answer, and how strong they must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halftrek import upward
from halftrek.estimation import Fitted
from halftrek.queries import Query

if TYPE_CHECKING:
    from halftrek.partial import Benchmark, Contours, Ranking, Robustness, Sensitivity


@dataclass(frozen=True, eq=False, repr=False)
class Assumed(Fitted):
    """A fit, and what its answers rest on; ``Fit`` has everything else."""

    def sensitivity(
        self,
        question: str | Query,
        edge: str | Sequence[str],
        *,
        values: Sequence[float] | Sequence[Sequence[float]] | None = None,
        level: float = 0.95,
        target: float | None = None,
        intervals: bool = False,
    ) -> Sensitivity | Contours:
        """The answer for each value of an edge that the graph has or lacks, ``"x <-> m"`` or ``"z -> y"``.

        Where data leave the edge free, the fitted covariance stays and nothing is estimated again; where data tell the
        edge, everything else is estimated again for each value. ``values`` are covariances of the two errors, or
        weights of the arrow; left out: a range around zero. ``edge`` may be a list of two, and ``values`` two lists:
        contours, with intervals if ``intervals`` is True, which takes longer. ``target``: where is the answer this?
        Left out: zero, and one for a ratio.
        """
        return upward.sensitivity(self, question, edge, values=values, level=level, target=target, intervals=intervals)

    def robustness(
        self, question: str | Query, edge: str | None = None, *, target: float | None = None, level: float = 0.95
    ) -> Robustness:
        """How strong must an edge be, for the answer to say "no effect", or for its interval to hold that?

        No effect is zero, and one where the question is a ratio of two worlds; ``target`` is another answer.

        ``edge`` is one that the graph has or lacks; left out: every absent edge that carries the answer, and one limit
        for all absent edges together. In a regression these are sensemakr's robustness values.
        """
        return upward.robustness(self, question, edge, target=target, level=level)

    def assumptions(self, question: str | Query, *, target: float | None = None) -> Ranking:
        """Which assumption carries the answer? Every absent edge: tested by the data, carrying, or harmless.

        Of those that carry it: how far the answer moves with the edge, and how strong it must be for the answer to be
        the ``target`` (left out: zero, and one for a ratio).
        """
        return upward.assumptions(self, question, target=target)

    def benchmark(
        self,
        cause: str,
        effect: str,
        covariates: str | Sequence[str],
        *,
        times: float | Sequence[float] = (1.0, 2.0, 3.0),
        times_effect: float | Sequence[float] | None = None,
        level: float = 0.95,
    ) -> Benchmark:
        """What a hidden cause would do that is ``times`` as strong as an observed covariate, as sensemakr has it.

        For an effect that is a slope in the regression of ``effect`` on ``cause`` and covariates. ``times_effect`` is
        the strength towards the effect, where it is another than towards the cause.
        """
        return upward.benchmark(self, cause, effect, covariates, times=times, times_effect=times_effect, level=level)
