"""Is what a fit ends at the highest maximum?

    python -m benchmarks.maxima [--count 2000] [--first 0] [--only KIND] [--jobs 1] [--write]
    python -m benchmarks.maxima --exact [--count 2000] [--first 0] [--write]

The first draws random models of every kind, samples of them, and compares halftrek's fit with a plain damped scoring
loop that starts at the truth and keeps the same borders. ``--exact`` fits models to their own exact covariances, whose
maximum is known without any other search: ``docs/benchmarks/maxima.md``.
"""

from benchmarks.maxima.exact import tried

__all__ = ["tried"]
