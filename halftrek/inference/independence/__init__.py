"""Errors that are independent, not only uncorrelated: conditions on rows, tests, and the values that they keep."""
