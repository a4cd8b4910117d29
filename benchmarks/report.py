"""Results as Markdown pages and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.claims import Claim, claims, ratio

Results = dict[str, Any]
RATIOS = """
![Each tool's time as a multiple of halftrek's, by problem, on a logarithmic scale](ratios.png)

Each dot is a tool's time as a multiple of halftrek's for the same work; a triangle is a tool that was stopped, and
takes longer than that.

"""
SIGNS = {
    "right": "✓",
    "refuses": "refuses",
    "formula only": "formula",
    "error": "fails",
    "not a number": "NaN",
    "absent": "–",
    "gave up": "gave up",
}


def write(results: Results, out: Path) -> None:
    """The pages of those parts that were measured."""
    if "accuracy" in results:
        (out / "accuracy.md").write_text(
            _head("Right, and honest", results, "accuracy") + accuracy_page(results["accuracy"])
        )
    if "speed" in results:
        said = "## In short\n\nTimes are multiples of halftrek's.\n\n" + claims_table(claims(results)) + RATIOS
        (out / "speed.md").write_text(_head("Speed", results, "speed") + said + speed_page(results["speed"]))
        growth_figure(results["speed"]["timings"], out / "growth.png")
        ratio_figure(results["speed"]["timings"], out / "ratios.png")
    if "limits" in results:
        (out / "limits.md").write_text(
            _head("How far from the limit", results, "limits") + limits_page(results["limits"])
        )


def table(head: list[str], rows: list[list[str]], right: int = 1) -> str:
    """A Markdown table; columns from ``right`` on are aligned to the right."""
    lines = ["| " + " | ".join(head) + " |", "|" + "".join("---|" if k < right else "---:|" for k in range(len(head)))]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def claims_table(found: list[Claim]) -> str:
    """What we want to be true, and what the run says."""
    words = {True: "✓", False: "**no**", None: "?"}
    return table(["", "wanted", "measured", ""], [[c.what, c.wanted, c.measured, words[c.met]] for c in found], 1)


def _head(title: str, results: Results, part: str) -> str:
    m, versions = results["runs"][part], results["versions"]
    kind = "quick run (small sizes, few samples)" if m["quick"] else "full run"
    tools = ", ".join(f"{name} {v}" if not v.startswith("not") else f"{name} ({v})" for name, v in versions.items())
    again = "".join(f" Fits of {tool} were measured again on {day}." for tool, day in m.get("again", {}).items())
    return (
        f"# {title}\n\nWritten by `python benchmarks/run.py`, {kind}, {m['date']}: {m['cores']} cores, "
        f"{m['processor']}, {m['system']}, Python {m['python']}, load {m['load']} at the end. {tools}.{again}\n\n"
    )


def accuracy_page(entries: list[dict[str, Any]]) -> str:
    questions = list(dict.fromkeys(e["question"] for e in entries))
    tools = list(dict.fromkeys(e["tool"] for e in entries))
    at = {(e["question"], e["tool"]): e for e in entries}
    text = (
        "What each tool says of a total effect, from samples of 1,000 rows of a model that is known. ✓: its answers "
        "are about the truth; the number is the root mean squared error; then how many of its 95 % intervals hold the "
        "truth, where it gives any. **Bold** is a wrong number, or a number for what cannot be known, without a "
        "warning.\n\n"
    )
    text += table(["", *tools], [[q, *(_cell(at[q, t]) for t in tools)] for q in questions], 99)
    text += "\n## In words\n\n"
    for q in questions:
        text += f"\n### {q}\n\nTrue effect {at[q, tools[0]]['truth']:.3g}.\n\n"
        rows = [
            [
                t,
                at[q, t]["verdict"],
                _middle(at[q, t]),
                str(at[q, t].get("note", "")).replace("|", "¦").replace("[", r"\["),
            ]
            for t in tools
        ]
        text += table(["tool", "verdict", "median answer", "what it said"], rows, 99)
    return text


def _middle(entry: dict[str, Any]) -> str:
    return f"{entry['median']:.3f}" if "median" in entry else ""


def _cell(entry: dict[str, Any]) -> str:
    verdict = entry["verdict"]
    if "median" not in entry:
        return SIGNS.get(verdict, verdict)
    covered = f", {entry['covered']}/{entry['intervals']}" if entry["intervals"] else ""
    failed = f", {entry['failed']} failed" if entry["failed"] else ""
    if verdict == "right":
        return f"✓ {entry['error']:.3f}{covered}{failed}"
    word = f"{'wrong' if 'wrong' in verdict else 'not knowable'}: {entry['median']:.2f}{covered}{failed}"
    return f"**{word}**" if "WITHOUT" in verdict else f"{word} ({verdict.split(', ')[-1]})"


def _time(milliseconds: float) -> str:
    for unit, size in (("h", 3.6e6), ("min", 6e4), ("s", 1e3), ("ms", 1.0)):
        if milliseconds >= 2 * size:
            amount = milliseconds / size
            return f"{amount:,.0f} {unit}" if amount >= 100 else f"{amount:.3g} {unit}"
    return f"{1e3 * milliseconds:.3g} µs" if milliseconds < 0.1 else f"{milliseconds:.2g} ms"


def speed_page(measured: dict[str, Any]) -> str:
    timings = measured["timings"]
    text = (
        "Medians; in brackets the ratio to halftrek (with standard errors where the tool computes them, without where "
        "it does not); ± is half the middle half of the repeats. Fits are from moments, in a process that is warm: "
        "halftrek has decided by then what the graph identifies. One thread each for linear algebra.\n"
    )
    for title, sections in (
        ("From moments to a fit", ("paper", "size")),
        ("One giant district", ("giant district",)),
        ("Bootstrap", ("bootstrap",)),
        ("A whole process: start, read a file of 10,000 rows, fit, answer", ("process",)),
        ("All verdicts of all small graphs", ("census",)),
    ):
        mine = [t for t in timings if t["section"] in sections]
        if mine:
            text += f"\n## {title}\n\n" + _grid(mine)
    rows = [t for t in timings if t["section"] == "rows"]
    if rows:
        text += (
            "\n## Rows in a Parquet file of three columns\n\nTime, and the most memory that the process ever had.\n\n"
        )
        text += table(
            ["", "tool", "time", "memory"], [[t["problem"], t["tool"], _timed(t), _memory(t)] for t in rows], 2
        )
    if measured["growth"]:
        text += (
            "\n## How cost grows\n\nTime is proportional to size to this power, over the largest sizes measured.\n\n"
        )
        text += "![Time against size, both on logarithmic scales](growth.png)\n\n"
        grown = [
            [g["section"], g["tool"], f"{g['sizes'][0]:,} to {g['sizes'][1]:,}", f"{g['exponent']:.2f}"]
            for g in measured["growth"]
        ]
        text += table(["", "tool", "sizes", "power"], grown, 3)
    return text


def _grid(timings: list[dict[str, Any]]) -> str:
    problems = list(dict.fromkeys(t["problem"] for t in timings))
    tools = list(dict.fromkeys(t["tool"] for t in timings))
    at = {(t["problem"], t["tool"]): t for t in timings}
    return table(["", *problems], [[t, *(_ratio(at, p, t) for p in problems)] for t in tools])


def _timed(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return ""
    if "median" not in entry:
        return entry["why"]
    spread = (entry["high"] - entry["low"]) / 2
    return _time(entry["median"]) + (f" ± {100 * spread / entry['median']:.0f} %" if entry["repeats"] > 2 else "")


def _ratio(at: dict[tuple[str, str], dict[str, Any]], problem: str, tool: str) -> str:
    found = ratio(at, problem, tool)
    return _timed(at.get((problem, tool))) + ("" if found is None else f" ({found.times}×)")


def _memory(entry: dict[str, Any]) -> str:
    return f"{entry['megabytes']:.0f} MB" if entry.get("megabytes") else ""


def limits_page(limits: dict[str, list[dict[str, Any]]]) -> str:
    text = "Against the least that the work could cost: a ratio of 1 is the limit.\n\n"
    rows = [
        [e["what"], e["floor"], _time(e["floor_ms"]), _time(e["halftrek_ms"]), f"{e['ratio']:.2f}"]
        for e in limits["floors"]
    ]
    text += table(["", "limit", "limit takes", "halftrek takes", "ratio"], rows, 2)
    text += (
        "\n## Against the Cramér-Rao bound\n\nMean squared error of E[y | do(x = 1)] over samples, as a multiple of "
        "the least variance that an unbiased estimate can have. Below 1 is luck of the samples.\n\n"
    )
    rows = [[e["question"], f"{e['samples']:,}", f"{e['ratio']:.3f} ± {e['spread']:.3f}"] for e in limits["efficiency"]]
    return text + table(["", "samples", "error² / bound"], rows)


def ratio_figure(timings: list[dict[str, Any]], path: Path) -> None:
    """A row for each problem, a dot for each tool, halftrek at 1."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    at = {(t["problem"], t["tool"]): t for t in timings}
    wanted = ("paper", "size", "giant district", "bootstrap", "process")
    problems = list(dict.fromkeys(t["problem"] for t in timings if t["section"] in wanted))
    tools = [t for t in dict.fromkeys(t["tool"] for t in timings if t["section"] in wanted) if "halftrek" not in t]
    fig, ax = plt.subplots(figsize=(9, 0.42 * len(problems) + 1.6), layout="constrained")
    colours = dict(zip(tools, plt.colormaps["tab20"].colors, strict=False))
    for tool in tools:
        found = [(ratio(at, p, tool), len(problems) - k) for k, p in enumerate(problems)]
        for bound, marker in ((False, "o"), (True, ">")):
            some = [(r.value, y) for r, y in found if r is not None and r.bound == bound]
            if some:
                ax.plot(*zip(*some, strict=True), marker, ms=7, color=colours[tool], alpha=0.85)
        ax.plot([], [], "o", color=colours[tool], label=tool)
    ax.axvline(1.0, color="0.2", lw=1.2)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,g}×")
    ax.set_yticks([len(problems) - k for k in range(len(problems))], problems)
    ax.set_xlabel("times as long as halftrek")
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    fig.legend(loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    fig.savefig(path, dpi=110)
    plt.close(fig)


def growth_figure(timings: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from halftrek.reporting.plots.figures import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, VERMILION

    colours = (BLUE, SKY, INK, VERMILION, ORANGE, "0.6", GREEN, PURPLE, "0.35", "0.75", "tab:brown", "tab:pink")
    fig, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    titles = {"size": "variables", "giant district": "variables of one district", "rows": "rows in a file"}
    shown: dict[str, Any] = {}
    for ax, (section, label) in zip(axes, titles.items(), strict=True):
        tools = list(dict.fromkeys(t["tool"] for t in timings if t["section"] == section))
        for tool in tools:
            mine = sorted(
                (t["size"], t["median"])
                for t in timings
                if (t["section"], t["tool"]) == (section, tool) and "median" in t
            )
            if mine:
                colour = shown[tool].get_color() if tool in shown else colours[len(shown) % len(colours)]
                (line,) = ax.loglog(*zip(*mine, strict=True), marker="o", ms=4, lw=1.4, color=colour)
                shown.setdefault(tool, line)
        ax.set_xlabel(label)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("milliseconds")
    fig.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    fig.savefig(path, dpi=110)
    plt.close(fig)
