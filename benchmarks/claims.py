"""What we want to be true of a run, and what the run says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

BARE = ("ggm", "lavaan, no standard errors", "ananke")  # without standard errors: set against the plain fit
WHOLE = "halftrek, standard errors"

Timings = dict[tuple[str, str], dict[str, Any]]


@dataclass(frozen=True)
class Claim:
    """``met`` is None where the run does not tell."""

    what: str
    wanted: str
    measured: str
    met: bool | None


@dataclass(frozen=True)
class Ratio:
    """How many times as long as halftrek; ``bound``: a tool that was stopped takes longer than that."""

    tool: str
    value: float
    bound: bool

    def __str__(self) -> str:
        return f"{self.times} ({self.tool})"

    @property
    def times(self) -> str:
        """Three figures, never a power of ten."""
        figures = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3g}"
        return f"> {figures}" if self.bound else figures


def ratio(at: Timings, problem: str, tool: str) -> Ratio | None:
    """A tool's time over halftrek's, like with like: standard errors on both sides or on neither."""
    entry = at.get((problem, tool))
    whole = at.get((problem, WHOLE))
    ours = whole if whole and "median" in whole and tool not in BARE else at.get((problem, "halftrek"))
    if entry is None or ours is None or "median" not in ours or tool.startswith("halftrek"):
        return None
    if "median" in entry:
        return Ratio(tool, entry["median"] / ours["median"], False)
    return Ratio(tool, entry["beyond"] / ours["median"], True) if "beyond" in entry else None


def claims(results: dict[str, Any]) -> list[Claim]:
    """Every claim about the parts that were measured."""
    found = []
    if "speed" in results:
        timings = results["speed"]["timings"]
        found += _speed({(t["problem"], t["tool"]): t for t in timings}, {t["problem"]: t["section"] for t in timings})
    if "accuracy" in results:
        found += _answers(results["accuracy"])
    return found


def _speed(at: Timings, sections: dict[str, str]) -> list[Claim]:
    found = []
    for problem, least in (("front-door", 40), ("napkin", 40), ("100 variables", 500)):
        found.append(_least(f"{problem}: lavaan, both with standard errors", least, ratio(at, problem, "lavaan")))
    for problem, least in (
        ("front-door", 1), ("napkin", 1), ("100 variables", 15), ("300 variables", 80), ("1,000 variables", 500),
    ):  # fmt: skip
        peers = [ratio(at, problem, tool) for _, tool in at if sections.get(problem) in ("paper", "size")]
        nearest = min((r for r in peers if r is not None), key=lambda r: r.value, default=None)
        found.append(_least(f"{problem}: the fastest peer", least, nearest))
    largest = at.get(("3,000 variables", "halftrek"))
    if largest:
        said = f"{largest['median'] / 1e3:.2g} s" if "median" in largest else largest["why"]
        found.append(Claim("3,000 variables: an answer", "yes", said, "median" in largest))
    for problem, section in sections.items():
        if section == "bootstrap":
            found.append(_least(f"{problem}: lavaan's bootstrap", 25, ratio(at, problem, "lavaan")))
    return found + _processes(at, sections)


def _processes(at: Timings, sections: dict[str, str]) -> list[Claim]:
    """Whole processes; their names are graphs that were also fitted, so they stand under a name of their own."""
    found = []
    for problem in (p for p, s in sections.items() if s == "process"):
        ours = max((t["median"] for (p, tool), t in at.items() if p == problem and "halftrek" in tool), default=None)
        peers = [
            Ratio(tool, t["median"] / ours, False)
            for (p, tool), t in at.items()
            if p == problem and "halftrek" not in tool and "median" in t and ours
        ]
        nearest = min(peers, key=lambda r: r.value, default=None)
        found.append(_least(f"{problem}: the fastest Python peer", 1, nearest))
    return found


def _least(what: str, least: float, measured: Ratio | None) -> Claim:
    if measured is None:
        return Claim(what, f"≥ {least:g}×", "not in this run", None)
    met = measured.value >= least
    return Claim(what, f"≥ {least:g}×", str(measured), met if met or not measured.bound else None)


def _answers(entries: list[dict[str, Any]]) -> list[Claim]:
    """No question where a peer's answer is better than ours, beyond what chance does to these samples."""
    better = []
    ours = {e["question"]: e for e in entries if e["tool"] == "halftrek"}
    for entry in entries:
        mine = ours[entry["question"]]
        if entry is not mine and _is_better(entry, mine):
            better.append(f"{entry['tool']} on {entry['question']}")
    return [Claim("answers: a peer is better", "never", "; ".join(better) or "never", not better)]


def _is_better(entry: dict[str, Any], mine: dict[str, Any]) -> bool:
    """A right answer where ours is not, or errors that are smaller, sample by sample, beyond chance."""
    honest = ("right", "refuses")
    if mine["verdict"] not in honest:
        return entry["verdict"] in honest
    if entry["verdict"] != "right" or mine["verdict"] != "right":
        return False
    if len(entry["values"]) != len(mine["values"]) or len(mine["values"]) < 3:
        return False
    mine_off, peer_off = (np.square(np.array(e["values"]) - e["truth"]) for e in (mine, entry))
    gain = mine_off - peer_off
    chance = float(gain.std(ddof=1)) / np.sqrt(len(gain))
    return bool(gain.mean() > max(2.0 * chance, 0.01 * mine_off.mean()))
