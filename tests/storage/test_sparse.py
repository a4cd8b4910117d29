"""Large arrays that are mostly zero: written as what is not, read back to the last bit, as are files that write all."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from halftrek.storage.codec import decode, encode
from halftrek.storage.malformed import Malformed


def sparse() -> np.ndarray[Any, Any]:
    found = np.zeros((90, 90))
    found[3, 4], found[50, 2], found[89, 89], found[0, 0] = 1.5, -2.25, 1e-300, -0.0
    found[7, 7] = np.nan
    return found


def written(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    record = encode(array)
    assert isinstance(record, dict)
    return record


def test_only_what_is_not_zero_is_written() -> None:
    array = sparse()
    record = written(array)
    assert len(base64.b64decode(record["base64"])) == 8 * 5  # zero with a sign is not zero
    back = decode(record)
    assert back.tobytes() == array.tobytes()
    turned = np.asfortranarray(array.T)
    again = decode(encode(turned))
    assert again.tobytes("F") == turned.tobytes("F")
    assert again.flags.f_contiguous


def test_files_that_write_all_entries_load() -> None:
    array = sparse()
    before = {"type": "array", "shape": [90, 90], "base64": base64.b64encode(array.tobytes()).decode("ascii")}
    assert decode(before).tobytes() == array.tobytes()
    dense = np.arange(8100.0).reshape(90, 90)
    assert "at" not in written(dense)
    assert decode(encode(dense)).tobytes() == dense.tobytes()


@pytest.mark.parametrize("places", [[-1, 2, 3, 4, 5], [1, 1, 2, 3, 4], [1, 2, 3, 4, 8100], [1, 2, 3], []])
def test_places_that_are_not_its_own_are_refused(places: list[int]) -> None:
    record = {**written(sparse()), "at": base64.b64encode(np.array(places, dtype="<i8").tobytes()).decode("ascii")}
    with pytest.raises(Malformed, match="places that are not its own"):
        decode(record, "content.T")


def test_a_short_file_cannot_ask_for_all_memory() -> None:
    with pytest.raises(Malformed, match="places that are not its own"):
        decode({**written(sparse()), "shape": [2**20, 2**20]})
