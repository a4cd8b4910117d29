"""Tests and measures of fit where categories act, within the likelihood of the rows."""
