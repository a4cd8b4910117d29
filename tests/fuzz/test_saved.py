"""A fixed sample of edited files."""

from __future__ import annotations

import numpy as np

from tests.fuzz.saved import edited_saves, saved


def test_there_is_a_file_of_every_kind() -> None:
    kinds = {name for name, _ in saved()}
    assert {"complete", "missing", "clustered", "complete with rows"} <= kinds
    for kind in ("Graph", "Verdict", "Answer", "GroupFits", "BatchFit", "CGLSCM", "GLSCM", "Moments", "Patterns"):
        assert any(kind in name for name in kinds), kind


def test_an_edited_file_is_whole_or_refused() -> None:
    tried, failures = edited_saves(np.random.default_rng(14), 300)
    assert tried == 300
    assert not failures
