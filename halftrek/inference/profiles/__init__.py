"""The likelihood along an answer: the values that it does not rule out."""
