"""Builds the wheel, looks into it, and tries each optional part in an environment made for it alone.

``python tests/extras/fresh.py [EXTRA ...]``; needs only the standard library. ``make test-extras`` pins the versions.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
EXTRAS = ("core", "plot", "sql", "databases", "report", "web", "all")
COMMAND = "halftrek_command.py"
PACKED = ("pyproject.toml", "README.md", "LICENSE", COMMAND)


def build(folder: Path) -> Path:
    """The wheel, made from a copy: what an earlier build left beside the sources is not packed again."""
    source = folder / "source"
    shutil.copytree(ROOT / "halftrek", source / "halftrek", ignore=shutil.ignore_patterns("__pycache__"))
    for name in PACKED:
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def complaints(wheel: Path) -> list[str]:
    """What the wheel lacks, or has too much: every file of the package, and nothing but the package."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = (p for p in (ROOT / "halftrek").rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    wanted = {p.relative_to(ROOT).as_posix() for p in package} | {COMMAND}
    return [f"the wheel lacks {name}" for name in sorted(wanted - packed)] + [
        f"the wheel holds {name}" for name in sorted(packed - wanted)
    ]


def attempt(extra: str, wheel: Path, folder: Path) -> bool:
    """One fresh environment with that part, and its promises tried in it."""
    home = folder / extra
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    what = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
    subprocess.run([python, "-m", "pip", "install", "--quiet", what], check=True)
    # Started elsewhere, and isolated: the sources beside this file must not be taken for the installed package.
    done = subprocess.run([python, "-I", str(SMOKE), extra], cwd=folder, check=False)
    shutil.rmtree(home)
    return done.returncode == 0


def main(wanted: list[str]) -> int:
    """Tries the named parts, all without a name."""
    unknown = sorted(set(wanted) - set(EXTRAS))
    if unknown:
        print(f"there is no part {unknown[0]!r}; there are {', '.join(EXTRAS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        found = complaints(wheel)
        print(*found, f"wheel: {len(found)} complaints", sep="\n", flush=True)
        kept = [attempt(extra, wheel, folder) for extra in wanted or EXTRAS]
    return int(bool(found) or not all(kept))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
