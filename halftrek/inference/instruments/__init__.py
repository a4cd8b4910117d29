"""Equations that are solved by instruments: strength of these, estimates, and tests, from moments and from rows."""
