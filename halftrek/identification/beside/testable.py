"""What a graph says about data that can be checked."""

from __future__ import annotations

from dataclasses import dataclass

from halftrek.graphs import Graph
from halftrek.identification.local.jacobian import model_dimension
from halftrek.upward import Faces


@dataclass(frozen=True)
class Implications(Faces):
    """Conditional independences ``(x, y, given)`` (a basis), and how many constraints the covariances obey in all.

    ``constraints`` counts independent equations among the covariances of a linear model; those beyond independences are
    over-identifying restrictions of other kinds, for instance vanishing tetrads and Verma constraints.
    """

    independences: tuple[tuple[str, str, tuple[str, ...]], ...]
    constraints: int
    dimension: int

    @property
    def testable(self) -> bool:
        """True if some data could contradict the graph."""
        return self.constraints > 0

    def explain(self) -> str:
        """In sentences."""
        if not self.testable:
            return "The graph implies no equation between covariances that data could contradict."
        lines = [
            f"The graph implies {self.constraints} constraint{'s' * (self.constraints > 1)} on the covariance matrix."
        ]
        for x, y, given in self.independences:
            lines.append(f"  {x} and {y} are independent" + (f" given {', '.join(given)}" if given else ""))
        rest = self.constraints - len(self.independences)
        if rest > 0:
            lines.append(f"  and {rest} that {'is' if rest == 1 else 'are'} no conditional independence.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """As plain data, for JSON."""
        listed = [{"x": x, "y": y, "given": list(given)} for x, y, given in self.independences]
        return {"independences": listed, "constraints": self.constraints, "dimension": self.dimension}


def implications(graph: Graph) -> Implications:
    """Independences and the number of over-identifying constraints; a model of p variables has p(p+1)/2 covariances."""
    size = len(graph)
    dimension = model_dimension(graph)
    return Implications(tuple(graph.implied_independences()), size * (size + 1) // 2 - dimension, dimension)
