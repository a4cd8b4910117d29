"""Results that are kept with a fit, for as long as the fit is."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from halftrek.bottom.memory import remembered
from halftrek.estimation import Fitted

P = ParamSpec("P")
R = TypeVar("R")


def kept(function: Callable[Concatenate[Fitted, P], R]) -> Callable[Concatenate[Fitted, P], R]:
    """A function of a fit (and of a few plain options) that is computed once."""
    results: WeakKeyDictionary[Fitted, dict[Hashable, Any]] = WeakKeyDictionary()

    @wraps(function)
    def remembering(fit: Fitted, /, *args: P.args, **kwargs: P.kwargs) -> R:
        key = (args, tuple(sorted(kwargs.items())))
        # two threads may both work it out, and then both have the same
        return remembered(results.setdefault(fit, {}), key, lambda: function(fit, *args, **kwargs))

    return remembering
