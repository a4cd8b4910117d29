"""A fixed sample of each of the random tests; ``make fuzz`` tries others."""

from __future__ import annotations

import numpy as np

from tests.fuzz.kills import kill_during_save, random_command_lines, signals_at_random_moments


def test_a_kill_in_the_middle_of_a_save_leaves_a_whole_file() -> None:
    assert kill_during_save(np.random.default_rng(1), 40) == (40, [])


def test_signals_leave_nothing_behind() -> None:
    assert signals_at_random_moments(np.random.default_rng(2), 6) == (6, [])


def test_words_in_any_order_are_run_or_refused() -> None:
    assert random_command_lines(np.random.default_rng(3), 250) == (250, [])
