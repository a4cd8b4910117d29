"""Reads LaTeX as far as it takes to see that nothing in it is bare, and gives it to pdflatex."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

_MATHS = re.compile(r"\\ensuremath\{(?:[^{}]|\{[^{}]*\})*\}|(?<!\\)\$.*?(?<!\\)\$", re.DOTALL)
_ALIGNED = re.compile(r"\\begin\{tabular\}.*?\\end\{tabular\}", re.DOTALL)


def faults(text: str) -> list[str]:
    """What plain pdflatex would stumble over, or set as something else."""
    found = [f"not ASCII: {letter!r}" for letter in text if not letter.isascii()]
    begun, ended = re.findall(r"\\begin\{(\w+)\}", text), re.findall(r"\\end\{(\w+)\}", text)
    if sorted(begun) != sorted(ended):
        found.append(f"{begun} begun, {ended} ended")
    words = _unescaped(_MATHS.sub(" ", text))
    found += [f"bare {letter!r}" for letter in "_^~%#$" if letter in words]
    found += [
        f"bare {letter!r} in a formula" for letter in "%#&~" for m in _MATHS.findall(text) if letter in _unescaped(m)
    ]
    if "&" in _unescaped(_ALIGNED.sub(" ", text)):
        found.append("bare '&'")
    depth = 0
    for letter in _unescaped(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0:
            return [*found, "a brace closes nothing"]
    return [*found, "an open brace"] if depth else found


def _unescaped(text: str) -> str:
    return re.sub(r"\\.", " ", text, flags=re.DOTALL)


def compile_all(folder: Path, packages: str, pieces: Iterable[str]) -> None:
    """Every piece in one document, which pdflatex has to take without an error."""
    body = "\n\n".join(pieces)
    source = f"\\documentclass{{article}}\n{packages}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (folder / "all.tex").write_text(source, encoding="ascii")
    words = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in (folder / "all.log").read_text(errors="replace")
    (folder / "all.pdf").unlink()
