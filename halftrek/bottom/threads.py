"""One thread of BLAS while halftrek computes.

Threads of BLAS wait for each other by spinning. Where they cannot all run at once (other programs keep the cores busy,
an engine reads rows beside them, a container may use less processor than it sees cores), the same work takes many times
as long as on one thread; where they can, halftrek's products are too small to gain much.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol


class Library(Protocol):
    """A library of BLAS that is loaded."""

    @property
    def num_threads(self) -> int | None: ...

    def set_num_threads(self, num_threads: int) -> object: ...


@contextmanager
def one_thread() -> Iterator[None]:
    """Whatever BLAS computes within it, it computes on one thread; without threadpoolctl it does as it is set.

    Calls in several threads may overlap: each gives back only what it has taken, so that the number is what it was
    when all have ended.
    """
    counts = [(library, library.num_threads) for library in _libraries("scipy.linalg" in sys.modules)]
    taken = [(library, count) for library, count in counts if count is not None and count > 1]
    for library, _ in taken:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, count in taken:
            library.set_num_threads(count)


@cache
def _libraries(with_scipys: bool) -> tuple[Library, ...]:  # noqa: ARG001
    """The libraries of BLAS that are loaded; scipy has one of its own, which may come later than numpy's."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return ()
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)
