"""The two experiments of the paper, with its parameters, letter by letter."""

from __future__ import annotations

from halftrek.examples.entry import entry

_PAPER = "Maiti & Jain (2025), Estimating Causal Effects in Gaussian Linear SCMs with Finite Data"

ENTRIES = (
    entry(
        "front-door",
        "Front-door graph",
        description="The effect of X1 on X3 runs through X2 alone, and X2 shares no hidden cause with either.",
        reference=f"{_PAPER}, section 4.1 and appendix D.1; Pearl (1995), Biometrika 82:669-688, front-door criterion",
        observed=("X1", "X2", "X3"),
        latents=("U4",),
        weights={"X1 -> X2": 0.5, "X2 -> X3": 0.9, "U4 -> X1": -0.2, "U4 -> X3": 0.3},
        mu=(0.3, 0.1, 0.2),
        psi=(1.0, 1.0, 1.0),
        verdicts={
            "P(X3 | do(X2))": ("identified", "identified"),
            "P(X3 | do(X1))": ("identified", "identified"),
            "P(X2 | do(X1))": ("identified", "identified"),
            "X1 -> X2": "identified",
            "X2 -> X3": "identified",
            "X1 <-> X3": "identified",
        },
        aliases=("frontdoor",),
    ),
    entry(
        "napkin",
        "Napkin graph",
        description="No set of variables closes the back doors of X3, yet its effect on X4 can be known.",
        reference=f"{_PAPER}, section 4.2 and appendix D.2; Pearl & Mackenzie (2018), The Book of Why, chapter 7",
        observed=("X1", "X2", "X3", "X4"),
        latents=("U5", "U6"),
        weights={
            "X1 -> X2": 0.1,
            "X2 -> X3": 0.9,
            "X3 -> X4": 0.8,
            "U5 -> X1": -0.2,
            "U5 -> X3": 0.1,
            "U6 -> X1": 0.3,
            "U6 -> X4": 0.4,
        },
        mu=(0.8, -0.9, 0.01, -0.5),
        psi=(1.0, 1.0, 1.0, 1.0),
        verdicts={
            "P(X4 | do(X3))": ("identified", "identified"),
            "P(X4 | do(X2))": ("identified", "identified"),
            "P(X4 | do(X1))": ("identified", "identified"),
            "X1 -> X2": "identified",
            "X2 -> X3": "identified",
            "X3 -> X4": "identified",
        },
    ),
)
