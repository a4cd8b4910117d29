"""The tools that are compared: how they are set up, in environments of their own, and how they are asked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.problems import Problem

HERE = Path(__file__).parent
HOMES = HERE.parent / ".bench"
# every tool gets one thread for linear algebra: several that wait for each other on a busy machine measure the machine
ONE_THREAD = {**os.environ, **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")}


@dataclass(frozen=True)
class Tool:
    """A tool: its name in tables, what runs it, what is installed for it, and its licence's family."""

    name: str
    package: str
    driver: str
    language: str = "Python"
    wanted: tuple[str, ...] = ()  # requirements beyond the package, where its own do not work together
    variant: str = ""

    @property
    def home(self) -> Path:
        return HOMES / self.package

    def command(self, folder: Path, *task: str) -> list[str]:
        if self.language == "R":
            return [
                "Rscript",
                "--vanilla",
                str(HERE / "peers" / "run.R"),
                str(folder),
                task[0],
                self.package,
                *task[1:],
            ]
        python = sys.executable if self.package == "halftrek" else str(self.home / "bin" / "python")
        return [python, str(HERE / "peers" / self.driver), str(folder), *task]


HALFTREK = Tool("halftrek", "halftrek", "run_halftrek.py")
SEMOPY = Tool("semopy", "semopy", "run_semopy.py", variant="covariance")
ANANKE = Tool("ananke", "ananke-causal", "run_ananke.py", wanted=("scipy<1.14",))
DOWHY = Tool("DoWhy", "dowhy", "run_dowhy.py")
LINEARMODELS = Tool("linearmodels", "linearmodels", "run_linearmodels.py")
Y0 = Tool("y0", "y0", "run_y0.py", wanted=("pgmpy<1",))
PGMPY = Tool("pgmpy", "pgmpy", "run_pgmpy.py")
LAVAAN, OPENMX, SEM, GGM = (Tool(p, p, "run.R", "R") for p in ("lavaan", "OpenMx", "sem", "ggm"))
SEMOPY_LATENT = Tool("semopy, hidden causes as latent variables", "semopy", "run_semopy.py", variant="latent")
PEERS = (LAVAAN, OPENMX, SEM, GGM, SEMOPY, ANANKE, DOWHY, LINEARMODELS, Y0, PGMPY)


def set_up(tool: Tool, install: bool) -> None:
    """Install a peer where it is not there yet; that it cannot be is no reason to stop."""
    if tool.package == "halftrek" or version(tool) is not None or not install:
        return
    print(f"setting up {tool.name}", flush=True)
    if tool.language == "R":
        if shutil.which("apt-get") and os.geteuid() == 0:
            packages = [f"r-cran-{tool.package.lower()}", "r-cran-jsonlite"]
            subprocess.run(["apt-get", "install", "--yes", "--quiet", *packages], capture_output=True, check=False)
    else:
        HOMES.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(tool.home)], capture_output=True, check=False)
        pip = [str(tool.home / "bin" / "python"), "-m", "pip", "install", "--quiet", tool.package, *tool.wanted]
        subprocess.run(pip, capture_output=True, check=False)
    version.cache_clear()


@cache
def version(tool: Tool) -> str | None:
    """The version that is installed, or None."""
    if tool.package == "halftrek":
        import halftrek

        return halftrek.__version__
    if tool.language == "R":
        code = f'if (requireNamespace("jsonlite", quietly=TRUE)) cat(as.character(packageVersion("{tool.package}")))'
        command = ["Rscript", "--vanilla", "-e", code]
    else:
        code = f"import importlib.metadata as m; print(m.version('{tool.package}'))"
        command = [str(tool.home / "bin" / "python"), "-c", code]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def how_to_install(tool: Tool) -> str:
    if tool.language == "R":
        return f"not installed: apt-get install r-cran-{tool.package.lower()} r-cran-jsonlite"
    return f"not installed: pip install {' '.join((tool.package, *tool.wanted))}"


def ask(tool: Tool, problem: Problem, *task: str, seconds: float) -> dict[str, Any]:
    """One tool on one problem, in a process of its own: what it printed, or why there is nothing."""
    if version(tool) is None:
        return {"absent": how_to_install(tool)}
    with tempfile.TemporaryDirectory() as folder:
        problem.write(Path(folder))
        return run(tool.command(Path(folder), *task), seconds)


def run(command: list[str], seconds: float) -> dict[str, Any]:
    """The JSON that a command's last line holds."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, cwd=HERE / "peers", env=ONE_THREAD
        )
    except subprocess.TimeoutExpired:
        return {"gave_up": f"no answer in {seconds:g} s", "beyond": 1e3 * seconds}
    lines = done.stdout.strip().splitlines()
    try:
        found: dict[str, Any] = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        said = done.stderr.strip().splitlines()
        # a process that the system stopped, for its memory as a rule, says nothing
        return {"error": said[-1][:120] if said else f"stopped with status {done.returncode}"}
    return found


def library_commit() -> str:
    """The last commit that changed the library, and whether its files have changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "../halftrek")
    return git("log", "-1", "--format=%H", "--", "../halftrek") + (" with changes" if changed else "")


def machine() -> dict[str, Any]:
    """What the numbers were measured on; no names of hosts, no paths."""
    import platform

    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = found[0] if found else ""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "processor": model or platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
    }
