"""May a composite question be known? By its parts, by the effect that it amounts to, else by its own gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from halftrek.bottom.choices import Scope
from halftrek.errors import QueryError
from halftrek.graphs import quoted
from halftrek.identification.arrows.relevance import simplified
from halftrek.identification.counterfactual import joined_recipe
from halftrek.identification.local.functionals import composite_values, functionals
from halftrek.identification.local.jacobian import random_point
from halftrek.identification.local.parameters import Point
from halftrek.identification.local.pieces import is_rational
from halftrek.identification.local.smooth import unchanged
from halftrek.identification.local.witness import moves_freely
from halftrek.identification.numbers.fields import Reals
from halftrek.identification.numbers.modular import PRIMES, PrimeField
from halftrek.identification.verdict import Verdict
from halftrek.queries.checks import all_variants, terms_of
from halftrek.queries.gathering import gathered
from halftrek.queries.kinds.terms import Expression, Leaf, case_of, leaves, sums_of
from halftrek.queries.kinds.variants import Draw, Event, Scale, Shift, Sum, Variant
from halftrek.queries.types import (
    Arithmetic,
    Composite,
    DirectEffect,
    Distribution,
    Plain,
    Probability,
    Quantile,
    Query,
    Standardized,
    Statistic,
    ThroughEffect,
    TotalEffect,
    Value,
    is_intervention,
)
from halftrek.queries.written.writing import number

if TYPE_CHECKING:
    from halftrek.graphs import Graph
    from halftrek.identification.study import Study

Decide = Callable[[Query, Scope], Verdict]
Asked = Statistic | Probability | Quantile | Distribution
_IN_LINEAR = "In linear models"


@dataclass(frozen=True)
class Part:
    """A question whose answer is needed; ``linear`` if it is enough only where equations are linear."""

    query: Query
    linear: bool = False


def decide_composite(study: Study, query: Composite, scope: Scope, decide: Decide) -> Verdict | None:
    """The verdict, if parts or an equal effect settle it; else None, and the gradient has to be looked at."""
    graph = study.graph
    if scope == "nonparametric":
        return _from_arrows(graph, query, _parts(query, graph), decide)
    if is_rational(query):
        found = _as_effect(study, query, decide)
        if found is not None:
            return found
    for asked in (query, simplified(graph, query)):
        parts = _parts(asked, graph)
        if not parts:
            reason = "It follows from the observed distribution and from what the question itself sets."
            formulas = (str(query), query.latex)
            return Verdict(query, graph, "identified", "observed", "linear", *formulas, 1, reasons=(reason,))
        verdicts = _all_identified(parts, decide)
        if verdicts is not None:
            return _by_parts(graph, query, parts, verdicts)
    return _as_unchanged(study, query, decide)


def in_ranges(query: Composite) -> Composite:
    """The question with ``y > 1`` for ``y = 1``, which is identified if that is."""
    return cast("Composite", _in_ranges(query)) if isinstance(query, Probability | Arithmetic) else query


def _in_ranges(term: Expression) -> Expression:
    match term:
        case Arithmetic(operation, left, right):
            return Arithmetic(operation, _in_ranges(left), _in_ranges(right))
        case Probability(events, case):
            return Probability(tuple(e if e.at is None else Event(e.of, low=e.at) for e in events), case)
    return term


def as_asked(verdict: Verdict, query: Composite) -> Verdict:
    """The verdict on a question in ranges as one on ``y = 1``, which two models have as a variable above a cut."""
    witness = verdict.witness
    if witness is not None and witness.quantity == str(in_ranges(query)):
        parts = leaves(query) if isinstance(query, Arithmetic) else (query,)
        points = [e for term in parts if isinstance(term, Probability) for e in term.events if e.at is not None]
        meant = dict.fromkeys(f"{e} where a normal variable behind {e.of} is above {e.at:g}" for e in points)
        witness = replace(witness, quantity=f"{query} ({'; '.join(meant)})")
    return replace(verdict, query=query, witness=witness)


def by_terms(graph: Graph, query: Composite, decide: Decide) -> Verdict | None:
    """Identified, if every term is once means under one condition are one mean: what is not identified may cancel."""
    terms = [] if isinstance(query, Distribution) else list(dict.fromkeys(_terms(query, graph)))
    if terms in ([], [query]):
        return None
    parts = [Part(term, linear=True) for term in terms]
    verdicts = _all_identified(parts, decide)
    return None if verdicts is None else _by_parts(graph, query, parts, [_by_name(v) for v in verdicts])


def _by_name(part: Verdict) -> Verdict:
    """The verdict with the part's own name in sentences that speak of it."""
    reasons = (r.replace(f"{_IN_LINEAR} it is", f"{_IN_LINEAR} {part.query} is", 1) for r in part.reasons)
    return replace(part, reasons=tuple(reasons))


def _terms(expression: Expression, graph: Graph) -> Iterator[Leaf]:
    """The numbers that an expression is made of; of means of one variable under one condition their sum."""
    match expression:
        case float():
            return
        case Arithmetic(operation):
            whole = gathered(expression, graph) if operation in "+-" else expression
            sides = (whole.left, whole.right) if isinstance(whole, Arithmetic) else (whole,)
            for side in sides:
                yield from _terms(side, graph)
        case Statistic("E", (of,), case):
            by_variable: dict[str, list[tuple[float, Variant]]] = {}
            for weight, v in of.parts:
                by_variable.setdefault(v.variable, []).append((weight, v))
            yield from (Statistic("E", (Sum(tuple(parts)),), case) for parts in by_variable.values())
        case _:
            yield expression


def _parts(query: Composite, graph: Graph) -> list[Part]:
    return list(dict.fromkeys(p for term in terms_of(query) for p in parts_of(term, graph)))


def _all_identified(parts: list[Part], decide: Decide) -> list[Verdict] | None:
    """The linear verdicts on all parts, None if one of them is not identified."""
    found = []
    for part in parts:
        found.append(decide(part.query, "linear"))
        if not found[-1].identified:
            return None
    return found


def _from_arrows(graph: Graph, query: Composite, parts: list[Part], decide: Decide) -> Verdict:
    verdicts = []
    for part in parts:
        if part.linear or not isinstance(part.query, Distribution | TotalEffect):
            raise QueryError(
                f"{query} is about coefficients of linear equations and means nothing without them; "
                f"ask about do(x=...), or with scope='linear'"
            )
        verdicts.append(decide(part.query, "nonparametric"))
        if not verdicts[-1].identified:
            alone = len(parts) == 1 and (isinstance(part.query, TotalEffect) or len(part.query.outcomes) == 1)
            reasons = (f"It needs {part.query}.", *verdicts[-1].reasons)
            status = verdicts[-1].status if alone else "undecided"
            return Verdict(query, graph, status, verdicts[-1].method, "nonparametric", reasons=reasons)
    return _by_parts(graph, query, parts, verdicts)


def _by_parts(graph: Graph, query: Composite, parts: list[Part], verdicts: list[Verdict]) -> Verdict:
    """Identified, because every part is."""
    telling = [v for v in verdicts if v.method not in ("observed", "no path")] or verdicts
    method = " and ".join(dict.fromkeys(v.method for v in telling))
    linear = any(p.linear or v.scope == "linear" for p, v in zip(parts, verdicts, strict=True))
    reasons = list(dict.fromkeys(r for v in telling for r in v.reasons))
    if len(telling) > 1 or any(p.linear for p in parts):
        needed = ", ".join(dict.fromkeys(str(v.query) for v in telling))
        reasons.insert(0, f"It is made of parts that are all identified: {needed}.")
    where = "; ".join(dict.fromkeys(_labelled(v) for v in telling if v.estimand and v.method != "observed"))
    tex = ",\\; ".join(f"{v.query.latex} = {v.latex}" for v in telling if v.latex and v.method != "observed")
    text = str(query) + (f" where {where.replace(' where ', '; ')}" if where else "")
    latex = query.latex + (f" \\quad\\text{{where }} {tex}" if tex else "")
    recipe = joined_recipe(graph, telling)
    scope: Scope = "linear" if linear else "nonparametric"
    return Verdict(query, graph, "identified", method, scope, text, latex, 1, recipe, reasons=tuple(reasons))


def _labelled(part: Verdict) -> str:
    """What a part is, with its name before it; a linear formula of an intervention is one of its effects."""
    if part.scope == "linear" and is_intervention(part.query) and part.recipe is not None:
        outputs = part.recipe.outputs
        return f"[{outputs[0]}] = {part.estimand}" if len(outputs) == 1 else str(part.estimand)
    return f"[{part.query}] = {part.estimand}"


# -- what a term needs ---------------------------------------------------------------------------


def parts_of(term: Query, graph: Graph) -> Iterator[Part]:
    """Questions whose answers, with the observed distribution, give the term."""
    match term:
        case Standardized(effect):
            yield Part(effect)
        case Statistic() | Probability() | Quantile() | Distribution():
            if all(_as_held(v) is not None for v in all_variants(term)):
                yield from _distributions(term)
            else:
                for v in dict.fromkeys(all_variants(term)):
                    yield from (Part(effect, linear=True) for effect in effects_behind_variant(graph, v))
        case _:
            yield Part(term)


def _as_held(v: Variant) -> Variant | None:
    """The variable where everything that is drawn anew is held at any value: knowing that is enough."""
    changes = {t: None if isinstance(c, Draw) else c for t, c in v.changes.items()}
    found = Variant(v.variable, changes)
    return found if found.plain and v.variable not in changes else None


def _distributions(term: Asked) -> Iterator[Part]:
    """Of a mean each variable by itself, of anything else all variables together."""
    case = case_of(term)
    inside = case.in_worlds
    given = {p: x for v, x in inside.given.items() if (p := _as_held(v)) is not None}
    sums = [case.placed_sum(of) for of in sums_of(term)] + [e.of for e in inside.events]
    outcomes = [p for of in sums for _, v in of.parts if (p := _as_held(v)) is not None and p not in given]
    drawn = any(isinstance(c, Draw) for c in case.do.values())
    if drawn:
        outcomes, given = [*outcomes, *given], {}
    separate = isinstance(term, Statistic) and term.kind == "E" and not drawn and not case.events
    for group in [[p] for p in outcomes] if separate else [outcomes]:
        if group:
            yield Part(_question(list(dict.fromkeys(group)), given))


def _question(outcomes: list[Variant], given: dict[Variant, Value]) -> Plain:
    worlds = {frozenset(p.held.items()) for p in (*outcomes, *given)}
    if len(worlds) > 1:
        return Distribution.across(outcomes, given)
    do = dict.fromkeys(outcomes[0].held)
    return Distribution.after((p.variable for p in outcomes), do, dict.fromkeys(p.variable for p in given))


def effects_behind_variant(graph: Graph, v: Variant) -> list[Plain]:
    """Effects that, with the observed distribution, give a variable of a changed world in linear models.

    A shift, a factor or a changed edge adds an effect times a change; what is held is held for all of them.
    """
    hard = [t for t, c in v.changes.items() if isinstance(t, str) and not isinstance(c, Shift | Scale)]
    soft = [t for t, c in v.changes.items() if isinstance(t, str) and isinstance(c, Shift | Scale)]
    edges = [t for t in v.changes if not isinstance(t, str)]
    points = list(dict.fromkeys([v.variable, *soft, *(u for u, _ in edges)]))
    found: list[Plain] = [DirectEffect(u, w) for u, w in edges]
    for target in points:
        if target in hard:
            continue
        if hard:
            found.append(Distribution.after((target,), dict.fromkeys(hard)))
        for moved in dict.fromkeys([*soft, *(w for _, w in edges)]):
            if moved not in (target, *hard) and target in graph.descendants(moved):
                found.append(Distribution.after((target,), dict.fromkeys([moved, *hard])))
    for change in v.changes.values():
        if isinstance(change, Variant):
            found += effects_behind_variant(graph, change)
    return found


# -- the effect that a question amounts to -------------------------------------------------------


def _as_effect(study: Study, query: Composite, decide: Decide) -> Verdict | None:
    """A verdict through one effect, if the question is a fixed multiple of it whatever the parameters are."""
    graph = study.graph
    if _is_zero(study, query):
        reason = "By the graph it is zero, whatever the coefficients are."
        return Verdict(query, graph, "identified", "no path", "linear", "0", "0", 1, reasons=(reason,))
    for effect in _candidates(graph, query):
        factor = _factor(study, query, effect)
        if factor is None:
            continue
        found = decide(effect, "linear")
        if not found.identified:
            return None
        same = "the same as" if factor == 1 else f"{number(float(factor))} times"
        reason = f"{_IN_LINEAR} it is {same} {_described(effect)}."
        text, latex = found.estimand, found.latex
        if factor != 1:
            times = number(float(factor))
            text = text and f"{times} · [{effect}] where [{effect}] = {text}"
            latex = latex and f"{times} \\cdot {latex}"
        return replace(found, query=query, scope="linear", estimand=text, latex=latex, reasons=(reason, *found.reasons))
    return None


def _as_unchanged(study: Study, query: Composite, decide: Decide) -> Verdict | None:
    """Identified, if what is changed makes no difference and the same question about the world as it is is."""
    plain = unchanged(query)
    if plain == query:
        return None
    for seed, prime in enumerate(PRIMES):
        point = random_point(study.table, PrimeField(prime), 311 + seed)
        asked, seen = composite_values(query, point), composite_values(plain, point)
        if len(asked) != len(seen) or (asked != seen).any():
            return None
    found = decide_composite(study, plain, "linear", decide)
    if found is None:
        return None
    reason = f"In linear models the change makes no difference here: it is the same as {plain}."
    return replace(found, query=query, scope="linear", reasons=(reason, *found.reasons))


def _described(effect: Plain) -> str:
    match effect:
        case TotalEffect(u, v):
            return f"the total effect {quoted(u)} ~> {quoted(v)}"
        case DirectEffect(u, v):
            return f"the direct effect {quoted(u)} -> {quoted(v)}"
    return f"the effect {effect}"


def _candidates(graph: Graph, query: Composite) -> Iterator[Plain]:
    """Effects of what is changed on what is asked, along all paths, along the arrow, through what is held apart."""
    seen: set[Plain] = set()
    for term in terms_of(query):
        if not isinstance(term, Statistic):
            continue
        for v in all_variants(term):
            changed = [w for t in v.changes for w in ((t,) if isinstance(t, str) else t)]
            apart = [t for t, c in v.changes.items() if isinstance(c, Variant) and isinstance(t, str)]
            found: list[Plain] = [TotalEffect(x, v.variable) for x in changed if x != v.variable]
            found += [DirectEffect(x, v.variable) for x in changed if x in graph.parents(v.variable)]
            found += [ThroughEffect((x, m, v.variable)) for m in apart for x in changed if x not in (m, v.variable)]
            yield from (e for e in found if e not in seen)
            seen |= set(found)


def _is_zero(study: Study, query: Composite) -> bool:
    points = (random_point(study.table, PrimeField(p), 211 + seed) for seed, p in enumerate(PRIMES))
    return all(int(composite_values(query, point)[0]) == 0 for point in points)


def _factor(study: Study, query: Composite, effect: Plain) -> Fraction | None:
    """The number that the question is as a multiple of an effect, checked modulo two primes; None if there is none."""
    values = np.random.default_rng(7).uniform(0.5, 1.5, study.table.count)
    here = Point(study.table, Reals(), values)
    asked, base = float(composite_values(query, here)[0]), float(functionals(effect, here).values[0])
    if base == 0.0:
        return None
    factor = Fraction(asked / base).limit_denominator(10**6)
    for seed, prime in enumerate(PRIMES):
        field = PrimeField(prime)
        point = random_point(study.table, field, 211 + seed)
        left, right = int(composite_values(query, point)[0]), int(functionals(effect, point).values[0])
        if (left - int(field.number(factor)) * right) % prime:
            return None
    return factor


def truly_moves(study: Study, query: Composite) -> bool:
    """True if the answer itself, not only a number that it is made of, moves while the covariance stays."""
    return moves_freely(study.graph, query)
