"""What to know of an answer because normal variables are behind some columns: what each was taken for, and units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from halftrek.data.columns.kinds import shapes
from halftrek.data.columns.ordered import in_order
from halftrek.estimation import Fitted
from halftrek.estimation.given.data_kind import data_of
from halftrek.graphs import Graph
from halftrek.layer import Margin
from halftrek.notes import Note, note
from halftrek.queries import Query, Standardized, variables_of
from halftrek.queries.kinds.effects import EFFECTS, ErrorCovariance, ends_of
from halftrek.queries.kinds.terms import Arithmetic, Leaf, case_of, leaves, sums_of

ONE, MANY = "acts as the category it is", "act as the categories they are"


def layer_notes(fit: Fitted, query: Query) -> tuple[Note, ...]:
    """In which units an effect is: those of the variables behind, where an end is ordered or ranked."""
    layer = fit.moments.layer
    if layer is None:
        return ()
    found: dict[Note, None] = {}
    for leaf in leaves_of(query):
        if isinstance(leaf, EFFECTS) and not isinstance(leaf, Standardized):
            cause, effect = ends_of(leaf)
            behind = [v for v in (cause, effect) if layer.margin(v) is not None]
            if behind:
                last = layer.margin(effect)
                ask = f"P({effect} > {middle(last):g} | do({cause}=...))" if last is not None else ""
                code = "behind units, ask" if ask and layer.margin(cause) is None else "behind units"
                found[note(code, variables=" and ".join(behind), ask=ask)] = None
    return tuple(found)


def acting_notes(fit: Fitted, query: Query) -> tuple[Note, ...]:
    """The same where categories act: an effect is on, or of, the variable behind what is in categories or ranked."""
    assert fit.acting is not None
    margins, found = fit.acting.margins, dict[Note, None]()
    for leaf in leaves_of(query):
        if isinstance(leaf, EFFECTS):
            cause, effect = ends_of(leaf)
            if effect in margins and margins[effect].cut:
                found[note("error units", variable=effect, middle=f"{middle(margins[effect]):g}")] = None
            if cause in margins and margins[cause].kind == "behind":
                found[note("error units of a cause", variable=cause)] = None
            ranked, mixed = [v for v in (cause, effect) if v in margins and not margins[v].cut], _mixed(fit)
            for code, own in (
                ("ranked units", [v for v in ranked if v not in mixed]),
                ("mixed ranked units", [v for v in ranked if v in mixed]),
            ):
                if own:
                    found[note(code, variables=" and ".join(own))] = None
    return tuple(found)


def taken_notes(fit: Fitted) -> tuple[Note, ...]:
    """What each column was taken for, for a summary of the fit."""
    if fit.acting is not None:
        acts = _alike({v: _values(m) for v, m in fit.acting.margins.items() if m.kind == "acts"})
        texts = [f"{_names(vs)} {ONE if len(vs) == 1 else MANY} ({values})" for values, vs in acts.items()]
        texts += _taken({v: m for v, m in fit.acting.margins.items() if m.kind != "acts"})
        missing = [note("missing values", text=fit.acting.missing)] if fit.acting.missing else []
        mixed = [note("taken for, mixed ranks", columns=", ".join(_mixed(fit)))] if _mixed(fit) else []
        return (note("taken for, acting", columns="; ".join(texts)), *mixed, *missing)
    layer = fit.moments.layer
    if layer is None:
        return ()
    named = {v: m for v, m in zip(layer.names, layer.margins, strict=True) if m.kind != "plain"}
    return (note("taken for", columns="; ".join(_taken(named))),)


def _taken(margins: Mapping[str, Margin]) -> list[str]:
    """What columns are taken for, those alike together."""
    alike = _alike({v: _what(m) for v, m in margins.items()})
    return [f"{_names(vs)} {'is' if len(vs) == 1 else 'are'} {what}" for what, vs in alike.items()]


def _alike(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """The names that have each text."""
    found: dict[str, list[str]] = {}
    for v, text in texts.items():
        found.setdefault(text, []).append(v)
    return found


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _mixed(fit: Fitted) -> tuple[str, ...]:
    """Ranked columns on which a category acts."""
    from halftrek.estimation.acts.ranks import mixed_ranks  # here, for few need it

    return mixed_ranks(fit.graph, {} if fit.acting is None else fit.acting.margins)


def unsaid_notes(fit: Fitted, query: Query | None = None) -> tuple[Note, ...]:
    """Causes of two values of which nobody said what acts, where columns have kinds: each was taken for normal.

    Ancestors of a question's variables matter to it; without one, all do. Where other categories act, a cause that has
    none itself is only conditioned on, whatever its distribution, but by answers that are averages over it.
    """
    kinds = margins_of(fit)
    if not kinds:
        return ()
    graph, found = fit.graph, list[Note]()
    about = set(graph.observed) if query is None else set(variables_of(query))
    concerned = graph.ancestors(about & set(graph.observed)) | about
    for v, shape in shapes(data_of(fit)).items():
        given = fit.acting is not None and not graph.parents(v) and not graph.siblings(v)
        given = given and (query is None or not _averaged(graph, query, v, kinds.keys()))
        if shape == "two values" and v in concerned and v not in kinds and not given:
            behind = [u for u in graph.observed if u in concerned & kinds.keys() & graph.descendants({v}) - {v}]
            if behind and graph.hidden:
                found.append(note("two values, unsaid beside hidden", variable=v, effect=behind[0]))
            elif behind:
                found.append(note("two values, unsaid", variable=v, effect=behind[0]))
    return tuple(found)


def _averaged(graph: Graph, query: Query, v: str, kinds: Set[str]) -> bool:
    """True if an answer is an average over a cause of what it does to columns that are in categories or ranked.

    A mean of what is linear in the cause needs no more than its mean, and no average is taken where it is given or set.
    """
    for leaf in leaves_of(query):
        if isinstance(leaf, (*EFFECTS, ErrorCovariance, Arithmetic)):  # of arithmetic, the leaves are looked at
            continue
        case = case_of(leaf)
        if any(u.variable == v and not u.changes for u in case.given):
            continue
        sums = (*sums_of(leaf), *(event.of for event in case.events))
        for u in (*case.given, *(variant for of in sums for _, variant in of.parts)):
            held = {*u.held, *case.placed(u).held}
            world = Graph([e for e in graph.directed if e[1] not in held], observed=graph.observed)
            if v not in held and world.ancestors({u.variable}) & world.descendants({v}) & kinds:
                return True
    return False


def margins_of(fit: Fitted) -> dict[str, Margin]:
    """The columns that are not their own variables, by name."""
    if fit.acting is not None:
        return dict(fit.acting.margins)
    layer = fit.moments.layer
    pairs = () if layer is None else zip(layer.names, layer.margins, strict=True)
    return {v: margin for v, margin in pairs if margin.kind != "plain"}


def _what(margin: Margin) -> str:
    size = len(margin.values)
    if margin.kind == "ranked":
        return f"ranked ({size:,} values)"
    what = "ordered" if margin.kind == "ordered" else "a cut of a continuous cause"
    return f"{what} ({_values(margin)})"


def _values(margin: Margin) -> str:
    texts = {x: text for text, x in in_order("", margin.labels).numbers.items()} if margin.labels else {}
    values = [f"{x:g}" for x in margin.values.tolist()]
    if set(values) - set(margin.labels):
        values = [f"{x:g} {texts[x]!r}" if x in texts else f"{x:g}" for x in margin.values.tolist()]
    return ", ".join(values)


def middle(margin: Margin) -> float:
    """A value that about half of the categories are above."""
    return float(margin.values[(len(margin.values) - 1) // 2])


def leaves_of(query: Query) -> Iterable[Leaf | Query]:
    """The parts of arithmetic, or the question itself."""
    return leaves(query) if isinstance(query, Arithmetic) else (query,)
