"""What a finding has in words, and how each front asks for what an advice names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Front = Literal["python", "command line"]
Level = Literal["doubt", "warning", "note", "aside"]

# How each front asks for what an advice names: ``{ask_profile}`` in the words below stands for the front's own way.
ASKS: Mapping[Front, Mapping[str, str]] = {
    "python": {
        "ask_profile": 'fit.query(..., interval="profile")',
        "ask_robust": 'interval="robust"',
        "ask_default": "leave interval= out",
        "ask_measures": "fit.measures()",
        "ask_tests": "fit.tests()",
        "ask_steps": "raise max_iter",
        "ask_expected": 'fit.modifications(information="expected")',
        "ask_plain_indices": "fit.modifications(robust=False)",
        "ask_path": 'fit.effect("x -> m -> y")',
        "ask_assumptions": "fit.assumptions(...)",
        "ask_sem": 'ht.from_lavaan(text, "sem")',
        "ask_growth": 'ht.from_lavaan(text, "growth")',
        "kind_of": "kinds={'",
        "kind_is": "': '",
        "kind_end": "'}",
    },
    "command line": {
        "ask_profile": "--interval profile",
        "ask_robust": "--interval robust",
        "ask_default": "leave --interval out",
        "ask_measures": "halftrek fit --checks",
        "ask_tests": "halftrek fit --checks",
        "ask_steps": "fit in Python with a larger max_iter",
        "ask_expected": 'fit.modifications(information="expected") in Python',
        "ask_plain_indices": "fit.modifications(robust=False) in Python",
        "ask_path": "halftrek effect GRAPH DATA 'x -> m -> y'",
        "ask_assumptions": "halftrek robustness --assumptions",
        "ask_sem": "--lavaan sem",
        "ask_growth": "--lavaan growth",
        "kind_of": "--kind '",
        "kind_is": "=",
        "kind_end": "'",
    },
}


@dataclass(frozen=True)
class Words:
    """What one code says: a sentence, a few words for a column of a table, and how much it speaks against a number."""

    text: str
    short: str = ""
    level: Level = "warning"
    why: str = ""  # the finding without the advice, for notes that refer to it
