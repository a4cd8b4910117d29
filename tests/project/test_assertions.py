"""No test can pass without having looked at anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.assertions import Module, empty_tests
from tests.project.pages import ROOT

EMPTY = {
    "return": "if not fit.converged:\n    return\nassert fit.n == 3",
    "continue": "for x in rows:\n    if x is None:\n        continue\n    assert x > 0",
    "if": "if fit.converged:\n    assert fit.n == 3",
    "nothing": "fit(rows)",
    "inner": "def rest():\n    assert False\nx = 1",
    "refused": "try:\n    read(text)\nexcept ValueError as error:\n    assert 'word' in str(error)",
    "helper": "quiet(1)",
    "loop": "for x in rows:\n    assert x > 0",
    "assumed": "assume(fit.converged)\nfit.summary()",
}
SURE = {
    "plain": "assert fit.n == 3",
    "counted": "for x in rows:\n    if x is None:\n        continue\n    seen += 1\nassert seen > 3",
    "assumed": "assume(seen)\nif holes:\n    assert fit.n == 3",
    "both ways": "if holes:\n    assert fit.n == 3\nelse:\n    assert fit.n == 4",
    "raises": "with pytest.raises(ValueError):\n    read(text)",
    "arrays": "np.testing.assert_allclose(x, y)",
    "helper": "check(1)",
    "browser": "expect(page.locator('h1')).to_have_text('halftrek')",
    "loop": "for k, x in enumerate((1, 2)):\n    assert x > 0",
    "some": "for x in some(rows):\n    check(x)",
}
HELPERS = "def check(x):\n    assert x\n\n\ndef quiet(x):\n    if x:\n        assert x\n\n\n"


def module_of(body: str, folder: Path) -> Module:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    path = folder / "test_one.py"
    path.write_text(f"{HELPERS}def test_one():\n{lines}\n")
    return Module(path, folder)


@pytest.mark.parametrize("body", EMPTY.values(), ids=EMPTY.keys())
def test_tests_that_may_be_empty_are_found(body: str, tmp_path: Path) -> None:
    assert empty_tests(module_of(body, tmp_path)) == ["test_one"]


@pytest.mark.parametrize("body", SURE.values(), ids=SURE.keys())
def test_tests_that_assert_are_left_alone(body: str, tmp_path: Path) -> None:
    assert empty_tests(module_of(body, tmp_path)) == []


def test_every_test_comes_to_an_assertion() -> None:
    modules = [Module(path, ROOT) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
    assert sum(len(module.tests) for module in modules) > 1000
    found = [f"{module.path.relative_to(ROOT)}::{name}" for module in modules for name in empty_tests(module)]
    assert found == [], "these may end without an assertion: assert that there is something to look at, or assume it"
