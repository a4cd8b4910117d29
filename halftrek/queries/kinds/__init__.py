"""The kinds of question, as plain values."""
