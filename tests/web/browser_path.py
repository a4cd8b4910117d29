"""The browser for the tests of the page: one that is there, else Debian's package, else one from the npm registry.

``python -m tests.web.browser_path`` provides it and prints where it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".browser"  # what came from the npm registry
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
ADVICE = (
    "No browser was found, and none could be installed. Install Chromium or Chrome, or say where one is: "
    "HALFTREK_BROWSER=/path/to/chromium make test"
)


def browser_path() -> str:
    """Where the browser is; what is not there yet is provided."""
    found = named() or installed() or kept() or from_debian() or from_npm()
    if found is None:
        raise RuntimeError(ADVICE)
    return found


def environment_of(path: str) -> dict[str, str]:
    """The environment for a browser: the one from the npm registry brings libraries that a bare machine lacks."""
    libraries = Path(path).parent / "al2023" / "lib"
    if not libraries.is_dir():
        return dict(os.environ)
    known = os.environ.get("LD_LIBRARY_PATH")
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [known, str(libraries)]))}


def named() -> str | None:
    """The one that the user names."""
    path = os.environ.get("HALFTREK_BROWSER")
    if path is not None and not Path(path).is_file():
        raise RuntimeError(f"HALFTREK_BROWSER names {path!r}, and there is no such file")
    return path


def installed() -> str | None:
    """One that the machine has."""
    on_path = (shutil.which(name) for name in NAMES)
    return next((path for path in on_path if path), None) or next((p for p in PLACES if Path(p).is_file()), None)


def kept() -> str | None:
    """One that came from the npm registry before."""
    path = KEPT / "chromium"
    return str(path) if path.is_file() else None


def from_debian() -> str | None:
    """Debian's package, where it may be installed: by the administrator of a machine that has apt."""
    if shutil.which("apt-get") is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    print("Installing Chromium from Debian's packages; this takes a minute.", file=sys.stderr, flush=True)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", "-qq", *words], check=False, env=environment, **quiet)  # type: ignore[call-overload]
    return installed()


def from_npm() -> str | None:
    """The package ``@sparticuz/chromium``, which carries a browser for Linux."""
    if not sys.platform.startswith("linux"):
        return None
    from web.build import npm

    print("Fetching a browser from the npm registry.", file=sys.stderr, flush=True)
    KEPT.mkdir(exist_ok=True)
    call, environment = npm()
    package = "@sparticuz/chromium"
    fetched = subprocess.run(
        [*call, "install", "--no-audit", "--no-fund", "--prefix", str(KEPT), package],
        cwd=KEPT, env=environment, check=False, capture_output=True,
    )  # fmt: skip
    if fetched.returncode:
        return None
    unpack = f"import c from {package!r}; console.log(await c.executablePath())"
    node = shutil.which("node", path=environment["PATH"]) or "node"
    done = subprocess.run(
        [node, "--input-type=module", "-e", unpack],
        cwd=KEPT, env={**environment, "TMPDIR": str(KEPT), "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    path = Path(done.stdout.strip())
    return str(path) if done.returncode == 0 and path.is_file() else None


def main() -> int:
    """Provides the browser."""
    try:
        print(f"browser: {browser_path()}")
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
