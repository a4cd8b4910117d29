"""What can be read only once, and what is no file at all."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halftrek as ht
from halftrek.data import read_moments, row_reader
from halftrek.data.sources import streams
from halftrek.data.sources.tables import read_table
from halftrek.errors import DataError
from tests.project.pages import ROOT

TABLE = pa.table({"a": [1.0, 2.0, 4.0], "b": [3.0, 5.0, 4.0]})
CSV = b"a,b\n1,3\n2,5\n4,4\n"


def as_bytes(kind: str) -> bytes:
    if kind == "parquet":
        sink = io.BytesIO()
        pq.write_table(TABLE, sink)
        return sink.getvalue()
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return bytes(sink.getvalue())


def pipe(path: Path, content: bytes) -> threading.Thread:
    """A pipe with a writer, which waits for its reader as a shell's would."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    return writer


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.csv", CSV),
        ("p.tsv", CSV.replace(b",", b"\t")),
        ("p", CSV),
        ("p.parquet", as_bytes("parquet")),
        ("p.arrow", as_bytes("arrow")),
        ("p.arrow", as_bytes("arrow stream")),
        ("long.csv", b"a,b\n" + b"1,3\n2,5\n4,4\n" * 40_000),
    ],
)
def test_a_pipe_is_read_once(name: str, content: bytes, tmp_path: Path) -> None:
    writer = pipe(tmp_path / name, content)
    m = read_moments(tmp_path / name, ["b", "a"])
    writer.join()
    np.testing.assert_allclose(m.mean, [4.0, 7 / 3])
    reader = row_reader(tmp_path / name, ["a"])
    with pytest.raises(DataError, match="a pipe can be read only once"):
        list(reader.blocks())


def test_a_pipe_without_a_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "p.csv")
    with pytest.raises(DataError, match=r"nobody writes into the pipe '.*p\.csv'"):
        read_moments(tmp_path / "p.csv")


def test_a_pipe_whose_writer_has_nothing_to_say(tmp_path: Path) -> None:
    writer = pipe(tmp_path / "p.csv", b"")
    with pytest.raises(DataError, match=r"the pipe '.*p\.csv' is empty"):
        read_moments(tmp_path / "p.csv")
    writer.join()


def test_messages_name_the_stream_and_not_the_file_that_keeps_it(tmp_path: Path) -> None:
    writer = pipe(tmp_path / "p.csv", b"a,b\n1,2\n3\n")
    with pytest.raises(DataError, match=r"^the pipe '.*p\.csv', line 3 has 1 values"):
        read_moments(tmp_path / "p.csv")
    writer.join()


def test_a_table_for_counterfactuals_may_be_a_stream(tmp_path: Path) -> None:
    found = read_table(io.BytesIO(CSV), ["a", "b", "c"])
    np.testing.assert_array_equal(found.values, [[1, 3], [2, 5], [4, 4]])
    writer = pipe(tmp_path / "p.csv", CSV)
    np.testing.assert_array_equal(read_table(tmp_path / "p.csv", ["b"]).values[:, 0], [3, 5, 4])
    writer.join()


def run(code: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, timeout=120, **options)


READ = "import halftrek as ht; print(ht.moments({!r}, ['b', 'a']).mean.round(3).tolist())"


@pytest.mark.parametrize("path", ["-", "/dev/stdin", "/dev/fd/0"])
def test_standard_input_under_all_its_names(path: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(CSV)
    assert run(READ.format(path), input=CSV).stdout == b"[4.0, 2.333]\n"
    with (tmp_path / "t.csv").open("rb") as file:
        assert run(READ.format(path), stdin=file).stdout == b"[4.0, 2.333]\n"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(CSV)
        ours.shutdown(socket.SHUT_WR)
        assert run(READ.format(path), stdin=theirs).stdout == b"[4.0, 2.333]\n"


def test_the_command_line_reads_a_pipe_as_often_as_it_needs() -> None:
    rows = ht.catalog("front-door").model.sample(300, random_state=1)
    content = "X1,X2,X3\n" + "".join(",".join(map(repr, map(float, row))) + "\n" for row in rows)
    words = ["-m", "halftrek", "effect", "front-door", "/dev/stdin", "X1", "X3", "--interval", "robust"]
    done = subprocess.run([sys.executable, *words], input=content.encode(), capture_output=True, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stderr
    assert b"X1" in done.stdout


def test_no_files(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        there = os.getcwd()
        os.chdir(tmp_path)  # a socket's path is short
        try:
            listener.bind("s.csv")
            with pytest.raises(DataError, match=r"'s\.csv' is a socket, not a file"):
                read_moments("s.csv")
        finally:
            os.chdir(there)
    with pytest.raises(DataError, match="'/dev/zero' is a device, not a file"):
        read_moments("/dev/zero")
    with open("/dev/zero", "rb") as endless, pytest.raises(DataError, match="the open file is not a text file"):
        read_moments(endless)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a\0b.csv", "holds a NUL"),
        ("a\ud800.csv", "not valid UTF-8; rename"),
        ("x" * 5000 + ".csv", "there is no file"),
    ],
)
def test_paths_that_no_file_can_have(path: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_moments(path)


def test_a_file_whose_name_is_not_utf8(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff.csv")
    with open(path, "wb") as file:
        file.write(CSV)
    with pytest.raises(DataError, match="rename the file"):
        read_moments(os.fsdecode(path))


class Silent(io.RawIOBase):
    """A file that does not wait for its rows."""

    def read(self, size: int = -1) -> None:  # noqa: ARG002
        return None


def test_open_files_that_cannot_be_read(tmp_path: Path) -> None:
    closed = io.BytesIO(CSV)
    closed.close()
    with pytest.raises(DataError, match="the open file cannot be read: I/O operation on closed file") as caught:
        read_moments(closed)
    assert isinstance(caught.value.__cause__, ValueError)
    with (tmp_path / "w.csv").open("wb") as writing, pytest.raises(DataError, match="open it for reading"):
        read_moments(writing)
    (tmp_path / "latin.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
    with (tmp_path / "latin.csv").open(encoding="utf-8") as text, pytest.raises(DataError, match="not UTF-8"):
        read_moments(text)
    with pytest.raises(DataError, match="not UTF-8"):
        read_moments(io.StringIO("a\ud800\n1\n2\n"))
    with pytest.raises(DataError, match="blocking"):
        read_moments(Silent())


def test_no_room_for_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(DataError, match="name another directory by TMPDIR"):
        read_moments(io.BytesIO(CSV))
