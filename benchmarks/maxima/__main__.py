"""The command: models one after the other, what came of them line by line, a table by kind."""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields
from datetime import date
from hashlib import sha1
from pathlib import Path

from benchmarks.maxima import __doc__ as what
from benchmarks.maxima import exact
from benchmarks.maxima.kinds import KINDS
from benchmarks.maxima.trial import Trial, tried

ROOT = Path(__file__).parents[2]
LINES = ROOT / "benchmarks" / "results" / "maxima.jsonl"
TABLE = LINES.with_suffix(".md")
EVERY = 50  # models between two lines of progress
FEW = 20  # models of which each is printed
Number = tuple[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="so many models")
    parser.add_argument("--first", type=int, default=0, help="the first one's number; with --only its seed")
    parser.add_argument("--only", choices=sorted(KINDS), metavar="KIND", help=f"one of {', '.join(KINDS)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help="store the results, and go on from those stored")
    parser.add_argument("--exact", action="store_true", help="fit exact covariances")
    chosen = parser.parse_args()
    if chosen.exact:
        if chosen.only or chosen.jobs > 1:
            parser.error("--exact has neither kinds nor jobs")
        exact.run(chosen.first, chosen.count, storing=chosen.write)
        return
    numbers = numbered(chosen.first, chosen.count, chosen.only)
    known = stored() if chosen.write else {}
    trials = [known[number] for number in numbers if number in known]
    for trial in progress(taken([n for n in numbers if n not in known], chosen.jobs), len(trials), len(numbers)):
        trials.append(trial)
        if chosen.write:
            store(trial)
    print(table(trials))
    if chosen.write:
        TABLE.write_text(page(list(stored().values())))
    print(figure(trials))


def numbered(first: int, count: int, only: str | None) -> list[Number]:
    """Kinds and seeds: of one kind, or of all by turns."""
    if only is not None:
        return [(only, seed) for seed in range(first, first + count)]
    kinds = list(KINDS)
    return [(kinds[i % len(kinds)], i // len(kinds)) for i in range(first, first + count)]


def taken(numbers: Sequence[Number], jobs: int) -> Iterator[Trial]:
    """The trials of these numbers, in order."""
    if jobs == 1:
        yield from (tried(*number) for number in numbers)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(tried, *zip(*numbers, strict=True), chunksize=4) if numbers else ()


def progress(trials: Iterable[Trial], before: int, count: int) -> Iterator[Trial]:
    """The same; what is lower or refused is printed, and how far it is."""
    began, lower = time.perf_counter(), 0
    for done, trial in enumerate(trials, 1):
        lower += trial.lower
        if trial.lower or trial.refused or count <= FEW:
            print(line_of(trial), flush=True)
        if done % EVERY == 0:
            each = (time.perf_counter() - began) / done
            print(f"{before + done} of {count}, {each:.2f} s each, {lower} lower", flush=True)
        yield trial


def line_of(trial: Trial) -> str:
    """One trial in a line."""
    end = "refused" if trial.refused else "no comparison" if trial.difference is None else f"{trial.difference:+.3g}"
    return (
        f"{trial.name}: {end}, n = {trial.n}, {trial.p} columns, df {trial.df}, units {trial.scale[0]:g} to "
        f"{trial.scale[1]:g}; halftrek: {trial.status}{', with a warning' if trial.warned else ''}, "
        f"{trial.seconds[0]:.2f} s; loop: {trial.loop}, {trial.seconds[1]:.2f} s"
    )


# -- what is kept ------------------------------------------------------------------------------------


def revision() -> str:
    """The last change of the library, and a mark of what is not committed."""

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout

    changes = git("diff", "HEAD", "--", "halftrek")
    more = f"+{sha1(changes.encode()).hexdigest()[:8]}" if changes else ""
    return git("log", "-1", "--format=%h", "--", "halftrek").strip() + more


def stored() -> dict[Number, Trial]:
    """Trials of this revision; those of another one are left behind with their file."""
    now = revision()
    lines = LINES.read_text().splitlines() if LINES.exists() else []
    if not lines or json.loads(lines[0]).get("revision") != now:
        LINES.parent.mkdir(exist_ok=True)
        LINES.write_text(json.dumps({"revision": now, "date": f"{date.today()}"}) + "\n")
        return {}
    names = {f.name for f in fields(Trial)}
    found = [Trial(**{k: v for k, v in json.loads(line).items() if k in names}) for line in lines[1:]]
    return {(t.kind, t.seed): t for t in found}


def store(trial: Trial) -> None:
    """One line more."""
    with LINES.open("a") as file:
        file.write(json.dumps(asdict(trial) | {"silent": trial.silent}, separators=(",", ":")) + "\n")


# -- what came of all --------------------------------------------------------------------------------


def table(trials: Sequence[Trial]) -> str:
    """A line for each kind, and one for all."""
    lines = [
        "| kind | models | lower | said converged | in silence | by at most | higher | refused | loop unsettled "
        "| at a border | halftrek, s | loop, s |",
        "|---|" + "---:|" * 11,
    ]
    for kind in KINDS:
        own = [t for t in trials if t.kind == kind]
        lines += [_line(kind, own)] if own else []
    return "\n".join([*lines, _line("all", trials)])


def _line(kind: str, trials: Sequence[Trial]) -> str:
    short = max((-t.difference for t in trials if t.lower and t.difference is not None), default=0.0)
    loops = Counter(t.loop for t in trials)
    counts = [sum(getattr(t, name) for t in trials) for name in ("lower", "claimed", "silent")]
    more = [sum(t.higher for t in trials), sum(t.refused for t in trials), loops["unsettled"], loops["border"]]
    seconds = [f"{sum(t.seconds[side] for t in trials) / max(len(trials), 1):.3f}" for side in (0, 1)]
    return f"| {' | '.join(map(str, [kind, len(trials), *counts, f'{short:.2g}', *more, *seconds]))} |"


def figure(trials: Sequence[Trial]) -> str:
    """The last line."""
    lower = Counter(t.kind for t in trials if t.lower)
    worst = ", ".join(f"{kind} {count}" for kind, count in lower.most_common(4)) or "none"
    return (
        f"{len(trials)} models: {lower.total()} lower by 1e-6 or more ({sum(t.silent for t in trials)} in silence), "
        f"{sum(t.refused for t in trials)} refused; worst kinds: {worst}"
    )


def page(trials: Sequence[Trial]) -> str:
    """The table with what it is of."""
    head = json.loads(LINES.read_text().split("\n", 1)[0])
    said = Counter(t.status for t in trials if t.lower)
    refusals = Counter(t.status for t in trials if t.refused)
    listed = [f"- {count} × {status}" for counts in (said, refusals) for status, count in counts.most_common()]
    return "\n".join(
        [
            "# Maxima of random models in samples",
            "",
            f"`python -m benchmarks.maxima --write`, revision {head['revision']}, {head['date']}.",
            "",
            "Lower: halftrek's log-likelihood is 1e-6 or more below that of a plain scoring loop from the truth, under "
            "the same borders.",
            "Said converged: by its status, though some warn of a border or of other peaks. In silence: nothing in the "
            "status speaks against it.",
            "Higher: the loop found the lower one. At a border: the loop's maximum has singular error covariances.",
            "",
            table(trials),
            "",
            "What fits that are lower said, and why others were refused:",
            "",
            *listed,
            "",
            figure(trials),
            "",
        ]
    )


if __name__ == "__main__":
    main()
