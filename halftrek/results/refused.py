"""What a fit cannot say where columns are in categories, by name: a method that asks for it raises."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from halftrek.errors import InputError
from halftrek.estimation import Fitted

Class = TypeVar("Class", bound=type[Fitted])
P = ParamSpec("P")
R = TypeVar("R")

ACTING = (
    "profile", "decompose", "mediation", "adjustments", "instruments",
    "r2", "residuals", "modifications", "sensitivity", "robustness", "assumptions",
    "benchmark",
)  # fmt: skip
BEHIND = (
    "profile", "adjustments", "instruments", "assumptions", "benchmark",
)  # fmt: skip


def refusing(cls: Class) -> Class:
    """The class of fits, whose methods refuse what is not known of columns in categories."""
    for name in ACTING:
        setattr(cls, name, _guarded(name, getattr(cls, name)))
    return cls


def _guarded(name: str, method: Callable[Concatenate[Fitted, P], R]) -> Callable[Concatenate[Fitted, P], R]:
    @wraps(method)
    def asked(self: Fitted, /, *args: P.args, **options: P.kwargs) -> R:
        if self.acting is not None:
            raise InputError(f"fit.{name}() is not known where a category acts; ask fit.query(...), or fit.params()")
        if self.moments.layer is not None and name in BEHIND:
            raise InputError(
                f"fit.{name}() is not known where columns are ordered or ranked; ask fit.query(...), which is"
            )
        return method(self, *args, **options)

    return asked
