"""The text of an assumption to its value: ``abs(z -> y) <= 0.1``, ``corr(x <-> y) in [-0.3, 0.3]`` and so on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isfinite

from halftrek.errors import AssumptionSyntaxError, InputError
from halftrek.graphs import Graph
from halftrek.partial.assumptions.checks import refuse_beyond_reach, refuse_contradictions, refuse_misfit, unknown_name
from halftrek.partial.assumptions.kinds import AbsoluteSum, Assumption, Compared, Confounded, Norm, Within
from halftrek.partial.assumptions.quantities import (
    Confounding,
    Endogeneity,
    ErrorCorrelation,
    ErrorCovariance,
    Quantity,
    Reliability,
    Share,
    Weight,
)
from halftrek.partial.assumptions.relaxing import relaxed
from halftrek.partial.assumptions.touching import as_equations
from halftrek.syntax.tokens import UNSIGNED, Cursor, Token, rules, scan

_RULES = rules(comments=r"#[^\n]*", symbols=r"<->|->|<-|<=|>=|==|[→←↔≤≥()\[\]{},=|<>+*/-]", number=UNSIGNED)
_ARROWS = {"->": "->", "→": "->", "<-": "<-", "←": "<-", "<->": "<->", "↔": "<->"}
_RELATIONS = {"<=": "<=", "<": "<=", "≤": "<=", ">=": ">=", ">": ">=", "≥": ">=", "==": "==", "=": "=="}
_TURNED = {"<=": ">=", ">=": "<=", "==": "=="}
FORMS = (
    "abs(z -> y) <= 0.1, corr(x <-> y) in [-0.3, 0.3], x <-> y >= 0, corr(x, error(y)) <= 0.2, "
    "corr(z, error(y)) <= corr(x, error(y)), confounding(x, y) <= (0.1, 0.2), confounding(x, y) <= 2 * z, "
    "norm(z1 -> y, z2 -> y) <= 0.5, share(y) <= 0.9 or reliability(w) >= 0.8"
)


@dataclass(frozen=True)
class _Term:
    """One side of an assumption as it was read: what it is about, and whether its size alone counts."""

    about: Quantity | Confounding | tuple[Weight, ...]
    start: Token
    size: bool = False  # in bars or abs( )
    norm: bool = False
    factor: float = 1.0


def read_assumptions(
    given: str | Assumption | Iterable[str | Assumption], graph: Graph | None = None
) -> tuple[Assumption, ...]:
    """Assumptions from texts or values; with a graph their names are checked, and that no two exclude each other."""
    several = (given,) if isinstance(given, str | Assumption) else tuple(given)
    found = tuple(read_assumption(one, graph) for one in several)
    refuse_contradictions(found)
    if graph is not None:
        refuse_contradictions(found, relaxed(graph, found))
    return as_equations(found)


def read_assumption(given: str | Assumption, graph: Graph | None = None) -> Assumption:
    """The assumption that a text states; an error points at the piece that is wrong."""
    if isinstance(given, Assumption):
        if graph is not None:
            refuse_misfit(given, graph)
        refuse_beyond_reach(given)
        return given
    if not isinstance(given, str):
        raise InputError(f"an assumption is a text, for instance 'abs(z -> y) <= 0.1', not {type(given).__name__}")
    reader = _Reader(given, graph)
    found = reader.assumption()
    if graph is not None:
        refuse_misfit(found, graph)
    return found


class _Reader:
    def __init__(self, text: str, graph: Graph | None) -> None:
        self.cursor = Cursor(text, scan(text, _RULES, AssumptionSyntaxError), AssumptionSyntaxError)
        self.graph = graph

    def assumption(self) -> Assumption:
        cursor = self.cursor
        if cursor.done:
            cursor.fail(f"the assumption is empty; write for instance {FORMS}")
        if self._number_is_next():
            return self._number_first()
        left = self._side()
        start = cursor.here
        if cursor.accept("in"):
            low, high = self._range()
            return self._within(left, low, high, start)
        relation = self._relation()
        if isinstance(left.about, Confounding):
            return self._confounded(left, relation)
        if self._number_is_next() and not self._factor_is_next():
            limit = self._end(self._number())
            return self._limited(left, relation, limit, start)
        return self._compared(left, relation)

    # -- forms of the whole -----------------------------------------------------------------------

    def _number_first(self) -> Assumption:
        """``0.1 <= q``, ``a <= q <= b``, or ``2 * corr(...) >= corr(...)``."""
        cursor, start = self.cursor, self.cursor.here
        if self._factor_is_next():
            left = self._side()
            return self._compared(left, self._relation())
        low = self._number()
        relation = self._relation()
        middle = self._side()
        if isinstance(middle.about, Confounding):
            cursor.fail("write what is assumed of confounding first: confounding(x, y) <= (0.1, 0.2)", middle.start)
        if cursor.done:
            return self._limited(middle, _TURNED[relation], low, start)
        second_at = cursor.here
        second = self._relation()
        high = self._end(self._number())
        if second != relation or relation == "==":
            cursor.fail("two limits are written a <= ... <= b, or with both signs turned", second_at)
        if relation == ">=":
            low, high = high, low
        return self._within(middle, low, high, start)

    def _limited(self, left: _Term, relation: str, limit: float, start: Token) -> Assumption:
        cursor = self.cursor
        if isinstance(left.about, tuple):
            if relation != "<=":
                cursor.fail("a norm or a sum of sizes can only be limited from above: <=", start)
            if limit < 0.0:
                cursor.fail("a norm or a sum of sizes is never negative; no model obeys this", start)
            made = Norm if left.norm else AbsoluteSum
            return made(left.about, limit)
        if relation == "==":
            return self._within(left, limit, limit, start)
        return self._within(left, -inf, limit, start) if relation == "<=" else self._within(left, limit, inf, start)

    def _within(self, term: _Term, low: float, high: float, start: Token) -> Assumption:
        cursor, quantity = self.cursor, term.about
        if isinstance(quantity, tuple):
            if not isfinite(low) or low <= 0.0:
                return self._limited(term, "<=", high, start)
            cursor.fail("a norm or a sum of sizes can only be limited from above: <=", start)
        if isinstance(quantity, Confounding):
            cursor.fail(f"{quantity} has two shares: write {quantity} <= (0.1, 0.2), or {quantity} <= 2 * z", start)
        if low > high:
            cursor.fail(f"the lower limit {low:g} is above the upper one {high:g}; no model obeys this", start)
        if term.size:
            if high < 0.0:
                cursor.fail("a size is never negative; no model obeys this", start)
            if low > 0.0 and low != high:
                cursor.fail("a size can only be limited from above; state a sign, as in x -> y >= 0.1", start)
            if low > 0.0:
                cursor.fail("a size that is held leaves two values; state the sign, as in x -> y == 0.1", start)
            low, high = -high, high
        found = Within(quantity, low, high)
        refuse_beyond_reach(found, lambda why: cursor.fail(why, start))
        return found

    def _compared(self, left: _Term, relation: str) -> Compared:
        cursor = self.cursor
        at = cursor.here
        right = self._side()
        self._ended()
        if relation == "==":
            cursor.fail("two correlations can be compared by <= or >=, not set equal", at)
        if relation == ">=":
            left, right = right, left
        for term in (left, right):
            if not isinstance(term.about, ErrorCorrelation | Endogeneity):
                cursor.fail(
                    "only correlations can be compared with each other: corr(z, error(y)) <= corr(x, error(y)); of "
                    "other numbers give a limit",
                    term.start,
                )
        if left.size != right.size:
            cursor.fail("compare sizes with sizes: |corr(...)| <= |corr(...)|", at)
        assert isinstance(left.about, ErrorCorrelation | Endogeneity)
        assert isinstance(right.about, ErrorCorrelation | Endogeneity)
        return Compared(left.about, right.about, right.factor / left.factor, left.size)

    def _confounded(self, left: _Term, relation: str) -> Confounded:
        cursor = self.cursor
        pair = left.about
        assert isinstance(pair, Confounding)
        if relation != "<=":
            cursor.fail(f"confounding can only be limited from above: {pair} <= (0.1, 0.2)", left.start)
        if opened := cursor.accept("("):
            first = self._number()
            cursor.expect(",", "',' and the share for the second variable are needed here: (0.1, 0.2)")
            second = self._number()
            cursor.expect(")", "this bracket is closed by ')'")
            self._ended()
            found = Confounded(pair, (first, second))
            refuse_beyond_reach(found, lambda why: cursor.fail(why, opened))
            return found
        at = cursor.here
        times = 1.0
        if self._number_is_next():
            times = self._number()
            cursor.expect("*", f"'*' and a variable are needed here, or two shares: {pair} <= (0.1, 0.2)")
        like = self._name()
        self._ended()
        if times < 0.0:
            cursor.fail("a strength is never negative", at)
        return Confounded(pair, None, times, like)

    # -- sides ------------------------------------------------------------------------------------

    def _side(self) -> _Term:
        """A quantity, perhaps its size, a sum of sizes or a norm, with a factor where two are compared."""
        cursor = self.cursor
        factor, start = 1.0, cursor.here
        if self._number_is_next():
            factor = self._number()
            cursor.expect("*", "'*' is needed here")
            if factor <= 0.0:
                cursor.fail("a factor of a comparison is positive", start)
        if cursor.sees("norm"):
            return self._norm()
        first = self._sized()
        if not cursor.sees("+"):
            return _Term(first.about, start, first.size, factor=factor)
        weights = [self._weight(first)]
        while cursor.accept("+"):
            weights.append(self._weight(self._sized()))
        return _Term(tuple(weights), start, size=True)

    def _norm(self) -> _Term:
        cursor, start = self.cursor, self.cursor.take()
        cursor.expect("(", "'(' is needed here: norm(z1 -> y, z2 -> y) <= 0.5")
        weights: list[Weight] = []
        while True:
            at = cursor.here
            found = self._quantity()
            if not isinstance(found, Weight):
                cursor.fail("a norm is of weights: norm(z1 -> y, z2 -> y) <= 0.5", at)
            weights.append(found)
            if not cursor.accept(","):
                break
        cursor.expect(")", "this bracket is closed by ')'")
        return _Term(tuple(weights), start, norm=True)

    def _weight(self, term: _Term) -> Weight:
        if not isinstance(term.about, Weight) or not term.size:
            self.cursor.fail("only sizes of weights can be added: |z1 -> y| + |z2 -> y| <= 0.1", term.start)
        return term.about

    def _sized(self) -> _Term:
        cursor, start = self.cursor, self.cursor.here
        if cursor.accept("|"):
            found = self._quantity()
            cursor.expect("|", "this bar is closed by '|'")
            return _Term(found, start, size=True)
        if cursor.sees("abs") and cursor.after.text == "(":
            cursor.take()
            cursor.take()
            found = self._quantity()
            cursor.expect(")", "this bracket is closed by ')'")
            return _Term(found, start, size=True)
        return _Term(self._quantity(), start)

    def _quantity(self) -> Quantity | Confounding:
        cursor = self.cursor
        word = cursor.here.text if cursor.here.kind == "name" and cursor.after.text == "(" else ""
        if word in ("corr", "cor", "confounding", "share", "reliability"):
            cursor.take()
            cursor.take()
            found = self._function("corr" if word == "cor" else word)
            cursor.expect(")", "this bracket is closed by ')'")
            return found
        if word:
            cursor.fail(f"{word!r} is not understood here; write for instance {FORMS}")
        return self._edge()

    def _function(self, word: str) -> Quantity | Confounding:
        cursor = self.cursor
        if word in ("share", "reliability"):
            return (Share if word == "share" else Reliability)(self._name())
        if word == "confounding":
            first = self._name()
            cursor.expect(",", "',' and the second variable are needed here: confounding(x, y)")
            return Confounding(first, self._other(first))
        if cursor.after.text in _ARROWS:
            at = cursor.after
            edge = self._edge()
            if not isinstance(edge, ErrorCovariance):
                cursor.fail("the correlation of errors is written corr(x <-> y)", at)
            return ErrorCorrelation(edge.first, edge.second)
        first = self._name()
        cursor.expect(",", "'<->' or ', error(y)' is needed here: corr(x <-> y), corr(x, error(y))")
        cursor.expect("error", "error(...) is needed here: corr(x, error(y))")
        cursor.expect("(", "'(' and a variable are needed here: error(y)")
        second = self._name()
        cursor.expect(")", "this bracket is closed by ')'")
        if first == second:
            cursor.fail("two different variables are needed here")
        return Endogeneity(first, second)

    def _edge(self) -> Weight | ErrorCovariance:
        cursor = self.cursor
        first = self._name()
        if not cursor.sees(*_ARROWS):
            cursor.fail(f"{cursor.here.shown()} is not understood here; write for instance {FORMS}")
        kind = _ARROWS[cursor.take().text]
        second = self._other(first)
        if kind == "<->":
            return ErrorCovariance(first, second)
        return Weight(first, second) if kind == "->" else Weight(second, first)

    # -- small pieces -----------------------------------------------------------------------------

    def _name(self) -> str:
        token = self.cursor.expect_name()
        if self.graph is not None and (why := unknown_name(token.word, self.graph)):
            self.cursor.fail(why, token)
        return token.word

    def _other(self, first: str) -> str:
        at = self.cursor.here
        second = self._name()
        if second == first:
            self.cursor.fail(f"{second!r} is named twice; two different variables are needed here", at)
        return second

    def _relation(self) -> str:
        if not self.cursor.sees(*_RELATIONS):
            self.cursor.fail(f"'<=', '>=', '==' or 'in [a, b]' is needed here, not {self.cursor.here.shown()}")
        return _RELATIONS[self.cursor.take().text]

    def _range(self) -> tuple[float, float]:
        cursor = self.cursor
        cursor.expect("[", "a range is written [a, b]")
        low = self._number()
        cursor.expect(",", "',' and the upper limit are needed here: [a, b]")
        high = self._number()
        cursor.expect("]", "a range is closed by ']'")
        self._ended()
        return low, high

    def _number_is_next(self) -> bool:
        here = self.cursor.here
        return here.kind == "number" or (here.text in ("-", "+") and self.cursor.after.kind == "number")

    def _factor_is_next(self) -> bool:
        return self.cursor.here.kind == "number" and self.cursor.after.text == "*"

    def _number(self) -> float:
        cursor = self.cursor
        sign = -1.0 if cursor.accept("-") else 1.0
        if sign > 0.0:
            cursor.accept("+")
        if cursor.here.kind != "number":
            cursor.fail(f"a number is needed here, not {cursor.here.shown()}")
        at = cursor.here
        value = sign * float(cursor.take().text)
        if not isfinite(value) or abs(value) > 1e60:
            cursor.fail("this number is too large to compute with; measure in other units", at)
        return value

    def _end(self, value: float) -> float:
        self._ended()
        return value

    def _ended(self) -> None:
        if not self.cursor.done:
            self.cursor.fail(f"{self.cursor.here.shown()} is not understood after the end of an assumption")
