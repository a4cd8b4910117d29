"""What stands around each call of a user: a bar where it takes long, one thread of BLAS."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import ParamSpec, TypeVar

from halftrek.bottom.progress import busy
from halftrek.bottom.threads import one_thread

Class = TypeVar("Class", bound=type)
P = ParamSpec("P")
R = TypeVar("R")


def public(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, as users call it; the bar has its name."""
    title = function.__name__.strip("_")

    @wraps(function)
    def asked(*args: P.args, **options: P.kwargs) -> R:
        with busy(title), one_thread():
            return function(*args, **options)

    return asked


def all_public(cls: Class) -> Class:
    """The same class, with all that its users may call."""
    for name, method in list(vars(cls).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(cls, name, public(method))
    return cls
