"""A plugin of pytest for the tests of a change: limits in CPU time, and what happened, told in a file.

A busy machine takes longer but uses the same CPU time, so that it does not change what becomes of a change. For the
same reason the examples of hypothesis are the same each time. One that fails is enough; a small one is not looked for.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, settings

TEST = 60.0  # CPU seconds of one test; without a change none takes half of it
BUDGET, TOLD = "MUTATION_SECONDS", "MUTATION_TOLD"  # what the environment says: CPU seconds of all, and the file
SLOW = 75  # exit status when one test takes too long

settings.register_profile(
    "of a change",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
running = ""
ran = 0


def tell(**what: str | int) -> None:
    """One more line of the file."""
    with Path(os.environ[TOLD]).open("a", encoding="utf-8") as file:
        print(json.dumps(what), file=file)


def spent() -> float:
    """CPU seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


def _too_long(_: int, __: FrameType | None) -> None:
    tell(slow=running)
    os._exit(SLOW)  # an exception could be caught by what is tested


def pytest_configure() -> None:
    """After the tests' own settings, so that these count."""
    settings.load_profile("of a change")
    signal.signal(signal.SIGPROF, _too_long)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """A test that comes when the time of all is over is passed by."""
    global ran, running
    if spent() > float(os.environ[BUDGET]):
        return True
    ran, running = ran + 1, item.nodeid
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """One test has a limit of its own: it would be an endless loop."""
    signal.setitimer(signal.ITIMER_PROF, TEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test that failed."""
    if report.failed:
        tell(failed=report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Name a file that cannot be read."""
    if report.failed:
        tell(failed=report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """How many were run, of how many."""
    tell(ran=ran, of=session.testscollected)
