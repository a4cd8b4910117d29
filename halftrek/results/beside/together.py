"""Groups that are fitted together: one text of lavaan, parameters that are equal across groups, one likelihood."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import get_args

from numpy.typing import ArrayLike

from halftrek.bottom.calls import public
from halftrek.bottom.choices import Equal, LavaanFunction, Missing
from halftrek.bottom.frames import Frame, as_frame, library_of
from halftrek.bottom.words import listed
from halftrek.data import Moments, Patterns, RowReader
from halftrek.data.by_group.grouping import GroupLabels
from halftrek.data.by_group.groups import GroupMoments
from halftrek.errors import DataError, InputError
from halftrek.estimation.hidden.problem import Kind
from halftrek.estimation.hidden.together import Together, fit_shared, free_options
from halftrek.estimation.space import make_space
from halftrek.graphs import Graph
from halftrek.inference.checks.measures import Measures
from halftrek.inference.groups.together import (
    Shared,
    fit_of_group,
    measures_together,
    rows_of_definitions,
    rows_of_group,
)
from halftrek.inference.tables.parameter import Parameter
from halftrek.models import CGLSCM
from halftrek.results.given.inputs import read_grouped, with_warnings
from halftrek.results.given.lavaan import conventions_of, lavaan_text
from halftrek.syntax import GroupsText, detect_syntax, parse_groups
from halftrek.upward import Tabled


@dataclass(frozen=True)
class GroupParameter:
    """A parameter of one group, written as in lavaan; ``group`` is empty for what ``:=`` makes of several."""

    group: str
    lhs: str
    op: str
    rhs: str
    est: float
    se: float
    z: float
    p: float
    std: float
    note: str = ""

    @classmethod
    def of(cls, group: str, row: Parameter) -> GroupParameter:
        """A row of a table of parameters, with its group."""
        return cls(group, *(getattr(row, f.name) for f in fields(cls)[1:]))


@dataclass(frozen=True, eq=False, repr=False)
class FitsTogether(Tabled):
    """Groups that were fitted together: ``params()``, ``measures()``, and the model of each group in ``models``.

    ``at_zero`` are groups and variables whose error variance ended at zero; ``frame`` is the library whose frame the
    data were.
    """

    groups: tuple[str, ...]
    n: float
    loglik: float
    converged: bool
    fit: Measures
    rows: tuple[GroupParameter, ...]
    models: Mapping[str, CGLSCM]
    at_zero: tuple[tuple[str, str], ...] = ()
    frame: str = ""

    def params(self) -> Frame:
        """A tidy frame, one row for each group and parameter: group lhs op rhs est se z p std note."""
        columns = {f.name: [getattr(one, f.name) for one in self.rows] for f in fields(GroupParameter)}
        return as_frame(columns, self.frame)

    def measures(self) -> dict[str, object]:
        """Fit of all groups at once: chi2 df pvalue cfi tli rmsea srmr aic bic and more."""
        return self.fit.to_dict()

    def to_frame(self) -> Frame:
        """The same as ``params()``."""
        return self.params()

    def __str__(self) -> str:
        return self.summary()

    __repr__ = __str__


@public
def fit_together(
    source: object,
    data: object,
    *,
    by: GroupLabels | None = None,
    groups: Sequence[object] | None = None,
    function: LavaanFunction = "sem",
    std_lv: bool = False,
    orthogonal: bool = False,
    equal: Equal | Sequence[Equal] = (),
    partial: str | Sequence[str] = (),
    weights: str | ArrayLike | None = None,
    missing: Missing = "fiml",
    information: Kind | None = None,
) -> FitsTogether:
    """Fit a text in lavaan's syntax to all groups at once, with parameters that are equal across groups.

    In the text ``c(a, b)*x`` says something for each group, and parameters of one label are equal, in one group or in
    several. ``equal`` is lavaan's ``group.equal``: some of "loadings", "intercepts", "means", "regressions",
    "residuals", "residual.covariances", "lv.variances", "lv.covariances"; ``partial`` are exceptions, ``"f =~ x2"``.
    Equal intercepts set means of factors free in all groups but the first.

    ``by`` is a column or one label for each row (or data are moments by group). Groups are in the order of their first
    rows, as in lavaan, unless ``groups`` names them in another. ``function``, ``std_lv`` and ``orthogonal`` are as in
    ``ht.from_lavaan``, ``weights`` and ``missing`` as in ``ht.fit_groups``. Standard errors use the expected
    information, where values are missing the observed one, unless ``information`` says otherwise.
    """
    text = lavaan_text(source)
    if detect_syntax(text) != "lavaan":
        raise InputError(
            "groups are fitted together from a text in lavaan's syntax; ht.format_graph(graph, 'lavaan') writes it"
        )
    conventions = conventions_of(function, std_lv=std_lv, orthogonal=orthogonal)
    kinds = (equal,) if isinstance(equal, str) else tuple(equal)
    for unknown in set(kinds) - set(get_args(Equal)):
        raise InputError(f"equal takes some of {', '.join(get_args(Equal))}, not {unknown!r}")
    if information not in (None, "expected", "observed"):
        raise InputError(f"information is 'expected' or 'observed', not {information!r}")
    first = with_warnings(parse_groups(text, conventions).graphs[0])
    found, reader = read_grouped(first, data, by=by, weights=weights, missing=missing)
    order = _order(found, reader, groups)
    said = parse_groups(text, conventions, len(order), kinds)
    parts = [found[i].select(first.observed) for i in order]
    names = _Names(said, frozenset(kinds), _exceptions(partial))
    names.refuse_half_fixed(partial)
    shared = fit_shared(said.graphs, parts, names)
    labels = tuple(str(found.keys[i]) for i in order)
    usual: Kind = "observed" if any(isinstance(part, Patterns) for part in parts) else "expected"
    return _packed(shared, said, parts, labels, information or usual, library_of(data))


def _order(found: GroupMoments, reader: RowReader | None, groups: Sequence[object] | None) -> list[int]:
    """The places of the groups, in the order that was asked for, or of their first rows."""
    if len(found) < 2:
        raise DataError("groups are fitted together, and the data have one; say with by= what they are")
    for i, why in found.troubles.items():
        raise DataError(f"the group {found.keys[i]!r} cannot be used: {why}")
    if not found.has_mean:
        raise DataError("groups are fitted together with their means; give moments that have them")
    place: dict[Hashable, int] = {key: i for i, key in enumerate(found.keys)}
    place |= {str(key): i for i, key in enumerate(found.keys)}
    if groups is not None:
        unknown = [one for one in groups if one not in place]
        if unknown or sorted(place[one] for one in groups) != list(range(len(found))):
            raise InputError(
                f"groups names each of {listed([str(k) for k in found.keys], 20)} once, not {list(groups)!r}"
            )
        return [place[one] for one in groups]
    if reader is None:
        return list(range(len(found)))
    codes: dict[tuple[Hashable, ...], int] = {}
    for _ in reader.blocks(groups=codes):
        pass
    met = [key if found.by else key[0] for key in codes]
    return [place[int(k) if isinstance(k, float) and k.is_integer() else k] for k in met]


def _exceptions(partial: str | Sequence[str]) -> frozenset[str]:
    texts = (partial,) if isinstance(partial, str) else tuple(partial)
    return frozenset("".join(text.split()) for text in texts)


@dataclass(frozen=True)
class _Names:
    """Names, as lavaan writes them, of parameters that ``equal`` makes one across groups."""

    said: GroupsText
    equal: frozenset[str]
    partial: frozenset[str]

    def __call__(self, graph: Graph, kind: str, i: int, j: int) -> str | None:
        ways, what = self._of(graph, kind, i, j)
        return ways[0] if what in self.equal and self.partial.isdisjoint(ways) else None

    def _of(self, graph: Graph, kind: str, i: int, j: int) -> tuple[tuple[str, ...], str]:
        """How a parameter may be written, and of which kind it is."""
        u, v = graph.nodes[i], graph.nodes[j]
        hidden, given = u in graph.hidden, u in self.said.covariates
        if kind == "T":
            loading = (u, v) in self.said.loadings
            return ((f"{u}=~{v}",) if loading else (f"{v}~{u}",)), "loadings" if loading else "regressions"
        if kind == "mu":
            return (f"{u}~1",), "means" if hidden else "" if given else "intercepts"
        both = hidden and v in graph.hidden
        what = "variances" if i == j else "covariances"
        theirs = f"lv.{what}" if both else "residuals" if i == j else "residual.covariances"
        return (f"{u}~~{v}", f"{v}~~{u}"), "" if given or v in self.said.covariates else theirs

    def refuse_half_fixed(self, partial: str | Sequence[str]) -> None:
        """Raise where a parameter is to be equal and is fixed in some groups alone, and for an exception of nothing."""
        counts: dict[str, int] = {}
        known: set[str] = set()
        for graph in self.said.graphs:
            space = make_space(graph, graph.nodes, free_options(graph))
            met = set()
            for kind, at in (("T", space.T_at), ("W", space.W_at), ("mu", space.mu_at)):
                for i, j, _ in at:
                    known.update(self._of(graph, kind, int(i), int(j))[0])
                    name = self(graph, kind, int(i), int(j))
                    met |= {name} if name is not None else set()
            for name in met:
                counts[name] = counts.get(name, 0) + 1
        for name, count in counts.items():
            if count < len(self.said.graphs):
                raise InputError(
                    f"{name} is fixed in some groups and free in others, and equal= makes it one; fix it in all, or "
                    f"leave it out of what is equal: partial=[{name!r}]"
                )
        unknown = self.partial - known
        if unknown:
            given = [partial] if isinstance(partial, str) else partial
            raise InputError(
                f"partial names {listed([t for t in given if ''.join(t.split()) in unknown], 6)}, which is no free "
                f"parameter of the text; write it as tables do, for instance {next(iter(sorted(known)))!r}"
            )


def _packed(
    shared: Together,
    said: GroupsText,
    parts: Sequence[Moments | Patterns],
    labels: tuple[str, ...],
    kind: Kind,
    frame: str,
) -> FitsTogether:
    known = Shared(shared, kind)
    fits = [fit_of_group(shared, g, part) for g, part in enumerate(parts)]
    rows = [GroupParameter.of(labels[g], row) for g, fit in enumerate(fits) for row in rows_of_group(known, g, fit)]
    rows += [GroupParameter.of("", row) for row in rows_of_definitions(known, said.definitions)]
    fit = measures_together(known, fits, parts)
    return FitsTogether(
        labels, fit.n, shared.loglik, shared.ended.converged, fit, tuple(rows),
        dict(zip(labels, shared.models, strict=True)),
        tuple((labels[g], v) for g, v in shared.at_zero()) if shared.ended.converged else (), frame,
    )  # fmt: skip
