"""Rows with missing values, by pattern of what is missing."""
