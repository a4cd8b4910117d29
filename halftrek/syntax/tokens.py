"""Text cut into tokens that know their place, and a cursor over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

from halftrek.errors import TextError

# Patterns are written so that no piece of a text is tried in two ways: reading takes a time that grows with the text
# and not with its square, whatever the text.
UNSIGNED = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])"
NUMBER = rf"[-+]?{UNSIGNED}"
QUOTED = r'"(?:[^"\\\n]|\\.)*"|' + r"'(?:[^'\\\n]|\\.)*'"
NAME = r"\w[\w.]*"
DEEPEST = 100  # braces within braces in a graph; ours to choose, so that Python's own limit never decides

TextFault = Callable[[str, str, int, int], TextError]


class Token(NamedTuple):
    """A piece of the user's text; ``word`` is the text without its quotes."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The text, without quotes and escapes if it was quoted."""
        if self.kind != "quoted":
            return self.text
        if "\\" not in self.text:
            return self.text[1:-1]
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "r": "\r"}.get(m[1], m[1]), self.text[1:-1])

    @property
    def is_name(self) -> bool:
        """True if the token can be the name of a variable."""
        return self.kind in ("name", "quoted") or (self.kind == "number" and self.text[0].isdigit())

    def shown(self) -> str:
        """The token as an error message quotes it."""
        return {"end": "the end of the text", "newline": "the end of the line"}.get(self.kind, repr(self.text))


def rules(*, comments: str, symbols: str, name: str = NAME, number: str = NUMBER) -> re.Pattern[str]:
    """The pattern of a syntax: comments and symbols as alternatives, longest first."""
    return re.compile(
        rf"(?P<newline>\n)|(?P<space>(?:[^\S\n]|\ufeff)+)|(?P<comment>{comments})|(?P<quoted>{QUOTED})"
        rf"|(?P<number>{number})|(?P<symbol>{symbols})|(?P<name>{name})|(?P<unknown>.)",
        re.DOTALL,
    )


def scan(text: str, pattern: re.Pattern[str], fault: TextFault, *, newlines: bool = False) -> Iterator[Token]:
    """The tokens of the text without spaces and comments, then one of kind "end"."""
    for match in pattern.finditer(text):  # one after the other without a gap: there is a kind for everything
        kind = match.lastgroup or ""
        if kind in ("space", "comment") or (kind == "newline" and not newlines):
            continue
        at, end = match.span()
        if kind == "unknown":
            raise fault(_why_unknown(text, at), text, at, at + 1)
        yield Token(kind, match[0], at, end)
    stop = len(text.rstrip())
    yield Token("end", "", stop, stop + 1)


class Cursor:
    """A place in a list of tokens, with errors that point there."""

    def __init__(self, text: str, tokens: Iterator[Token], fault: TextFault) -> None:
        self.text = text
        self._tokens = list(tokens)
        self._at = 0
        self._fault = fault
        self.here = self._tokens[0]  # the next token

    @property
    def after(self) -> Token:
        """The token after the next one."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)]

    @property
    def third(self) -> Token:
        """The token after that."""
        return self._tokens[min(self._at + 2, len(self._tokens) - 1)]

    def split(self, length: int) -> None:
        """Cut the next token in two after some characters."""
        token = self.here
        middle = token.start + length
        pieces = [
            Token("symbol", token.text[:length], token.start, middle),
            Token("symbol", token.text[length:], middle, token.end),
        ]
        self._tokens[self._at : self._at + 1] = pieces
        self.here = pieces[0]

    @property
    def beyond_newlines(self) -> Token:
        """The next token that is no newline."""
        at = self._at
        while self._tokens[at].kind == "newline":
            at += 1
        return self._tokens[at]

    @property
    def statement(self) -> Iterator[Token]:
        """The tokens up to the end of the line or a semicolon, none passed over."""
        for at in range(self._at, len(self._tokens)):
            token = self._tokens[at]
            if token.kind in ("newline", "end") or token.text == ";":
                return
            yield token

    @property
    def done(self) -> bool:
        """True at the end of the text."""
        return self.here.kind == "end"

    def take(self) -> Token:
        """The next token, passed over."""
        token = self.here
        if token.kind != "end":
            self._at += 1
            self.here = self._tokens[self._at]
        return token

    def sees(self, *texts: str) -> bool:
        """True if the next token is one of these symbols or bare words."""
        token = self.here
        return token.text in texts and token.kind != "quoted"

    def accept(self, *texts: str) -> Token | None:
        """The next token, passed over, if it is one of these."""
        token = self.here
        return self.take() if token.text in texts and token.kind != "quoted" else None

    def expect(self, text: str, why: str) -> Token:
        """The next token, passed over; it must be this one."""
        if not self.sees(text):
            self.fail(f"{why}, not {self.here.shown()}")
        return self.take()

    def expect_name(self, why: str = "a variable's name is needed here") -> Token:
        """The next token, passed over; it must be a name."""
        if not self.here.is_name:
            self.fail(f"{why}, not {self.here.shown()}")
        return self.take()

    def skip(self, *texts: str) -> None:
        """Pass over any number of these."""
        token = self.here
        while token.text in texts and token.kind not in ("quoted", "end"):
            self._at += 1
            token = self.here = self._tokens[self._at]

    def fail(self, message: str, start: Token | None = None, end: Token | None = None) -> NoReturn:
        """Raise, pointing from one token to another (at the next token if none is given)."""
        first = start or self.here
        last = end or first
        raise self._fault(message, self.text, first.start, last.end)


def _why_unknown(text: str, at: int) -> str:
    found = text[at]
    if found in "\"'":
        return "this quote is not closed on its line"
    if text.startswith("/*", at):
        return "this comment is not closed; end it with */"
    return f"{found!r} is not understood here; put names with such characters in double quotes"
