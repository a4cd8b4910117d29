"""Fitted groups in the hands of a user: every method is one step of the walk."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, Unpack

from halftrek import upward
from halftrek.bottom.calls import all_public
from halftrek.bottom.choices import Bounding
from halftrek.bottom.frames import Frame
from halftrek.estimation.many.groups import FittedGroups
from halftrek.queries import Query, TotalEffect
from halftrek.results.fit import Fit
from halftrek.results.group_tables import answer_groups, compare_groups, group_measures_table, group_parameters
from halftrek.results.sets.group_bounds import bound_groups


@all_public
@dataclass(frozen=True, eq=False, repr=False)
class GroupFits(FittedGroups):
    """Fitted models by group: ``fits["north"]`` is the fit of one, ``fits.query(...)`` a table with a row for each.

    Groups of ``by=["site", "sex"]`` are named by tuples: ``fits["north", "f"]``. ``alone`` are the fits of groups that
    have their own (for missing values, for kinds of columns, or because hidden variables have causes), ``failed`` is
    what stood against a group, by their places.
    """

    @classmethod
    def of(cls, fitted: FittedGroups) -> GroupFits:
        """The same fits, with everything that can be asked of them."""
        return cls(**{field.name: getattr(fitted, field.name) for field in fields(fitted)})

    def query(self, question: str | Query, *, level: float = 0.95, interval: Literal["delta"] | None = None) -> Any:
        """A tidy frame, one row for each group and outcome: group outcome estimate se low high n dropped status note.

        In place of ``group`` there is a column for each variable where groups are combinations, ``by=["site", "sex"]``.
        ``n`` counts the rows that were used, ``dropped`` those that were left out (with ``missing="fiml"`` rows without
        any value). Intervals are from the information: where a group has few rows with residual degrees of freedom and
        Student's t, unless ``interval="delta"`` asks for large samples. ``note`` says what to know of a group before
        trusting its row. Rows in clusters are counted by cluster within each group, by the fit of each. Raises
        NotIdentifiedError if the graph does not allow an answer.
        """
        return answer_groups(self, question, level=level, interval=interval)

    def bounds(self, question: str | Query, **options: Unpack[Bounding]) -> Frame:
        """A tidy frame of bounds, a row for each group: group low high interval_low interval_high bounds ... note.

        ``low`` and ``high`` are the outermost values of the set, ``bounds`` all of it in words; the interval is for the
        true value. For options see ``ht.bounds``; ``fits[group].bounds(...)`` has everything of one group. A group
        without bounds has a note that says why.
        """
        return bound_groups(self, question, **options)

    def effect(
        self, cause: str, effect: str | None = None, *, level: float = 0.95, interval: Literal["delta"] | None = None
    ) -> Any:
        """The total effect of ``cause`` on ``effect`` in each group, or the effect along ``"x -> m -> y"``."""
        return self.query(cause if effect is None else TotalEffect(cause, effect), level=level, interval=interval)

    def params(self, *, level: float = 0.95, interval: Literal["delta"] | None = None) -> Any:
        """A tidy frame, one row for each group and parameter: the group, then what ``fit.params()`` has of it.

        Complete groups are computed in one array program, with the interval that suits the rows of each; of groups
        whose interval may mislead the worst are looked at one by one, and ``note`` has a word of all. A group that
        could not be fitted has rows without numbers, and a note that says why.
        """
        return group_parameters(self, level=level, interval=interval)

    def measures(self) -> Any:
        """A tidy frame, one row for each group: the group, then what ``fit.measures()`` has of it, status and note.

        ``test`` says which test it is: clusters and sampling weights are counted where there are any, by the rows.
        """
        return group_measures_table(self)

    def invariance(
        self, question: str | Query | None = None, *, level: float = 0.05, calibrate: bool = True, random_state: int = 0
    ) -> Any:
        """A tidy frame of tests that groups are alike: hypothesis test statistic df inflation p ... verdict note.

        Without a question: that all coefficients and error covariances are equal (likelihood ratio), that all
        coefficients are equal whatever the errors (Wald), and the same for each coefficient (Cochran's Q). With a
        question: that its answer is equal (Cochran's Q). P-values allow for groups with few rows by data drawn from
        the fitted models, unless ``calibrate=False``: then they are from the chi-square distribution. Groups without
        a maximum or without a standard error are left out, and ``note`` names them.
        """
        return compare_groups(self, question, level=level, calibrate=calibrate, random_state=random_state)

    def __getitem__(self, key: object) -> Fit:
        return Fit.of(self.one(key))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the fits as JSON, without rows; ``ht.load`` gives them back to the last bit."""
        return upward.save(self, path, overwrite=overwrite)
