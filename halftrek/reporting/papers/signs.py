"""Signs that papers set otherwise than terminals do: arrows of questions, and minus signs of numbers."""

from __future__ import annotations

import re

_ARROW = re.compile(r"(?<=\s)(<->|->|~>)(?=\s)")
_DRAWN = {"->": "→", "<->": "↔", "~>": "⇝"}


def with_arrows(text: str) -> str:
    """The text with the arrows of questions drawn: ``x ~> y`` as x ⇝ y."""
    return _ARROW.sub(lambda found: _DRAWN[found[0]], text)


def with_minus(cell: str) -> str:
    """A number with a minus in place of a hyphen."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", cell)
