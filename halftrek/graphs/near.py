"""Who is next to whom in a graph: causes, effects, siblings, order and districts, looked up once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from halftrek.graphs.arcs import Arcs, bows, siblings_in
from halftrek.graphs.checks import Pair, refuse_unknown
from halftrek.graphs.order import connected, neighbours, reachable, topological_sort
from halftrek.graphs.reach import Reach

Near = dict[str, tuple[str, ...]]


class Neighbourhood:
    """What a graph can tell of its nodes: the observed variables, and the hidden ones that have causes."""

    directed: tuple[Pair, ...]
    bidirected: Sequence[Pair]
    latents: Mapping[str, tuple[str, ...]]
    observed: tuple[str, ...]
    hidden: tuple[str, ...]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The observed variables, then the hidden ones in ``hidden``: all that have equations."""
        return (*self.observed, *self.hidden) if self.hidden else self.observed

    @cached_property
    def _parents(self) -> Near:
        return neighbours(self.nodes, ((v, u) for u, v in self.directed))

    @cached_property
    def _children(self) -> Near:
        return neighbours(self.nodes, self.directed)

    @cached_property
    def _siblings(self) -> Near:
        return siblings_in(self.nodes, self.bidirected)

    @property
    def _blocks(self) -> tuple[tuple[str, ...], ...]:
        return self.bidirected.blocks if isinstance(self.bidirected, Arcs) else ()

    @property
    def _loose(self) -> Sequence[Pair]:
        return self.bidirected.loose if isinstance(self.bidirected, Arcs) else self.bidirected

    @cached_property
    def _hubs(self) -> Near:
        """Each block as a node that causes its members, which joins them as their pairs do; no variable is named so."""
        return {f"<-> {k}": block for k, block in enumerate(self._blocks)}

    @cached_property
    def _loose_siblings(self) -> Near:
        both = [*self._loose, *((b, a) for a, b in self._loose)]
        return neighbours(self.nodes, both) if self._blocks else self._siblings

    @cached_property
    def _latent_parents(self) -> Near:
        return neighbours(self.nodes, ((c, u) for u, kids in self.latents.items() for c in kids))

    @cached_property
    def _ways(self) -> tuple[Near, Near, Near]:
        """Causes, effects and siblings of each variable, hidden causes among them; not to be changed."""
        hidden = {**self.latents, **self._hubs}
        if not hidden:
            return self._parents, self._children, self._siblings
        above = neighbours(self.nodes, ((c, u) for u, kids in hidden.items() for c in kids))
        into = {v: (*causes, *above[v]) for v, causes in self._parents.items()}
        return into | dict.fromkeys(hidden, ()), self._children | hidden, self._loose_siblings

    def parents(self, variable: str) -> tuple[str, ...]:
        """Direct causes of ``variable``, independent hidden roots not counted."""
        return self._entry(self._parents, variable)

    def children(self, variable: str) -> tuple[str, ...]:
        """Direct effects of ``variable``, which may be a hidden cause."""
        return self._entry(self.latents if variable in self.latents else self._children, variable)

    def siblings(self, variable: str) -> tuple[str, ...]:
        """Variables joined to ``variable`` by a bidirected edge."""
        return self._entry(self._siblings, variable)

    def latent_parents(self, variable: str) -> tuple[str, ...]:
        """Independent hidden roots that cause ``variable``."""
        return self._entry(self._latent_parents, variable)

    def spouses(self, variable: str) -> tuple[str, ...]:
        """Variables whose error may covary with that of ``variable``: siblings and those with a shared hidden cause."""
        if not self.latents:
            return self.siblings(variable)
        shared = (c for u in self.latent_parents(variable) for c in self.latents[u])
        return tuple(v for v in dict.fromkeys((*self.siblings(variable), *shared)) if v != variable)

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.topological_order, self.directed)

    def ancestors(self, variables: str | Iterable[str]) -> frozenset[str]:
        """The variables and everything that causes them, independent hidden roots not counted."""
        return reachable(self._several(variables), self._parents)

    def descendants(self, variables: str | Iterable[str]) -> frozenset[str]:
        """The variables and everything that they cause."""
        return reachable(self._several(variables), self._children)

    @cached_property
    def topological_order(self) -> tuple[str, ...]:
        """Causes before effects; ties in the order of ``observed``."""
        return topological_sort(self.nodes, self._children)

    @cached_property
    def districts(self) -> tuple[tuple[str, ...], ...]:
        """Classes of variables connected through correlated errors or shared hidden causes, members in causal order."""
        return connected(self.topological_order, self._loose_siblings, {**self.latents, **self._hubs})

    def district(self, variable: str) -> tuple[str, ...]:
        """The district that holds ``variable``."""
        return self._district_of[self._known(variable)]

    @cached_property
    def _district_of(self) -> Near:
        return {v: district for district in self.districts for v in district}

    @property
    def is_bow_free(self) -> bool:
        """True if no variable has a direct cause that it is also confounded with; then everything is identified.

        Never true with hidden variables that have causes: nothing is identified there by its look alone.
        """
        above = {v: set(causes) for v, causes in self._latent_parents.items() if causes} if self.latents else {}
        return not self.hidden and not bows(self.directed, self.bidirected, above)

    def _entry(self, table: Mapping[str, tuple[str, ...]], variable: str) -> tuple[str, ...]:
        try:
            return table[variable]
        except (KeyError, TypeError):  # no such name, or no name at all: say so in words
            pass
        return table[self._known(variable)]

    def _known(self, variable: str) -> str:
        if isinstance(variable, str) and variable in self._parents:
            return variable
        return refuse_unknown(variable, self.observed, self.latents)

    def _several(self, variables: str | Iterable[str]) -> tuple[str, ...]:
        chosen = (variables,) if isinstance(variables, str) else tuple(dict.fromkeys(variables))
        known = self._parents
        return chosen if all(v in known for v in chosen) else tuple(self._known(v) for v in chosen)
