"""Text to graphs and questions, and back."""

from halftrek.syntax.graphs.notations import detect_syntax, format_graph, parse_graph
from halftrek.syntax.questions.question import parse_question

__all__ = ["detect_syntax", "format_graph", "parse_graph", "parse_question"]
