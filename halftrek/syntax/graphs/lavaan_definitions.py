"""``total := a*b + c``: numbers that a lavaan text makes of its parameters."""

from __future__ import annotations

from collections.abc import Sequence

from halftrek.errors import GraphSyntaxError
from halftrek.graphs.formulas import FUNCTIONS, FormulaError, read_formula
from halftrek.syntax.graphs.draft import number_text
from halftrek.syntax.graphs.formulas import Definition
from halftrek.syntax.graphs.lavaan_labels import Known
from halftrek.syntax.tokens import Token


def defined(known: Known, definitions: Sequence[Definition]) -> dict[str, str]:
    """Each name with its formula, in which labels that are numbers are these, and those that are one are one."""
    found: dict[str, str] = {}
    for one in definitions:
        name = one.name
        if name is None:
            continue
        if name.word in found or name.word in known.same:
            known.model.refuse(f"{name.word!r} is defined and is another label too; rename it", name)
        following = (*one.tokens[1:], None)
        pieces = [_piece(known, found, *both) for both in zip(one.tokens, following, strict=False)]
        try:
            read_formula(" ".join(pieces))
        except FormulaError as error:
            place = _token_at(one.tokens or (name,), pieces, error.at)
            raise GraphSyntaxError(str(error), known.model.text, place.start, place.end) from None
        found[name.word] = " ".join(pieces)
    return found


def _piece(known: Known, before: dict[str, str], token: Token, after: Token | None) -> str:
    if token.kind != "name" or (after is not None and after.text == "(" and token.text in FUNCTIONS):
        return token.text
    if token.text in known.same:
        label = known.root(token.text)
        return label if label not in known.numbers else f"({number_text(known.numbers[label])})"
    if token.text not in before and not (after is not None and after.text == "("):
        known.model.refuse(
            f"no parameter of the text has the label {token.text!r}, and no line before defines it", token
        )
    return token.text


def _token_at(tokens: Sequence[Token], pieces: Sequence[str], at: int) -> Token:
    """The token that a place in the joined pieces belongs to."""
    start = 0
    for token, piece in zip(tokens, pieces, strict=False):
        start += len(piece) + 1
        if at < start:
            return token
    return tokens[-1]
