"""Sums over rows: what is asked of a source, how blocks are added up, how parts are merged."""
