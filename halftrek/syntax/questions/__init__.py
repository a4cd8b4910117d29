"""Text to questions."""
