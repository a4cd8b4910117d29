"""What is wrong with a file whose bytes are as they were written."""

from __future__ import annotations


class Malformed(Exception):
    """The data are not what ``encode`` writes; the text says where."""
