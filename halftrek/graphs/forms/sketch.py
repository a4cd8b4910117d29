"""How somebody drew a graph: places of variables, and the roles that dagitty marks. None of it is part of the model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from halftrek.errors import GraphError

Role = Literal["exposure", "outcome", "adjusted"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Sketch:
    """``places`` are ``(name, x, y)`` with y growing downwards, ``roles`` ``(name, role)``.

    ``box`` is the part of the plane that was shown: left, top, right, bottom.
    """

    places: tuple[tuple[str, float, float], ...] = ()
    roles: tuple[tuple[str, Role], ...] = ()
    box: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        for name, x, y in self.places:
            if not (math.isfinite(x) and math.isfinite(y)):
                raise GraphError(f"the place of {name!r} is ({x}, {y}); give two finite numbers")
        for name, role in self.roles:
            if role not in ROLES:
                raise GraphError(f"{name!r} has the role {role!r}; roles are {', '.join(ROLES)}")
        if self.box is not None and not all(map(math.isfinite, self.box)):
            raise GraphError("the box of a drawing is four finite numbers")

    @property
    def positions(self) -> dict[str, tuple[float, float]]:
        """The places by name."""
        return {name: (x, y) for name, x, y in self.places}

    @property
    def roles_of_each(self) -> dict[str, tuple[str, ...]]:
        """The roles by name."""
        return {name: tuple(role for other, role in self.roles if other == name) for name, _ in self.roles}

    def only(self, names: Iterable[str]) -> Sketch:
        """What it says of these variables, in their order."""
        order = {name: k for k, name in enumerate(names)}
        places = sorted((one for one in self.places if one[0] in order), key=lambda one: order[one[0]])
        roles = sorted((one for one in self.roles if one[0] in order), key=lambda one: order[one[0]])
        return replace(self, places=tuple(places), roles=tuple(roles))

    def __bool__(self) -> bool:
        return bool(self.places or self.roles or self.box)
