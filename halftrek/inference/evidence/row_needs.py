"""What rows ask of an interval beside their clusters: sampling weights, and outcomes whose spread is not equal."""

from __future__ import annotations

from collections.abc import Sequence

from halftrek.estimation import Fitted
from halftrek.inference.evidence.few_valued import robust_outcomes
from halftrek.inference.evidence.rows_behind import has_rows, sampled
from halftrek.notes import Note, note
from halftrek.queries import Query


def needs_rows(fit: Fitted, query: Query | None = None) -> bool:
    """Whether an interval has to be made from the rows: they have sampling weights, or an outcome has two values.

    Without a query: for one of the parameters of the fit. False where there are no rows to make one from.
    """
    if fit.moments.layer is not None:
        return has_rows(fit)
    return has_rows(fit) and (sampled(fit) is not None or bool(robust_outcomes(fit, query)))


def left_out(fit: Fitted, query: Query | None = None) -> tuple[Note, ...]:
    """What an interval that is not made from the rows does not allow for."""
    return (*weights_left_out(fit), *spread_left_out(fit, robust_outcomes(fit, query)))


def weights_left_out(fit: Fitted) -> tuple[Note, ...]:
    """A word on sampling weights."""
    weights = sampled(fit)
    return () if weights is None else (note(f"sampling weights {_why(fit)}", rows=fit.n, worth=weights.worth),)


def spread_left_out(fit: Fitted, variables: Sequence[str]) -> tuple[Note, ...]:
    """A word on outcomes whose errors are not equally spread."""
    return (note(f"unequal spread {_why(fit)}", variables=" and ".join(variables)),) if variables else ()


def _why(fit: Fitted) -> str:
    return "ignored" if has_rows(fit) else "without rows"
