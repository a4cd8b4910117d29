"""Processor time of the page's parts: what an edit costs on a machine where the clock counts others' work too.

The way from an edit to its verdict goes through the main thread of the page, the server's thread and one of its
workers, one after the other. The sum of what these compute is what the clock shows where nobody else computes, but for
waiting for the next frame (at most 17 ms) and for the sockets.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from playwright.sync_api import Page

QUIET = 5.0  # milliseconds in a tenth of a second
KNOWN = sys.platform == "linux"  # elsewhere the system does not say it


class Work:
    """Milliseconds that the page and its server have computed since the last look, by part."""

    def __init__(self) -> None:
        self._processes = _processes()
        self._before = self._now()

    def since(self) -> dict[str, float]:
        """By part: the page, the server, its workers."""
        now = self._now()
        spent = {part: 1e3 * (seconds - self._before[part]) for part, seconds in now.items()}
        self._before = now
        return spent

    def settle(self, page: Page) -> None:
        """Waits until the work for what came before is done, but not for long."""
        page.wait_for_timeout(200)
        self._processes = _processes()
        for _ in range(8):
            self.since()
            page.wait_for_timeout(100)
            if max(self.since().values()) < QUIET:
                return

    def _now(self) -> dict[str, float]:
        return {part: sum(map(_seconds, processes)) for part, processes in self._processes.items()}


def _processes() -> dict[str, list[str]]:
    """The page's main thread, the server's, and those of its workers, of all that this process started."""
    parents = {pid: _parent(pid) for pid in filter(str.isdigit, os.listdir("/proc"))}
    mine = {str(os.getpid())}
    while more := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= more
    calls = {pid: _read(f"/proc/{pid}/cmdline") for pid in mine}
    return {
        "page": [pid for pid, call in calls.items() if b"--type=renderer" in call],
        "server": [f"self/task/{one.native_id}" for one in threading.enumerate() if one.name == "halftrek page"],
        "workers": [pid for pid, call in calls.items() if b"halftrek.web.worker" in call],
    }


def _parent(pid: str) -> str:
    after_name = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return after_name[1].decode() if after_name else ""


def _seconds(process: str) -> float:
    return int((_read(f"/proc/{process}/schedstat") or b"0").split()[0]) / 1e9


def _read(path: str) -> bytes:
    """Nothing of a process that has ended."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
