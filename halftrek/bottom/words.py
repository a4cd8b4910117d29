"""Small pieces of sentences: near misses, lists of names, numbers that stand beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_DIGITS = 4  # of the largest of several numbers
_APART = 3  # digits of how far they lie apart
_DECIMALS = 12  # at most; closer together, numbers have an exponent
_MORE = 2  # decimals, at most, that a small number adds to those of the largest
_LARGEST = 1e9  # from here on numbers have an exponent


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the nearest known names, or lists them when nothing is near."""
    import difflib

    names = list(dict.fromkeys(known))
    lowered = {v.lower(): v for v in reversed(names)}
    near = [lowered[v] for v in difflib.get_close_matches(str(name).lower(), list(lowered), n=3, cutoff=0.6)]
    if near:
        return " Did you mean " + " or ".join(repr(v) for v in near) + "?"
    return f" There {'is' if len(names) == 1 else 'are'}: {listed(names, 12, quote=False)}." if names else ""


def listed(names: Sequence[str], most: int = 6, *, quote: bool = True) -> str:
    """Names with commas, in quotes or bare, cut after the first few."""
    shown = ", ".join(map(repr if quote else str, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def one_precision(*values: float) -> tuple[str, ...]:
    """An estimate and the ends of its interval, say, with the same number of decimals.

    Enough of them that the largest has four digits, that they are told apart where they lie close together, and that
    the first keeps two digits unless it is far smaller than the others.
    """
    finite = [value for value in values if math.isfinite(value)]
    largest = max(map(abs, finite), default=0.0)
    if largest == 0.0:
        return tuple(_plainly(value, 0) for value in values)
    first = math.floor(math.log10(float(f"{largest:.{_DIGITS - 1}e}")))  # 9.9999 has as many places as 10
    apart = max(finite) - min(finite)
    decimals = _DIGITS - 1 - first
    if apart > 0.0:
        decimals = max(decimals, _APART - 1 - math.floor(math.log10(apart)))
    if values[0] and math.isfinite(values[0]):
        wanted = 1 - math.floor(math.log10(abs(values[0])))
        decimals = wanted if decimals < wanted <= max(0, decimals) + _MORE else decimals
    if largest >= _LARGEST or decimals > _DECIMALS or first < -4:
        digits = max(_DIGITS - 1, decimals + first)
        return tuple(f"{v:.{digits}e}" if math.isfinite(v) else _plainly(v, 0) for v in values)
    return tuple(_plainly(value, max(0, decimals)) for value in values)


def _plainly(value: float, decimals: int) -> str:
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    text = f"{value:.{decimals}f}"
    return text if float(text) else text.lstrip("-")  # no minus before nothing
