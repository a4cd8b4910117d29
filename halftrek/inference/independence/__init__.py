"""Errors that are independent, not only uncorrelated: conditions on rows, tests of them, and the values that they keep."""
