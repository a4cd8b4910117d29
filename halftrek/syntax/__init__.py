"""Text to graphs and questions, and back."""

from typing import TYPE_CHECKING

from halftrek.bottom.on_demand import on_demand

if TYPE_CHECKING:
    from halftrek.syntax.graphs.conventions import Conventions
    from halftrek.syntax.graphs.lavaan import GroupsText, parse_groups, parse_lavaan
    from halftrek.syntax.graphs.notations import detect_syntax, format_graph, parse_graph
    from halftrek.syntax.questions.question import parse_question

__all__ = [
    "Conventions",
    "GroupsText",
    "detect_syntax",
    "format_graph",
    "parse_graph",
    "parse_groups",
    "parse_lavaan",
    "parse_question",
]

_HOMES = {  # loaded when first used
    "syntax.graphs.conventions": ("Conventions",),
    "syntax.graphs.lavaan": ("GroupsText", "parse_groups", "parse_lavaan"),
    "syntax.graphs.notations": ("detect_syntax", "format_graph", "parse_graph"),
    "syntax.questions.question": ("parse_question",),
}
__getattr__ = on_demand(__name__, _HOMES)
