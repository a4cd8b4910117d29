"""Answers in words and as lines of tables."""
