"""Reads the code blocks of a Markdown page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLES = (p for p in (ROOT / "docs").rglob("*.md") if "benchmarks" not in p.parts)  # those are results
PAGES = (ROOT / "README.md", *sorted(EXAMPLES))

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block; ``output`` is the text block that follows it directly, None if there is none."""

    kind: str
    text: str
    line: int
    output: str | None


def blocks(page: Path, kind: str) -> list[Block]:
    """The page's blocks of one kind, in order."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    result = []
    for i, match in enumerate(found):
        following = found[i + 1] if i + 1 < len(found) else None
        output = None
        if following and following[1] == "text" and not text[match.end() : following.start()].strip():
            output = following[2]
        if match[1] == kind:
            result.append(Block(kind, match[2], text.count("\n", 0, match.start()) + 2, output))
    return result
