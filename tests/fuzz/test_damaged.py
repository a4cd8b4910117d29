"""A fixed sample of damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import halftrek as ht
from tests.fuzz.damaged import KINDS, damaged_files, whole_file


def test_damaged_files_give_a_result_or_an_error_of_ours() -> None:
    tried, failures = damaged_files(np.random.default_rng(14), 140)
    assert tried == 140
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_files_are_read(kind: str, tmp_path: Path) -> None:
    """Else a file that is refused whatever it holds would pass for one that is well treated."""
    path = tmp_path / f"t.{kind}"
    path.write_bytes(whole_file(kind, np.random.default_rng(1)))
    assert ht.moments(path, ["a", "b", "c", "d", "t"], missing="drop").n > 3
