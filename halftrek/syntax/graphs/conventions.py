"""What the functions of lavaan add to a text: how factors are scaled, what covaries, which means are free."""

from __future__ import annotations

from dataclasses import dataclass

from halftrek.bottom.choices import LavaanFunction


@dataclass(frozen=True)
class Conventions:
    """How a text is read.

    - ``function``: "sem" and "cfa" have free intercepts and factors of mean zero, "growth" has it the other way round;
    - ``std_lv``: factors have the variance 1 in place of a first loading of 1;
    - ``orthogonal``: factors do not covary unless the text says so;
    - ``outcomes_covary``: the errors of outcomes that cause nothing covary unless the text says otherwise, as in all
      functions of lavaan (``auto.cov.y``). Without it there is a note.
    """

    function: LavaanFunction = "sem"
    std_lv: bool = False
    orthogonal: bool = False
    outcomes_covary: bool = False


USUAL = Conventions()
