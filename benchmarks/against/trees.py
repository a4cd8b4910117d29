"""The two trees that are compared: where each stands, its interpreter, and its cases."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HOMES = ROOT / ".bench" / "against"
STORED = Path(__file__).parent / "before"  # cases in the names of the revisions that have none of their own
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Tree:
    """A revision's files, the interpreter that sees them and no other halftrek, and the folder of its cases."""

    name: str
    root: Path
    python: Path
    cases: Path


def present() -> Tree:
    """The tree that this file is in, with whatever has been changed in it."""
    changed = bool(_git(ROOT, "status", "--porcelain"))
    name = _git(ROOT, "rev-parse", "--short=8", "HEAD") + (" with changes" if changed else "")
    return Tree(name, ROOT, environment(ROOT, HOMES / "present", packages_here()), cases_of(ROOT))


def revision(name: str) -> Tree:
    """A revision in a worktree, which is kept for the next time."""
    try:
        commit = _git(ROOT, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except subprocess.CalledProcessError:
        raise SystemExit(f"{name} is not a revision of this repository") from None
    home = HOMES / commit
    root = home / "tree"
    if not root.exists():
        _git(ROOT, "worktree", "prune")  # a cache that was removed by hand is still listed
        _git(ROOT, "worktree", "add", "--detach", str(root), commit)
    if _git(root, "rev-parse", "HEAD") != commit or _git(root, "status", "--porcelain"):
        raise SystemExit(f"{root} is no longer what the revision holds: git worktree remove --force {root}")
    packages = packages_here() if requirements(root) == requirements(ROOT) else packages_of(root, home)
    return Tree(commit[:8], root, environment(root, home, packages), cases_of(root))


def cases_of(root: Path) -> Path:
    """The folder of a tree's own cases; the stored ones are for trees without any."""
    own = root / "benchmarks" / "against"
    return own if (own / "cases.py").exists() else STORED


def requirements(root: Path) -> tuple[Any, ...]:
    """What is installed for a tree: its requirements, and the pins of their versions."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (root / "constraints.txt").read_text(encoding="utf-8")
    return project.get("dependencies"), project.get("optional-dependencies"), pins


def packages_here() -> Path:
    """The packages of the interpreter that runs this."""
    return Path(sysconfig.get_paths()["purelib"])


def packages_of(root: Path, home: Path) -> Path:
    """Packages by a tree's own requirements and pins, without halftrek itself; installed once."""
    folder = home / f"packages-{VERSION}"
    if not (folder / "ready").exists():
        print(f"installing what {root} requires", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        pins = dict.fromkeys(("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT"), str(root / "constraints.txt"))
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", f"{root}[all]", "pandas"], check=True, env={**os.environ, **pins})
        subprocess.run([*pip, "uninstall", "--yes", "halftrek"], check=True)
        (folder / "ready").touch()
    return folder / "lib" / f"python{VERSION}" / "site-packages"


def environment(root: Path, home: Path, packages: Path) -> Path:
    """An interpreter that finds a tree first, then packages.

    Both trees have one that is made in this way: starting up through an editable installation takes longer. That
    installation's own hook stays out, since files of paths are read in an environment's own folder alone.
    """
    folder = home / f"python-{VERSION}"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, symlinks=True)
    paths = folder / "lib" / f"python{VERSION}" / "site-packages" / "against.pth"
    paths.write_text(f"{root}\n{packages}\n", encoding="utf-8")
    return python


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
