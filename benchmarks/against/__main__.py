"""The command: both revisions' cases in turns, a line for each, and the verdict as the last line."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.against.ratios import LIMIT, Compared, Times, compare, quartiles, verdict
from benchmarks.against.sides import Failed, Side
from benchmarks.against.trees import Tree, present, revision

RESULTS = Path(__file__).parents[1] / "results" / "against.json"


def chosen(paces: Mapping[str, str], only: str, quick: bool) -> list[str]:
    """The cases that are asked for: by name whatever their pace, else all but the slow ones."""
    if only:
        return [case for case in paces if re.search(only, case)]
    return [case for case, pace in paces.items() if pace == "quick" or (pace == "usual" and not quick)]


def run(before: Side, now: Side, *, only: str, quick: bool, rounds: int) -> dict[str, Any]:
    """Every case that both sides have; what one lacks, and what fails, by name."""
    hello = [side.hello() for side in (before, now)]
    cases = [chosen(one["paces"], only, quick) for one in hello]
    slow = {case for one in hello for case, pace in one["paces"].items() if pace == "slow"}
    compared: list[Compared] = []
    failed: dict[str, str] = {}
    for case in cases[1]:
        if case not in hello[0]["paces"]:
            continue
        try:
            found = compare(case, before, now, min(rounds, 3) if case in slow else rounds)
        except Failed as failure:
            failed[case] = str(failure)
            print(f"{case:52s} FAILED {failure}", flush=True)
            continue
        compared.append(found)
        print(line(found), flush=True)
    alone = {
        "before": [case for case in cases[0] if case not in hello[1]["paces"]],
        "now": [case for case in cases[1] if case not in hello[0]["paces"]],
    }
    packages = [one["packages"] for one in hello]
    return {"compared": compared, "failed": failed, "alone": alone, "packages": packages}


def line(one: Compared) -> str:
    """A case: milliseconds of the processor before and now, their ratio with its interval, and that of the wall."""
    before, now = one.processor.milliseconds
    (low, high), (quick, slow) = one.processor.interval, one.wall.interval
    return (
        f"{one.case:52s} {before:9.2f} -> {now:9.2f} ms  {one.processor.ratio:5.2f} ({low:.2f} to {high:.2f}), "
        f"on the wall {one.wall.ratio:.2f} ({quick:.2f} to {slow:.2f}), {len(one.wall.before)} x {one.repeats}"
        + ("  SLOWER" if one.slower else "")
        + (f"  NUMBERS DIFFER: {one.differs}" if one.differs else "")
    )


def record(found: Mapping[str, Any], before: Tree, now: Tree) -> dict[str, Any]:
    """What is stored: ratios, and milliseconds of this machine as information."""
    from benchmarks.tools import machine

    return {
        "machine": machine(),
        "packages": found["packages"][1],
        "before": before.name,
        "now": now.name,
        "limit": LIMIT,
        "verdict": verdict(found["compared"]),
        "failed": found["failed"],
        "alone": found["alone"],
        "cases": [
            {
                "case": one.case,
                **stored(one.processor),
                "wall": stored(one.wall),
                "rounds": len(one.wall.before),
                "repeats": one.repeats,
                "differs": one.differs,
            }
            for one in found["compared"]
        ],
    }


def stored(times: Times) -> dict[str, Any]:
    return {name: rounded(getattr(times, name)) for name in ("ratio", "quartiles", "interval", "milliseconds")}


def rounded(value: float | tuple[float, ...]) -> float | list[float]:
    return [float(f"{one:.4g}") for one in value] if isinstance(value, tuple) else float(f"{value:.4g}")


def closing(found: Mapping[str, Any]) -> list[str]:
    """What there is to say of the whole; the verdict comes last."""
    lines = []
    for clock in ("processor", "wall"):
        if ratios := sorted(getattr(one, clock).ratio for one in found["compared"]):
            low, high = quartiles(ratios)
            span = f"from {ratios[0]:.2f} to {ratios[-1]:.2f}, half of them from {low:.2f} to {high:.2f}"
            lines.append(f"ratios by {clock}: {span}")
    old, new = found["packages"]
    changed = [f"{name} {old.get(name)} -> {version}" for name, version in new.items() if old.get(name) != version]
    lines += [f"packages differ: {', '.join(changed)}"] if changed else []
    lines += [f"only there {side}: {'; '.join(cases)}" for side, cases in found["alone"].items() if cases]
    differing = [one.case for one in found["compared"] if one.differs]
    lines += [f"numbers differ: {'; '.join(differing)}"] if differing else []
    lines += [f"failed: {'; '.join(found['failed'])}"] if found["failed"] else []
    return [*lines, verdict(found["compared"])]


def main(arguments: Sequence[str] | None = None) -> int:
    ask = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    ask.add_argument("revision", metavar="REV", help="what this tree is compared with: a commit, a tag, HEAD~1")
    ask.add_argument("--only", metavar="REGEX", default="", help="cases whose names match, slow ones among them")
    ask.add_argument("--rounds", type=int, help="rounds of each case (default: 5, with --quick 3; slow cases 3)")
    ask.add_argument("--quick", action="store_true", help="the cheap cases alone: one or two minutes")
    ask.add_argument("--write", action="store_true", help=f"store what is found as {RESULTS.name}")
    ask.add_argument("--strict", action="store_true", help="exit status 1 if a case is slower, or nothing was compared")
    asked = ask.parse_args(arguments)
    rounds = asked.rounds or (3 if asked.quick else 5)
    if rounds < 1:
        ask.error("--rounds must be at least 1")
    with Side("before", revision(asked.revision)) as before, Side("now", present()) as now:
        print(f"before: {before.tree.name}, now: {now.tree.name}; ratios are now / before")
        try:
            found = run(before, now, only=asked.only, quick=asked.quick, rounds=rounds)
        except Failed as failure:  # before any case
            raise SystemExit(str(failure)) from None
        if asked.write:
            RESULTS.parent.mkdir(exist_ok=True)
            text = json.dumps(record(found, before.tree, now.tree), indent=1)
            RESULTS.write_text(text + "\n", encoding="utf-8")
    print("\n".join(closing(found)))
    fine = found["compared"] and not any(one.slower for one in found["compared"])
    return int(asked.strict and not fine)


if __name__ == "__main__":
    raise SystemExit(main())
