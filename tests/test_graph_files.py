"""Graph files that cannot be read: errors in our own words, which do not differ from one Python to another."""

from __future__ import annotations

from pathlib import Path

import pytest

import halftrek as ht


def test_a_graph_file_that_cannot_be_read_is_named_in_our_words(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("größe -> y".encode("latin-1"))
    with pytest.raises(ht.InputError, match=r"latin.txt' is not text in UTF-8; save it as UTF-8$"):
        ht.graph(tmp_path / "latin.txt")
    with pytest.raises(ht.InputError, match=r"cannot be read: .*[^.]\. Check the path and its permissions$") as caught:
        ht.graph(tmp_path)
    assert "Errno" not in str(caught.value)
