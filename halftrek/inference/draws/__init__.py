"""Many data sets drawn like the one at hand, and what their fits answer."""
