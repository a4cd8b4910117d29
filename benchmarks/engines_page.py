"""The pages of ``benchmarks/engines.py``: all lines of one run, with what holds of them in general."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tools import machine

DOCS = Path(__file__).parent.parent / "docs"
SHORT = (  # lines that stand in the how-to too
    "polars lazy, 1e7 x 10", "polars lazy, 1e6 x 100", "DuckDB, 1e7 x 10", "DuckDB, 1e6 x 100", "Parquet, 1e7 x 10",
    "Parquet, 1e6 x 100", "hive partitions, 1e7 x 10", "CSV, 2e6 x 10", "Parquet, 100,000,000 x 5",
)  # fmt: skip
BEGIN, END = "<!-- lines of benchmarks.engines -->", "<!-- end of lines -->"
HEAD = "| table | bare, s | sums, s | times | bare, MB | sums, MB | numbers, MB |\n|---|---:|---:|---:|---:|---:|---:|"

PAGE = """# Large tables

What the moments of a large table cost: all means and covariances, which is all that a fit reads. *Bare* adds up each
column by the engine's own means, *sums* is `ht.moments`; each is the median of three processes, taken in turn. Seconds
are of the processor (all threads together), since several processes may share a machine; *times* is their ratio. Memory
(MB) is the peak of each process beyond what it needs before it reads the first row, beside the size of the numbers that
are read, as floats in memory. `python -m benchmarks.engines --write` has made this page in one run, and makes it again.

"""
AFTER = """
How to read it:

- **In memory** a sum of columns runs as fast as memory does, and no product of columns can: what is fair beside numpy,
  pandas and polars is one plain matrix product, in the table below. Their own memory is the table that was there
  before.
- **DuckDB** keeps what it has read of its own tables, whoever asks, up to its `memory_limit`: the bare scan needs as
  much memory as the sums do. With a limit of 200 megabytes it keeps to that, and the sums need some batches more.
  Nothing is spilled: a limit makes its scan quicker, since the same memory is used again, while the sums gain less.
  More than half of what they take then is DuckDB's own, for the scan and for handing over batches that nobody looks at;
  most of the rest is one plain `X'X`.
- **Parquet of 50 columns and more** is unpacked one row group at a time, one column after the other; memory holds two
  groups at most. Groups of more than 32 million numbers are read in pieces, for which a page of each column is open.
- **Files of fewer columns** are read by DuckDB, which hands over batches of at most 65,536 rows; memory does not grow
  with the rows.

Tables in memory beside one `X'X`, processor seconds of the best of three:

"""
SPARK = """
## Spark

Processor seconds of Java and its Python workers together: medians of three rounds in one session, after a first one in
which Java compiles. *Bare* is Spark's own sum of each column of the same Parquet files. Sums are made by Spark's
expressions or by Python workers on Arrow batches; the way that halftrek chooses by the number of columns stands first.
*Handed over* is what workers cost that take the batches (of ten thousand rows, Spark's own size) and do nothing with
them: no way by workers can be much cheaper. Expressions are quick where no mean is farther than eight standard
deviations from zero; where one is, their sums would lose digits, and workers do it again.
`local-cluster` has two worker processes.

"""


def line(name: str, bare: Mapping[str, float], sums: Mapping[str, float], size: float) -> str:
    """A line of the table."""
    return (
        f"| {name} | {bare['seconds']:.2f} | {sums['seconds']:.2f} | {sums['seconds'] / bare['seconds']:.1f} | "
        f"{bare['memory']:,.0f} | {sums['memory']:,.0f} | {size:,.0f} |"
    )


def spark_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The table of Spark."""
    if not found:
        return []
    lines = ["| table | bare, s | sums, s | times | by | the other way, s | handed over, s |"]
    lines.append("|---|---:|---:|---:|---|---:|---:|")
    for one in found:
        way = one["chosen"]
        other = one.get("workers" if way == "expressions" else "expressions")
        lines.append(
            f"| Spark {one['version']}, {one['table']}, {one['master']} | {one['bare']:.2f} | {one[way]:.2f} | "
            f"{one[way] / one['bare']:.1f} | {way} | {'' if other is None else f'{other:.2f}'} | "
            f"{one['drained']:.2f} |"
        )
    return lines


def write(
    docs: Path,
    lines: Sequence[str],
    in_memory: Sequence[str],
    spark: Sequence[Mapping[str, Any]],
    share: float,
    minutes: float,
) -> None:
    """Both pages, from the lines of one run."""
    place, part = machine(), "" if share == 1.0 else f" Only a share of {share:g} of the rows was read."
    where = (
        f"\nMeasured on {place['date']} with {place['cores']} cores ({place['processor']}), Python {place['python']}, "
        f"in {minutes:.0f} minutes.{part}\n"
    )
    page = docs / "benchmarks" / "engines.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    text = PAGE + "\n".join(lines) + "\n" + where + AFTER + "\n".join(in_memory) + "\n"
    page.write_text(text + SPARK + "\n".join(spark_lines(spark)) + "\n", encoding="utf-8")
    howto = docs / "howto" / "big-data.md"
    if howto.exists():
        howto.write_text(with_lines(howto.read_text(encoding="utf-8"), short(lines, spark)), encoding="utf-8")


def short(lines: Sequence[str], spark: Sequence[Mapping[str, Any]]) -> list[str]:
    """The lines for the how-to: seconds, their ratio and the memory of the sums."""
    found = ["| table | bare, s | sums, s | times | memory, MB | numbers, MB |", "|---|---:|---:|---:|---:|---:|"]
    for text in lines[1:]:
        name, bare, sums, times, _, memory, size = (cell.strip() for cell in text.strip("|").split("|"))
        if name in SHORT:
            found.append(f"| {name} | {bare} | {sums} | {times} | {memory} | {size} |")
    for one in spark:
        if one["master"].startswith("local["):
            sums = one[one["chosen"]]
            found.append(f"| Spark, {one['table']} | {one['bare']:.2f} | {sums:.2f} | {sums / one['bare']:.1f} | | |")
    return found


def with_lines(page: str, lines: Sequence[str]) -> str:
    """The page with these lines in the place of those between its marks."""
    return re.sub(f"{BEGIN}.*?{END}", lambda _: "\n".join([BEGIN, "", *lines, "", END]), page, flags=re.DOTALL)
