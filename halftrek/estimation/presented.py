"""What a fit offers files, notebooks and table makers; each is done in a higher room."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from halftrek.estimation.fit import Fit


class Presented:
    """The part of ``Fit`` that is not about numbers."""

    def save(self: Fit, path: str | os.PathLike[str], *, rows: bool = False, overwrite: bool = False) -> Path:  # type: ignore[misc]
        """Write the fit as JSON; ``ht.load`` gives it back to the last bit.

        ``rows=True`` puts the rows into the file, for the intervals that need them; without it a fit of a file
        remembers only where the file is. A file that halftrek wrote is replaced, another only with ``overwrite=True``.
        """
        from halftrek.storage import save

        return save(self, path, rows=rows, overwrite=overwrite)

    def report(  # type: ignore[misc]
        self: Fit,
        path: str | os.PathLike[str],
        questions: Any = (),
        *,
        title: str | None = None,
        level: float = 0.95,
        interval: Literal["delta", "t", "robust", "sandwich", "jackknife", "bootstrap", "parametric", "profile"]
        | None = None,
        information: Literal["expected", "observed"] | None = None,
        replicates: int = 1000,
        ends: Literal["percentile", "bca"] = "percentile",
        random_state: int = 0,
        overwrite: bool = False,
    ) -> Path:
        """Write a report on the fit, one HTML file that needs nothing else, and return its path.

        ``questions`` is one question or a list. One that is not identified does not stop the report, which then shows
        why there is no number and what would help. For the options of uncertainty see ``query``. A file that halftrek
        wrote is replaced, another only with ``overwrite=True``.
        """
        from halftrek.reporting.report import write_report

        return write_report(
            self, path, questions, title=title, level=level, interval=interval, information=information,
            replicates=replicates, ends=ends, random_state=random_state, overwrite=overwrite,
        )  # fmt: skip

    def _repr_html_(self: Fit) -> str:  # type: ignore[misc]
        """What a notebook shows."""
        from halftrek.reporting.html import fit_html

        return fit_html(self)

    # The plug-in protocol of the package maketables: ETable([fit]) gives Word, LaTeX, Typst and HTML tables.

    @property
    def __maketables_coef_table__(self) -> Any:
        from halftrek.reporting.publication import coefficient_table

        return coefficient_table(self)  # type: ignore[arg-type]

    def __maketables_stat__(self: Fit, key: str) -> Any:  # type: ignore[misc]
        from halftrek.reporting.publication import statistic

        return statistic(self, key)

    @property
    def __maketables_depvar__(self) -> str:
        from halftrek.reporting.publication import outcomes

        return outcomes(self)  # type: ignore[arg-type]

    @property
    def __maketables_vcov_info__(self) -> dict[str, Any]:
        return {"vcov_type": "maximum likelihood", "clustervar": None}

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        from halftrek.reporting.publication import LABELS

        return dict(LABELS)

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        from halftrek.reporting.publication import LABELS

        return list(LABELS)
