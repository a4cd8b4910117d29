"""The table of kinds: what it holds are fits, and what it says is lacking is what a test of mechanisms asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import kinds
from tests.kinds import KINDS, NOT_TODAY, Kind

FOLDER = Path(__file__).parent / "mechanisms"


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
def test_every_fit_has_converged_and_is_made_once(kind: Kind) -> None:
    fit = kinds.fit(kind)
    assert set(fit.status) == {"converged"} if kind.name == "groups" else fit.converged
    assert kinds.fit(kind) is fit


def test_every_mechanism_is_tested_and_every_lack_is_of_a_kind() -> None:
    text = "".join(path.read_text() for path in sorted(FOLDER.glob("test_*.py")))
    assert [mechanism for mechanism in NOT_TODAY if f'lacking("{mechanism}", kind)' not in text] == []
    assert {name for lacks in NOT_TODAY.values() for name in lacks} <= set(KINDS)
