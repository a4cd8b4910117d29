"""The house rules that no single room can check: contracts, start-up, versions, what is packed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.resources import files

import pytest

import halftrek
from tests.extras.fresh import EXTRAS
from tests.extras.smoke import BRINGS
from tests.narrow import some
from tests.project.pages import ROOT

HEAVY = (
    "scipy.stats", "scipy.sparse", "matplotlib", "pandas", "polars", "pyarrow", "duckdb", "rich", "jinja2", "networkx",
    "flint",
)  # fmt: skip


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()


@pytest.mark.parametrize("code", ["import halftrek", "import halftrek.results.workflow", "import halftrek.cli"])
def test_importing_does_not_load_what_a_call_may_never_need(code: str) -> None:
    loaded = run(f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])")
    assert loaded == ""


def test_the_version_flag_loads_nothing_more() -> None:
    code = "import halftrek.cli.app, sys\nbefore = set(sys.modules)\nhalftrek.cli.main(['--version'])\n"
    more = "print(*[m for m in set(sys.modules) - before if m.startswith(('halftrek', 'scipy', 'matplotlib'))])"
    assert run(code + more) == f"halftrek {halftrek.__version__}"


WEIGHT = {  # how many of our modules a request may load; every one costs all who ask it some time
    "import halftrek": 3,
    "from halftrek.cli import main\nassert main(['identify', GRAPH, 'smoking ~> cancer_risk']) == 0": 145,
    "from halftrek.cli import main\nassert main(['query', GRAPH, DATA, 'P(cancer_risk | do(smoking=1))']) == 0": 270,
    "import halftrek as ht\nht.fit(GRAPH, DATA).query('smoking ~> cancer_risk')": 225,
}


@pytest.mark.parametrize("code", WEIGHT)
def test_a_plain_request_loads_what_it_needs(code: str) -> None:
    """A front door, asked of a CSV file with enough rows: no library beside those that read and calculate."""
    data = ROOT / "halftrek" / "examples" / "data" / "front_door.csv"
    opening = (
        f"GRAPH = 'smoking -> tar -> cancer_risk; smoking <-> cancer_risk'\nDATA = {str(data)!r}\n{code}\nimport sys\n"
    )
    printed = run(f"{opening}print(len([m for m in sys.modules if m.startswith('halftrek')]), 'scipy' in sys.modules)")
    count, scipy = printed.splitlines()[-1].split()
    assert int(count) <= WEIGHT[code], (
        f"{count} modules, at most {WEIGHT[code]} may be: import the newest where it is used"
    )
    assert scipy == "False"


def test_imports_go_down_only() -> None:
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    newest = re.search(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert newest is not None
    assert cited is not None
    assert project == halftrek.__version__ == newest[1] == cited[1]


def test_constraints_are_plain_pins_that_cover_every_requirement() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line) for line in lines)
    pinned = {_canonical(line.split("==")[0]) for line in lines}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = settings["project"]["optional-dependencies"]
    wanted = [*settings["build-system"]["requires"], *settings["project"]["dependencies"]]
    for extra in ("dev", "plot", "sql", "report", "web"):
        wanted += extras[extra]
    names = {_canonical(re.split(r"[<>=\[ ]", requirement)[0]) for requirement in wanted} - {"halftrek"}
    assert names <= pinned


def test_the_lowest_versions_are_the_ones_that_are_tested() -> None:
    pins = dict(line.split("==") for line in (ROOT / "constraints-lowest.txt").read_text().splitlines())
    pinned = {_canonical(name): version for name, version in pins.items()}
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = settings["optional-dependencies"]
    used = [r for r in extras["dev"] if r.startswith(("pandas", "polars"))]
    own = [r for r in extras["web"] if not r.startswith("halftrek")]
    wanted = [*settings["dependencies"], *used, *extras["plot"], *extras["sql"], *extras["report"], *own]
    assert len(wanted) >= 10
    for requirement in wanted:
        name, _, version = requirement.partition(">=")
        assert _release(pinned[name]) == _release(version), requirement


def test_the_optional_parts_are_the_ones_that_are_tried() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) - {"dev"} == set(BRINGS) - {"core"} == set(EXTRAS) - {"core"}
    assert set().union(*(BRINGS[name] for name in BRINGS if name != "all")) == BRINGS["all"]
    assert set(extras["all"]) == {f"halftrek[{','.join(n for n in EXTRAS if n not in ('core', 'all'))}]"}


def test_package_data_is_there() -> None:
    package = files("halftrek")
    assert (package / "py.typed").is_file()
    assert (package / "examples" / "data" / "front_door.csv").is_file()
    assert (package / "reporting" / "report" / "templates" / "page.html").is_file()


def test_architecture_page_lists_the_rooms_that_exist() -> None:
    listing = re.search(r"```text\nhalftrek/\n(.*?)```", (ROOT / "docs" / "architecture.md").read_text(), re.DOTALL)
    assert listing is not None
    listed = {re.match(r" +(\S+)", line)[1] for line in listing[1].splitlines() if line.startswith("  ")}  # type: ignore[index]
    there = {
        f"{path.name}/" if path.is_dir() else path.name
        for path in (ROOT / "halftrek").iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
    }
    assert listed == there
    for room, words in some(re.findall(r"^ +(\w+)/ +(.*)$", listing[1], re.MULTILINE)):
        folders = {path.name for path in (ROOT / "halftrek" / room).iterdir() if path.is_dir()} - {"__pycache__"}
        assert folders <= set(re.findall(r"(\w+)/", words)), f"{room}: {folders}"


def _release(version: str) -> tuple[int, ...]:
    """1.12 and 1.12.0 are one release."""
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
