"""Files as users have them: malformed, misnamed, oddly written."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halftrek.data import read_moments
from halftrek.data.sources import csvhead
from halftrek.errors import DataError


def write(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"", "empty"),
        ("x.csv", b"\n\n", "empty"),
        ("x.csv", b"\na,b\n1,2\n", "blank"),
        ("x.csv", b"a,b\n", "no rows"),
        ("x.csv", b"a,b\n1,2\n", "only 1 row"),
        ("x.csv", b"1.5,2\n1,2\n3,4\n", "names of the columns"),
        ("x.csv", b"a,b\n1,2\n3\n5,6\n", "line 3 has 1 values where the header has 2"),
        ("x.csv", b"a,b\n1,2\n3,4,5\n5,6\n", "line 3 has 3 values where the header has 2"),
        ("x.csv", b"a,b\n1,2\n3,oops\n5,6\n", "column 'b' holds .*'oops'"),
        ("x.csv", b"a,b\n" + b"1,2\n" * 5000 + b"3,oops\n", "column 'b' of .* line 5002 holds 'oops'"),
        ("x.csv", b"a,b\n1,2\n3,inf\n", "'b' holds an infinite value"),
        ("x.csv", b"a,b\n1,2020-01-01\n3,2020-01-02\n", "column 'b' holds .*'2020-01-01'"),
        ("x.csv", b"a,a\n1,2\n3,4\n", "2 columns named 'a'"),
        ("x.csv", b",a\n1,2\n3,4\n", "no name in the header"),
        ("x.csv", b"a,b\n1,2\n3,\xe9\n", "UTF-8"),
        ("x.csv", b"a,b\n" + b"1,2\n" * 5000 + b"3,\xe9\n", "column 'b' of .* line 5002"),
        ("x.csv", b"PK\x03\x04\0\0\0", "not a text file"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16 text; save the file as UTF-8"),
        ("x.csv", "a,b\n1,2\n".encode("utf-16-le"), "not a text file"),
        ("x.csv", b"a,b\n" + b"1,2\n" * 500 + b"3,4\0\n", "column 'b' of .* line 502"),
        ("x.csv", b'"a,b\n1,2\n3,4\n', "quotes that do not enclose a name"),
        ("x.csv", b'a,b\n1,"2\n3,4\n', "line 2 has a quote that is not closed"),
        ("x.csv", b'a,b\n1,"2"x\n3,4\n', "line 2 has a quote that is not closed, or closed too early"),
        ("x.csv", b"a,b\n1,2\r\n3,4\r5,6\n", "line ends of several kinds"),
        ("x.tsv", b"a\tb\n1,5\t2\n1,7\t3\n", "'a' holds .*'1,5'; write numbers with a decimal point"),
        ("x.csv", b'a,b\n"1,500",2\n"2,700",3\n', "'a' holds .*'1,500'; .*without separators of thousands"),
        ("x.csv", b"a;b\n1.234,5;2\n2.345,5;3\n", "'a' holds .*'1.234,5'; .*without separators of thousands"),
        ("x.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:15] + b"junkjunkjunkjunk", "cannot be read"),
        ("x.csv.gz", b"a,b\n1,2\n", "cannot be read"),
        ("x.parquet", b"junk", "cannot be read as a Parquet file"),
        ("x.parquet", b"PAR1" + bytes(100) + b"PAR1", "cannot be read as a Parquet file"),
        ("x.feather", b"junk", "cannot be read as an Arrow file"),
        ("x.feather", b"", "cannot be read as an Arrow file"),
        ("x.xlsx", b"", "unknown ending"),
    ],
)
def test_bad_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_moments(write(tmp_path, name, content))


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_moments(tmp_path / "none.csv")
    with pytest.raises(DataError, match="no file matches"):
        read_moments(str(tmp_path / "*.csv"))
    with pytest.raises(DataError, match="has no Parquet, CSV or Arrow files"):
        read_moments(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"a,b,t\n1,true,x\n2.5,False,y\n4,TRUE,z\n",
        b'"a","b","t"\r\n1,true,"x, and\r\ny"\r\n2.5,False,\r\n4,TRUE,z',
        b"\xef\xbb\xbfa;b;t\n1;true;x\n2,5;False;y\n4;TRUE;z\n\n",
        b"a\tb\tt\n 1\ttrue\tx\n2.5\tfalse\ty\n4e0\ttrue\tz\n",
        b"t|a|b\nx|+1|true\ny|2.5|false\nz|4|true\n",
        b"t,t,,a,b\nx,1,2,1,1\ny,z,3,2.5,0\nz,z,4,4,1\n",
        b"a,b,t\r1,true,x\r2.5,False,y\r4,TRUE,z\r",
        b'a,b,"t\nu"\r1,true,"x\ny"\r2.5,False,y\r4,TRUE,z',
        b'"a;b;c;d",a,b\nx,1,true\ny,2.5,false\nz,4,true\n',
        b'"x|y|z|""",a,b\n"a ""b""",1,true\n"c\nd",2.5,false\nz,4,true\n',
        b"a,b,t\n1,true," + b"x" * 150_000 + b"\n2.5,False,y\n4,TRUE,z\n",
        b'5" pipe,6" pipe,a,b\nx,y,1,true\ny,x,2.5,false\nz,z,4,true\n',
    ],
)
def test_ways_to_write_a_table(content: bytes, tmp_path: Path) -> None:
    m = read_moments(write(tmp_path, "it's.csv", content), ["b", "a"])
    np.testing.assert_allclose(m.cov, np.cov([[1, 0, 1], [1, 2.5, 4]], ddof=0), rtol=1e-14, atol=1e-15)


def test_files_of_a_pattern_must_agree(tmp_path: Path) -> None:
    write(tmp_path, "1.csv", b"a,b\n1,2\n3,4\n")
    write(tmp_path, "2.csv", b"b,a\n8,7\n")
    m = read_moments(tmp_path / "*.csv")
    np.testing.assert_allclose(m.mean, [11 / 3, 14 / 3])
    write(tmp_path, "3.csv", b"a,c\n1,2\n")
    with pytest.raises(DataError, match=r"1\.csv and .*3\.csv have different columns: 'b', 'c'"):
        read_moments(tmp_path / "*.csv")


def test_a_name_that_looks_like_a_pattern(tmp_path: Path) -> None:
    for name, value in (("a[12].csv", 5.0), ("a1.csv", 50.0)):
        write(tmp_path, name, f"a\n{value}\n{value + 2}\n".encode())
    assert read_moments(tmp_path / "a[12].csv").mean[0] == 6.0
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "b*.parquet")
    pq.write_table(pa.table({"a": [10.0, 20.0]}), tmp_path / "bb.parquet")
    m = read_moments(tmp_path / "b*.parquet")
    assert (m.n, m.mean[0]) == (2, 1.5)


def test_a_long_file_whose_lines_end_with_returns(tmp_path: Path) -> None:
    text = "a,b\r" + "".join(f"{k},{k % 7}\r" for k in range(300_000))
    m = read_moments(write(tmp_path, "mac.csv", text.encode()))
    assert (m.n, m.mean[0]) == (300_000, 149_999.5)


def test_a_header_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csvhead, "MOST", 1 << 17)
    with pytest.raises(DataError, match="no line end in its first"):
        read_moments(write(tmp_path, "one.csv", b"a" * (1 << 19)))


def test_two_stars_look_into_all_folders(tmp_path: Path) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    write(tmp_path, "x.csv", b"a,b\n1,2\n3,5\n")
    write(tmp_path / "one" / "two", "x.csv", b"a,b\n2,2\n4,9\n")
    assert read_moments(tmp_path / "**" / "*.csv").n == 4
    assert read_moments(tmp_path / "*" / "two" / "*.csv").n == 2
