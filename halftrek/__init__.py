"""halftrek: causal effects in linear models with hidden confounders."""

__version__ = "0.1.0"
