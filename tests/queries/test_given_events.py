"""Means given categories and ranges, where columns are ordered or ranked: beside draws, differences and rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from halftrek.bottom.arrays import Floats
from halftrek.errors import QueryError
from halftrek.layer import Layer, Margin, layer_of
from halftrek.models import CGLSCM
from halftrek.queries.observed import given as module
from halftrek.queries.observed.values import observed
from halftrek.syntax import parse_question

NAMES = ("x", "s", "ill", "wage", "z")
T = np.array(
    [
        [0.0, 0.5, 0.2, 0.3, 0.4],
        [0.0, 0.0, 0.6, 0.4, 0.0],
        [0.0, 0.0, 0.0, -0.4, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.3],
        [0.0, 0.0, 0.0, 0.0, 0.0],
    ]
)
OMEGA = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.7, 0.1, 0.0, 0.0],
        [0.0, 0.1, 0.6, 0.2, 0.0],
        [0.0, 0.0, 0.2, 0.8, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.5],
    ]
)
QUESTIONS = [
    "E[wage | do(x=1), ill=1]",
    "E[wage | do(x=1), 0 < s < 3]",
    "E[wage | do(x=1), ill=1, s=2]",
    "E[wage | do(x=0.5), ill=1, z > 0.3]",
    "E[wage | z=1, s=0, ill=0]",
    "E[z | do(x=1), ill=0, s=3]",
    "E[z | wage > 2, ill=1]",
    "E[wage | do(x=1), wage > 1.5, ill=0]",
    "E[wage | ill=1, wage < 4, s=1]",
    "E[wage_{x=1} | ill=1, s=2]",
    "E[wage | do(x=1), s=1, ill=1, z > 0, wage < 5]",
]


def behind(T: Floats = T, omega: Floats = OMEGA, mean: Floats | None = None) -> CGLSCM:
    """The model of the variables behind the columns."""
    middle = np.zeros(5) if mean is None else mean
    return CGLSCM(NAMES, T.copy(), np.zeros((0, 5)), middle - middle @ T, omega)


def columns(values: Floats) -> Floats:
    """The columns that the variables make."""
    x, s, ill, wage, z = values.T
    return np.column_stack([x, np.digitize(s, [-0.8, 0.1, 0.9]), ill > 0.4, np.exp(0.6 * wage), z])


def layer() -> Layer:
    """Cuts of the columns, a wage of 60 values."""
    rng = np.random.default_rng(2)
    rows = columns(rng.multivariate_normal(np.zeros(5), behind().cov, size=400))
    rows[:, 3] = np.round(rows[:, 3], 1)
    return layer_of(NAMES, rows, {"s": "behind", "ill": "ordered", "wage": "ranked"})


LAYER = layer()


def value(question: str, model: CGLSCM, margins: Layer = LAYER) -> float:
    return observed(parse_question(question), model, margins).values[0].value


def margin(name: str) -> Margin:
    found = LAYER.margin(name)
    assert found is not None
    return found


def drawn(x: float | None, count: int = 800_000) -> dict[str, Floats]:
    """Columns of units drawn from the model, with x held or not; also the wage where x is held at 1."""
    rng = np.random.default_rng(7)
    errors = rng.multivariate_normal(np.zeros(5), OMEGA, size=count)
    held = T.copy()
    first = errors.copy()
    if x is not None:
        first[:, 0] = x
    values = first @ np.linalg.inv(np.eye(5) - held)
    found = {"x": values[:, 0], "z": values[:, 4]}
    for k, name in ((1, "s"), (2, "ill"), (3, "wage")):
        own = margin(name)
        found[name] = own.values[np.searchsorted(own.cuts, values[:, k])]
    there = errors.copy()
    there[:, 0] = 1.0
    wage = (there @ np.linalg.inv(np.eye(5) - T))[:, 3]
    found["wage at 1"] = margin("wage").values[np.searchsorted(margin("wage").cuts, wage)]
    return found


def test_means_are_those_of_draws() -> None:
    model, one, half, seen = behind(), drawn(1.0), drawn(0.5), drawn(None)
    truths = {
        "E[wage | do(x=1), ill=1]": one["wage"][one["ill"] == 1],
        "E[wage | do(x=1), 0 < s < 3]": one["wage"][(one["s"] > 0) & (one["s"] < 3)],
        "E[wage | do(x=1), ill=1, s=2]": one["wage"][(one["ill"] == 1) & (one["s"] == 2)],
        "E[wage | do(x=0.5), ill=1, z > 0.3]": half["wage"][(half["ill"] == 1) & (half["z"] > 0.3)],
        "E[z | do(x=1), ill=0, s=3]": one["z"][(one["ill"] == 0) & (one["s"] == 3)],
        "E[z | wage > 2, ill=1]": seen["z"][(seen["wage"] > 2) & (seen["ill"] == 1)],
        "E[wage | do(x=1), wage > 1.5, ill=0]": one["wage"][(one["wage"] > 1.5) & (one["ill"] == 0)],
        "E[wage | ill=1, wage < 4, s=1]": seen["wage"][(seen["ill"] == 1) & (seen["wage"] < 4) & (seen["s"] == 1)],
        "E[wage_{x=1} | ill=1, s=2]": seen["wage at 1"][(seen["ill"] == 1) & (seen["s"] == 2)],
        "E[wage | do(x=1), s=1, ill=1, z > 0, wage < 5]": one["wage"][
            (one["s"] == 1) & (one["ill"] == 1) & (one["z"] > 0) & (one["wage"] < 5)
        ],
        "P(wage > 2 | do(x=1), ill=1)": (one["wage"] > 2)[one["ill"] == 1] * 1.0,
    }
    for question, rows in truths.items():
        assert len(rows) > 1000, question
        assert abs(value(question, model) - rows.mean()) < 4.5 * rows.std() / np.sqrt(len(rows)), question


@pytest.mark.parametrize("question", QUESTIONS)
def test_slopes_are_differences(question: str) -> None:
    model, rng = behind(), np.random.default_rng(3)
    one = observed(parse_question(question), model, LAYER).values[0]
    dT, half, dm = np.where(T != 0.0, rng.normal(size=(5, 5)), 0.0), rng.normal(size=(5, 5)), rng.normal(size=5)
    d_omega, h = half + half.T, 1e-4
    sides = [value(question, behind(T + t * dT, OMEGA + t * d_omega, t * dm)) for t in (h, -h)]
    exact = (one.slope.T * dT).sum() + (one.slope.omega * d_omega).sum() + one.slope.mean @ dm
    near = 2e-4 if question != QUESTIONS[-1] else 1e-2  # four boxes have few points for slopes
    assert exact == pytest.approx((sides[0] - sides[1]) / (2.0 * h), rel=near, abs=1e-5)


@pytest.mark.parametrize("question", QUESTIONS)
def test_slopes_in_cuts_are_differences(question: str) -> None:
    model = behind()
    one = observed(parse_question(question), model, LAYER).values[0]
    assert {"s", "ill", "wage"} >= set(one.cuts) != set()
    for name in ("s", "ill", "wage"):
        k, own = NAMES.index(name), margin(name)
        way = np.linspace(0.5, 1.5, len(own.cuts))

        def moved(step: float, k: int = k, way: Floats = way) -> float:
            margins = list(LAYER.margins)
            margins[k] = replace(margins[k], given_cuts=margins[k].cuts + step * way)
            return value(question, model, replace(LAYER, margins=tuple(margins)))

        slope = (moved(1e-4) - moved(-1e-4)) / 2e-4
        near = 1e-3 if question != QUESTIONS[-1] else 2e-2  # four boxes have few points for slopes
        assert float(np.sum(one.cuts.get(name, 0.0) * way)) == pytest.approx(slope, rel=near, abs=1e-5), name


def test_ranks_in_bins_are_near_to_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = columns(np.random.default_rng(4).multivariate_normal(np.zeros(5), behind().cov, size=5000))
    many = layer_of(NAMES, rows, {"s": "behind", "ill": "ordered", "wage": "ranked"})
    one = observed(parse_question("E[wage | do(x=1), ill=1]"), behind(), many).values[0]
    monkeypatch.setattr(module, "MANY", 100)
    other = observed(parse_question("E[wage | do(x=1), ill=1]"), behind(), many).values[0]
    assert other.value == pytest.approx(one.value, rel=2e-4)
    assert other.value != one.value
    np.testing.assert_allclose(other.slope.T, one.slope.T, atol=2e-3)


def test_a_range_of_a_column_itself_is_what_the_rows_say() -> None:
    own = margin("wage")
    inside = (own.values > 1.0) & (own.values < 3.0)
    asked = value("E[wage | wage > 1, wage < 3]", behind(omega=np.diag([1.0, 1.0, 1.0, 1.0, 1.0]), T=np.zeros((5, 5))))
    assert asked == pytest.approx(own.shares[inside] @ own.values[inside] / own.shares[inside].sum(), rel=1e-9)


def test_what_cannot_be_together_is_refused() -> None:
    with pytest.raises(QueryError, match="probability zero"):
        value("E[wage | wage > 3, wage < 2]", behind())
    with pytest.raises(QueryError, match="next to never happens"):
        value("E[wage | do(x=40), s=0, ill=0]", behind())
    fixed = "E[wage | do(s=1), z > 0]"
    with pytest.raises(QueryError, match="s is a cut of a continuous variable"):
        value(fixed, behind())


def test_what_is_so_anyway_changes_nothing() -> None:
    for more, less in (
        ("E[wage | z=1, ill=1, z > 0]", "E[wage | z=1, ill=1]"),
        ("E[wage | z=1, z > 0, z < 3]", "E[wage | z=1]"),
        ("E[x | z=1, z > 0, z < 3]", "E[x | z=1]"),
    ):
        assert value(more, behind()) == pytest.approx(value(less, behind())), more
