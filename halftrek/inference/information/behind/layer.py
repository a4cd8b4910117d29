"""Normal variables behind columns: moments as of complete rows, whose spread only the rows themselves tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from halftrek.bottom.choices import RobustTest
from halftrek.data.layers import seen_as
from halftrek.errors import InputError
from halftrek.estimation import Fitted
from halftrek.inference.checks.mixture import mixture
from halftrek.inference.draws.layer_draws import layer_replicates
from halftrek.inference.information.complete import COMPLETE
from halftrek.inference.information.landscape import Landscape, Target
from halftrek.layer import Layer


def layer_behind(fit: Fitted) -> Layer:
    """The layer of a fit that is known to have one."""
    layer = fit.moments.layer
    assert layer is not None  # asked for only where kinds of columns were given
    return layer


def _sentence(fit: Fitted) -> str:
    layer = layer_behind(fit)
    if layer.complete:
        return ""
    least = float(layer.have.min())
    return (
        f"{fit.n:,.0f} rows, some of them incomplete: each correlation is from the rows that have both columns, at "
        f"least {least:.0%} of them (assumes that which values are missing does not depend on any value)"
    )


def _scaling(fit: Fitted, _: RobustTest, df: int) -> float:
    found = mixture(fit)
    return 0.0 if found is None else found.mean / df


def _no_landscape(_fit: Fitted, _target: Target, _explicit: bool) -> Landscape:
    return _refuse("the profile likelihood")


def _refuse(what: str) -> NoReturn:
    raise InputError(
        f"{what} is not known where columns are ordered or ranked, whose rows have no normal likelihood; ask for "
        f'interval="influence" or interval="bootstrap"'
    )


LAYER = replace(
    COMPLETE,
    moments_suffice=False,
    assumption=(
        "Behind ordered and ranked columns there are normal variables, for which the linear equations hold; an ordered "
        "column says between which cuts its variable lies, a ranked one is a rising function of it."
    ),
    sentence=_sentence,
    rows_having=lambda fit, names: fit.n * _share(fit, tuple(names)),
    like=lambda fit: seen_as(layer_behind(fit), fit.n),
    scaling=_scaling,
    landscape=_no_landscape,
    replicates=layer_replicates,
)


def _share(fit: Fitted, names: Sequence[str]) -> float:
    layer = layer_behind(fit)
    at = [layer.names.index(v) for v in names]
    return float(layer.have[at][:, at].min(initial=1.0))
