"""Tables come in the library that the user works with, whatever was imported to read the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

ASKED = """
import sys
import halftrek as ht
fits = ht.fit("x -> y", sys.argv[1], by="g")
print(*{type(table).__module__.partition(".")[0] for table in (fits.effect("x", "y"), fits.params())})
"""


def test_all_tables_of_a_file_are_of_one_library(tmp_path: Path) -> None:
    """Arrow is imported by the reading, and pandas by nobody before the first table."""
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=60), "y": rng.normal(size=60), "g": np.repeat([0, 1], 30)})
    pa.parquet.write_table(table, tmp_path / "rows.parquet")
    done = subprocess.run(
        [sys.executable, "-c", ASKED, str(tmp_path / "rows.parquet")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["pandas"]
