"""Speed against a revision: its cases and those of this tree in turns, ``python -m benchmarks.against REV``."""
