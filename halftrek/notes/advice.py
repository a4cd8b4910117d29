"""Advice: changes of a graph that would make a question identified."""

from __future__ import annotations

from halftrek.notes.words import Words

ADVICE: dict[str, Words] = {
    "rule out arc": Words("ruling out {first} <-> {second} (nothing hidden affects both)", level="note"),
    "rule out two arcs": Words(
        "ruling out {first} <-> {second} (nothing hidden affects both) and ruling out {other_first} <-> {other_second} "
        "(nothing hidden affects both)",
        level="note",
    ),
    "measure common cause": Words("measuring what {first} and {second} have in common", level="note"),
    "measure hidden cause": Words("measuring {variable}", level="note"),
    "measure instrument": Words(
        "measuring an instrument for {cause}: something that moves {cause} and is otherwise unrelated to the graph",
        level="note",
    ),
    "measure mediator": Words(
        "measuring a mediator that carries all of {cause} -> {effect} and shares no hidden cause with either",
        level="note",
    ),
    "know coefficient": Words("knowing the coefficient of {edge} from elsewhere", level="note"),
    "know error covariance": Words("knowing the error covariance {edge} from elsewhere", level="note"),
}
