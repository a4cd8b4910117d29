"""Where results go: links are followed, modes stay, devices and pipes are written through, others' files stay."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import halftrek as ht
from halftrek.bottom import files
from halftrek.bottom.files import check_place, remove_unfinished, temporary_folder, whole_file, written_by_halftrek
from halftrek.errors import OutputError
from halftrek.reporting import save
from halftrek.reporting.plots.figures import new_figure

GRAPH = ht.graph("x -> y")


def write(path: Path | str, text: str = "new", *, overwrite: bool = True) -> None:
    with whole_file(path, overwrite=overwrite) as unfinished:
        unfinished.write_text(text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "real.txt").write_text("old")
    os.symlink("far/real.txt", tmp_path / "link.txt")
    os.symlink("far/new.txt", tmp_path / "dangling.txt")
    for name, real in (("link.txt", "real.txt"), ("dangling.txt", "new.txt")):
        write(tmp_path / name)
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "far" / real).read_text() == "new"
    os.symlink("nowhere/x.txt", tmp_path / "lost.txt")
    with pytest.raises(OutputError, match="there is no folder"):
        write(tmp_path / "lost.txt")
    os.symlink("loop.txt", tmp_path / "loop.txt")
    with pytest.raises(OutputError, match="cannot write"):
        write(tmp_path / "loop.txt")
    assert sorted(os.listdir(tmp_path)) == ["dangling.txt", "far", "link.txt", "loop.txt", "lost.txt"]


@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o664, 0o666])
def test_the_mode_stays_and_nobody_reads_what_is_private_meanwhile(wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "private.txt"
    path.write_text("old")
    path.chmod(wanted)
    with whole_file(path, overwrite=True) as unfinished:
        assert mode(unfinished) == 0o600
        unfinished.write_text("new")
    assert mode(path) == wanted
    assert path.read_text() == "new"


def test_a_new_file_has_the_mode_that_the_umask_gives_and_no_thread_is_disturbed(tmp_path: Path) -> None:
    """The mask of a process is read by setting it; a thread that makes a file meanwhile would make it open to all."""
    code = """
import os, sys, threading
from halftrek.bottom.files import whole_file
calls = []
real = os.umask
os.umask = lambda mask: calls.append(mask) or real(mask)
real(0o027)
with whole_file(sys.argv[1]) as unfinished:
    unfinished.write_text("new")
print(oct(os.stat(sys.argv[1]).st_mode & 0o777), calls)
"""
    words = [sys.executable, "-c", code, str(tmp_path / "new.txt")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "0o640 []\n"


def test_the_owner_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file is given to the owner of the old one, and then the mode, which giving it away may change."""
    path = tmp_path / "theirs.txt"
    path.write_text("old")
    path.chmod(0o640)
    there = path.stat()
    theirs = os.stat_result((*there[:4], there.st_uid + 1, *there[5:]))
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "chown", lambda _, user, group: given.append((user, group)))
    new = tmp_path / "new.txt"
    new.write_text("new")
    assert files._dressed_as(new, theirs)
    assert given == [(there.st_uid + 1, there.st_gid)]
    assert mode(new) == 0o640


def test_a_file_whose_owner_cannot_be_had_is_written_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "theirs.txt"
    path.write_text("old and longer")
    number = path.stat().st_ino

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    there = path.stat()
    assert not files._dressed_as(path, os.stat_result((*there[:4], there.st_uid + 1, *there[5:])))
    monkeypatch.setattr(files, "_dressed_as", lambda *_: False)
    write(path)
    assert path.read_text() == "new"
    assert path.stat().st_ino == number
    assert os.listdir(tmp_path) == ["theirs.txt"]


def test_devices_stay_devices() -> None:
    before = os.stat("/dev/null")
    ht.save(GRAPH, "/dev/null")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    with pytest.raises(OutputError, match="No space left"):
        ht.save(GRAPH, "/dev/full")


def test_pipes_are_written_through(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write(pipe, overwrite=False)
    reader.join(timeout=60)
    assert heard == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_other_things_are_refused(tmp_path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "socket"))
        with pytest.raises(OutputError, match="neither a file nor a pipe"):
            write(tmp_path / "socket")
    for bad in (tmp_path, tmp_path / "no" / "x", tmp_path / "socket" / "x", "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(OutputError, match="cannot write"):
            write(bad)


def test_the_longest_name_will_do(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    ht.save(GRAPH, path)
    assert os.listdir(tmp_path) == [path.name]


def test_others_files_stay_and_ours_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    for theirs in ("mine", '{"format": "other"}', "written by halftrek", "<!DOCTYPE html><p>halftrek", '{"a": 1}'):
        path.write_text(theirs)
        with pytest.raises(OutputError, match="halftrek did not write it; choose another name, or overwrite=True"):
            ht.save(GRAPH, path)
        assert path.read_text() == theirs
    ht.save(GRAPH, path, overwrite=True)
    ht.save(ht.graph("a -> b"), path)
    assert ht.load(path).observed == ("a", "b")
    path.write_text("")  # nothing is lost: tempfile makes such
    ht.save(GRAPH, path)
    assert os.listdir(tmp_path) == ["graph.json"]


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "new.txt"

    def disturbed() -> None:
        with whole_file(path) as unfinished:
            unfinished.write_text("ours")
            path.write_text("theirs")

    with pytest.raises(OutputError, match="halftrek did not write it"):
        disturbed()
    assert path.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["new.txt"]


@pytest.mark.parametrize("ending", ["png", "svg", "svgz", "pdf", "eps", "ps", "jpg", "tif", "webp"])
def test_pictures_are_known_again(ending: str, tmp_path: Path) -> None:
    figure = new_figure(2.0, 2.0)
    figure.axes[0].plot(range(3000), [k % 7 for k in range(3000)])
    path = tmp_path / f"picture.{ending}"
    save(figure, path)
    assert written_by_halftrek(path)
    save(figure, path)
    figure.savefig(path)
    assert not written_by_halftrek(path)
    with pytest.raises(OutputError, match="overwrite=True"):
        save(figure, path)
    save(figure, path, overwrite=True)


def test_a_protected_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "protected.txt"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda name, _: Path(name) != path)  # root may write everywhere
    with pytest.raises(OutputError, match="protected against writing"):
        write(path)
    assert path.read_text() == "old"


def test_what_is_in_the_making_can_be_removed(tmp_path: Path) -> None:
    with temporary_folder() as folder:
        (folder / "half").write_text("")
        remove_unfinished()
        assert not folder.exists()

    def emptied() -> None:
        with whole_file(tmp_path / "x.txt") as unfinished:
            remove_unfinished()
            assert not unfinished.exists()

    with pytest.raises(OutputError, match="cannot write"):
        emptied()
    assert os.listdir(tmp_path) == []


def test_places_are_looked_at_before_the_work(tmp_path: Path) -> None:
    check_place(tmp_path / "new.txt")
    (tmp_path / "old.txt").write_text("old")
    check_place(tmp_path / "old.txt", overwrite=True)
    with pytest.raises(OutputError, match="overwrite=True"):
        check_place(tmp_path / "old.txt")
    assert os.listdir(tmp_path) == ["old.txt"]
