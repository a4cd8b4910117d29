"""Which operation works on which kind of data and model: every public operation of halftrek, asked of every kind.

    python -m benchmarks.grid                               all cells in ten minutes, and what differs from the last run
    python -m benchmarks.grid --columns SEM --rows bounds   some of them, by regular expressions; nothing is stored
    python -m benchmarks.grid --columns '^complete$' --rows crude --show    what a cell gives, with its whole error
    python -m benchmarks.grid --judge                       no cell is run: the stored ones are judged again

A column is a kind of data and model (``columns``), a row an operation (``operations``), a cell the one asked of the
other, with what came of it: it worked, was refused, is not there, raised an error that is not ours, or took too long.
What worked is looked at (``looks``): a number far from the truth, an estimate outside its interval. A refusal is judged
by ``rules``: is the question meaningless there, or is the answer missing? The golden values (``benchmarks.golden``) are
the numbers of these same cells.
"""
