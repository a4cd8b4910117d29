"""One thread of BLAS within the calls of users, and as many as before after them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from halftrek.bottom import threads
from halftrek.bottom.calls import public
from halftrek.bottom.threads import one_thread


def counts() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    with threadpool_limits(3, "blas"):
        assert counts() == {3}
        yield


def test_within_it_blas_has_one_thread_and_then_what_it_had() -> None:
    with one_thread():
        assert counts() == {1}
        with one_thread():
            assert counts() == {1}
        assert counts() == {1}
    assert counts() == {3}


def test_calls_of_users_have_one_thread_whether_they_end_or_fail() -> None:
    @public
    def work(fails: bool) -> set[int]:
        if fails:
            raise ValueError(counts())
        return counts()

    assert work(False) == {1}
    with pytest.raises(ValueError, match=r"\{1\}"):
        work(True)
    assert counts() == {3}


def test_calls_that_overlap_leave_what_they_found() -> None:
    inside, over = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            over.wait(10.0)

    beside = threading.Thread(target=other)
    with one_thread():
        beside.start()
        inside.wait(10.0)
    over.set()
    beside.join()
    assert counts() == {3}


def test_a_library_that_is_loaded_later_is_seen_by_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    threads._libraries.cache_clear()
    monkeypatch.delitem(sys.modules, "scipy.linalg", raising=False)
    with one_thread():
        pass
    monkeypatch.setitem(sys.modules, "scipy.linalg", sys)  # as if it had been imported
    before = threads._libraries.cache_info().misses
    with one_thread():
        assert counts() == {1}
    assert threads._libraries.cache_info().misses == before + 1
    assert counts() == {3}


def test_without_threadpoolctl_blas_does_as_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    threads._libraries.cache_clear()
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "threadpoolctl", None)
        with one_thread():
            assert counts() == {3}
    threads._libraries.cache_clear()
