"""``python -m tests.fuzz``: hostile input, made at random, against the clock; exit code 1 if anything failed."""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import halftrek
from tests.fuzz import page
from tests.fuzz.runner import Batch, Fuzz, Tally, about, discovered, run_batch, run_for


def main(words: Sequence[str], there: Mapping[str, Fuzz] | None = None, target: Path = page.PAGE) -> int:
    """Runs, prints counts and failures, and writes the page if asked to."""
    options = parser().parse_args(words)
    chosen = dict(discovered() if there is None else there)
    if options.only:
        chosen = {name: fuzz for name, fuzz in chosen.items() if options.only in (name, *name.split("."))}
    if not chosen:
        print(f"no fuzzing function is called {options.only!r}" if options.only else "no fuzzing functions were found")
        return 2
    if options.write and (options.only or options.batch is not None):
        print("--write is for a run of everything: leave out --only and --batch")
        return 2
    tallies = [tally(name, fuzz, options, 60 * options.minutes / len(chosen)) for name, fuzz in chosen.items()]
    tried, failures = sum(t.tried for t in tallies), sum(t.failures for t in tallies)
    print(f"{len(tallies)} functions, {tried:,} tried, {failures:,} failures, seed {options.seed}")
    if options.write:
        made = page.table(tallies, origin(options.seed, sum(t.seconds for t in tallies)))
        target.write_text(page.with_table(target.read_text(encoding="utf-8"), made), encoding="utf-8")
    idle = [t.name for t in tallies if t.tried == 0]
    if idle:
        print(f"nothing was tried by {', '.join(idle)}")
    return int(failures > 0 or bool(idle))


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    made.add_argument("--minutes", type=float, default=10.0, help="for all functions together (10)")
    made.add_argument("--seed", type=int, default=0, help="another seed makes other inputs (0)")
    made.add_argument("--only", default="", metavar="NAME", help="a function, or a module of them")
    made.add_argument("--batch", type=int, help="one batch again, with --count as printed beside a failure")
    made.add_argument("--count", type=int, default=1, help="how many inputs that batch has (1)")
    made.add_argument("--write", action="store_true", help="put the counts into docs/reliability.md")
    return made


def tally(name: str, fuzz: Fuzz, options: argparse.Namespace, seconds: float) -> Tally:
    """One function's batches; failures are printed as they come, with what brings them back."""
    if options.batch is None:
        batches = run_for(name, fuzz, options.seed, seconds)
    else:
        batches = iter([run_batch(name, fuzz, options.seed, options.batch, options.count)])
    seen = []
    for batch in batches:
        seen.append(batch)
        report(batch, options.seed)
    done = Tally(name, about(fuzz), tuple(seen))
    print(f"{name}: {done.tried:,} tried, {done.failures:,} failures, {done.seconds:.0f} s", flush=True)
    return done


def report(batch: Batch, seed: int) -> None:
    """The failures of a batch."""
    for failure in batch.failures:
        print(f"{batch.name} FAILED: {failure}")
    if batch.failures:
        again = f"--only {batch.name} --seed {seed} --batch {batch.number} --count {batch.count}"
        print(f"  again: python -m tests.fuzz {again}", flush=True)


def origin(seed: int, seconds: float) -> str:
    """Where the counts of the page come from."""
    spent = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"
    return f"`make fuzz`, {spent}, seed {seed}, halftrek {halftrek.__version__}, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
