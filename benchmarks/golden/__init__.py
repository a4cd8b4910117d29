"""Golden values: every number of every working cell of the grid, frozen, and compared when code has changed.

``numbers`` flattens a result, ``kept`` is the file, ``matched`` sets old places beside new ones and ``judged`` says
which differ beyond the table in ``tolerances``. ``renamed.toml`` holds what has another name today.
"""
