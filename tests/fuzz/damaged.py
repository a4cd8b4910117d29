"""Files damaged at random: cut short, bytes flipped, pieces put elsewhere. They give a result or an error of ours.

They are read in another process, since a reader of damaged files may end it: one process for many files, which says
after each that it is still there.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
Random = np.random.Generator

KINDS = ("csv", "tsv", "csv.gz", "parquet", "arrow", "feather", "stream.arrow")
PATIENCE = 60.0  # seconds for one file


def whole_file(kind: str, rng: Random) -> bytes:
    """A good file: numbers, holes, whole numbers, truths, texts."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq

    n = int(rng.choice([5, 60, 900]))
    a = rng.standard_normal(n)
    incomplete = [None if k % 7 == 3 else float(x) for k, x in enumerate(a + rng.standard_normal(n))]
    words = [("yes", "no")[k] for k in rng.integers(0, 2, n)]
    table = pa.table({"a": a, "b": incomplete, "c": rng.integers(0, 9, n), "d": rng.random(n) < 0.5, "t": words})
    sink = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, sink, compression=str(rng.choice(["none", "snappy", "zstd"])), row_group_size=100)
    elif kind == "feather":
        pyarrow.feather.write_feather(
            table, sink, compression=str(rng.choice(["uncompressed", "lz4", "zstd"])), chunksize=100
        )
    elif kind in ("arrow", "stream.arrow"):
        if rng.integers(2):
            table = table.set_column(4, "t", table.column("t").dictionary_encode())
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=100)
    else:
        frame = table.to_pandas()
        frame.to_csv(
            sink, index=False, sep="\t" if kind == "tsv" else ",", compression="gzip" if kind == "csv.gz" else None
        )
    return sink.getvalue()


def damage(content: bytes, rng: Random) -> tuple[str, bytes]:
    """One way to damage a file, and what is left of it."""
    size, way = len(content), str(rng.choice(["cut", "flip", "flips", "zeros", "splice", "double", "insert", "tail"]))
    i, j = sorted(int(k) for k in rng.integers(0, size + 1, 2))
    if way == "cut":
        return way, content[:i]
    if way == "tail":
        return way, content[i:]
    if way in ("flip", "flips"):
        array = np.frombuffer(content, dtype=np.uint8).copy()
        places = rng.integers(0, size, 1 if way == "flip" else 20)
        array[places] ^= rng.integers(1, 256, len(places)).astype(np.uint8)
        return way, array.tobytes()
    if way == "zeros":
        return way, content[:i] + bytes(j - i) + content[j:]
    if way == "splice":
        return way, content[:i] + content[j:]
    if way == "double":
        return way, content[:j] + content[i:]
    return way, content[:i] + rng.bytes(int(rng.integers(1, 50))) + content[i:]


def damaged_files(rng: Random, count: int) -> tuple[int, list[str]]:
    """Damaged CSV, Parquet and Arrow files are read, or refused in words."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="halftrek-") as folder:
        paths, ways = [], []
        for k in range(count):
            kind = KINDS[k % len(KINDS)]
            way, content = damage(whole_file(kind, rng), rng)
            path = Path(folder) / f"{k}.{kind}"
            path.write_bytes(content)
            paths.append(path)
            ways.append(way)
        at = 0
        while at < count:
            said, fate = _read_all(paths[at:])
            for k, wrong in enumerate(said, at):
                if wrong:
                    failures.append(_described(paths[k], ways[k], wrong))
            at += len(said)
            if at < count:  # the process went away at this one
                failures.append(_described(paths[at], ways[at], fate))
                at += 1
    return count, failures


def _described(path: Path, way: str, wrong: str) -> str:
    content = path.read_bytes()
    shown = base64.b64encode(content).decode() if len(content) < 6_000 else f"{len(content)} bytes"
    return f"{path.name} ({way}): {wrong}\n    {shown}"


def _read_all(paths: list[Path]) -> tuple[list[str], str]:
    """What was wrong with each file, as far as the process came, and how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.damaged"], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = process.communicate("\n".join(map(str, paths)), timeout=20.0 + PATIENCE * len(paths) / 10)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return [json.loads(line) for line in out.splitlines()], "it was still being read when patience ended"
    return [json.loads(line) for line in out.splitlines()], f"the process ended with {process.returncode}: {err[-300:]}"


def read_one(path: str) -> str:
    """What is wrong with how one file is read; nothing if it gives a result or an error of ours."""
    import warnings

    import halftrek as ht

    for names in (["a", "b", "c"], ["d", "t"], None):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = ht.moments(path, names, missing="drop")
                if not (np.isfinite(found.mean).all() and np.isfinite(found.cov).all()):
                    return "moments that are no numbers"
        except ht.HalftrekError as error:
            if not str(error).strip():
                return f"{type(error).__name__} without a word"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


if __name__ == "__main__":
    for line in sys.stdin.read().splitlines():
        print(json.dumps(read_one(line)), flush=True)
