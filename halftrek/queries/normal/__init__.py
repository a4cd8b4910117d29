"""The normal distribution: conditioned, truncated, in boxes."""
