"""Text to graphs and questions, and back."""

from halftrek.syntax.graphs.conventions import Conventions
from halftrek.syntax.graphs.lavaan import GroupsText, parse_groups
from halftrek.syntax.graphs.lavaan import parse as parse_lavaan
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
