"""Parameters that have no most likely value, because causes tell the categories of a column apart."""

from __future__ import annotations

import numpy as np

from halftrek.bottom.arrays import Floats
from halftrek.estimation.acts.places import District, Off, Places

SURE = 4.5  # distance of a row from a cut, in standard deviations of the error, that few other fits have
FAR = 50.0  # the same where effects of what is behind categories say how steep its equation is, and may say: very


def run_off(places: Places, theta: Floats, rows: Floats) -> tuple[Off, ...]:
    """The parameters that ran off in a fit, each with its side; a fit whose slopes are not large pays nothing.

    Of a column whose categories are told apart without exception errors are not seen, nor what correlates with them.
    """
    found: dict[Off, None] = {}
    for district in places.districts:
        for i in district.cut:
            found |= dict.fromkeys(_of_column(places, district, i, theta, rows))
    return tuple(found)


def _of_column(places: Places, district: District, i: int, theta: Floats, rows: Floats) -> list[Off]:
    mine = [(u, k) for u, v, k in district.slopes if v == i and u not in district.behind and k not in district.held]
    if not mine:
        return []
    causes = rows[:, [u for u, _ in mine]]
    seen = ~np.isnan(rows[:, i]) & ~np.isnan(causes).any(axis=1)
    line = causes[seen] @ theta[[k for _, k in mine]]
    first, end = district.cuts[i]
    shown = i in district.behind and any(u == i for u, *_ in district.slopes)
    if np.abs(theta[first:end, None] - line).max(initial=0.0) < (FAR if shown else SURE):
        return []
    from halftrek.layer.separation import separation  # here, for few fits need it, and it loads what solves programs

    codes = places.margins[places.names[i]].codes(rows[seen, i])
    told = separation(causes[seen], codes)
    if told is None:
        return []
    v = places.names[i]
    found = [
        (places.names[u], "->", v, side) for (u, _), side in zip(mine, told.slopes, strict=True) if side is not None
    ]
    found += [(v, "|", f"t{k + 1}", side) for k, side in enumerate(told.cuts) if side is not None]
    if told.total:
        found += [(places.names[a], "<->", places.names[b], 0) for a, b, _ in district.covariances if i in (a, b)]
    return found


def unseen_at_zero(places: Places, theta: Floats) -> Floats:
    """Parameters whose covariances with errors that are not seen are zero: any others explain the rows as well."""
    found = theta.copy()
    for district in places.districts:
        found[[k for *_, k in district.covariances if k in district.off - district.held]] = 0.0
    return found


def lines_off(places: Places, theta: Floats) -> Floats:
    """The directions that rows do not determine because of this: equations that grow steeper, and covariances."""
    found = []
    for district in places.districts:
        for i in district.cut:
            own = [k for u, v, k in district.slopes if v == i and k in district.off]
            own += [k for k in range(*district.cuts[i]) if k in district.off]
            if own:
                found.append(np.zeros(places.size))
                found[-1][own] = theta[own]
        for k in (k for *_, k in district.covariances if k in district.off):
            found.append(np.zeros(places.size))
            found[-1][k] = 1.0
    return np.array(found).reshape(-1, places.size)
