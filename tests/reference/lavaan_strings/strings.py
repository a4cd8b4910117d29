"""Runs lavaan over ``strings.txt`` and stores what it answers in ``answers.json``.

Needs R with lavaan and jsonlite (Debian: r-cran-lavaan, r-cran-jsonlite):
python -m tests.reference.lavaan_strings.strings
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
_HEAD = re.compile(r"^### (?P<name>\w+) \| (?P<function>\w+) \| (?P<data>\w+)(?: \| (?P<options>.*))?$")


class Case(NamedTuple):
    """A text with the function of lavaan that reads it, the rows, and the options as R has them."""

    name: str
    function: str
    data: str
    options: str
    text: str

    @property
    def has(self) -> dict[str, str]:
        """The options by name, each as R writes it."""
        return dict(re.findall(r"([\w.]+) = (c\([^)]*\)|\"[^\"]*\"|\w+)", self.options))


def cases() -> list[Case]:
    """The strings of the file, in order."""
    found = []
    for block in re.split(r"(?m)^(?=### )", (HERE / "strings.txt").read_text())[1:]:
        head, _, text = block.partition("\n")
        matched = _HEAD.match(head)
        if matched is None:
            raise ValueError(f"this head is not understood: {head}")
        found.append(
            Case(matched["name"], matched["function"], matched["data"], matched["options"] or "", text.strip())
        )
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        given, answers = Path(folder) / "given.json", Path(folder) / "answers.json"
        given.write_text(json.dumps([case._asdict() for case in cases()]))
        subprocess.run(["Rscript", HERE / "strings.R", given, answers, HERE], check=True)
        found = json.loads(answers.read_text())
    lines = [f'"tool": {json.dumps(found["tool"])}']
    lines += [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in found["answers"].items()]
    (HERE / "answers.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
