"""Text to graphs and back: arrows, lavaan, dagitty, DOT."""
