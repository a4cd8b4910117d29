"""Completions: bash is asked for real; the others know every command and option."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from halftrek.cli import main
from halftrek.cli.app import build_parser
from halftrek.cli.commands.tools.completion import commands_of, completion_script
from tests.narrow import some

COMMANDS = commands_of(build_parser())


def complete(folder: Path, *words: str) -> set[str]:
    """What bash offers for the last word."""
    script = folder / "halftrek.bash"
    script.write_text(completion_script("bash", COMMANDS))
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"source {script.name}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _halftrek"
    done = subprocess.run(
        ["bash", "-c", f'{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return {line for line in done.stdout.splitlines() if line}


def test_bash_completes_commands_options_choices_and_files(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("")
    assert complete(tmp_path, "halftrek", "co") == {"compare", "completion", "convert", "counterfactual"}
    assert complete(tmp_path, "halftrek", "effect", "g", "d", "--mi") == {"--missing"}
    assert complete(tmp_path, "halftrek", "effect", "g", "d", "--interval", "p") == {"parametric", "profile"}
    assert complete(tmp_path, "halftrek", "convert", "x", "--to", "") == {"arrows", "lavaan", "dagitty", "dot"}
    assert complete(tmp_path, "halftrek", "fit", "ro") == {"rows.csv"}
    assert complete(tmp_path, "halftrek", "completion", "fi") == {"fish"}
    assert "--json" in complete(tmp_path, "halftrek", "run", "--")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_known(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for name, parser in COMMANDS.items():
        assert name in script
        for action in parser._actions:
            for word in action.option_strings:
                assert (f"-l {word[2:]}" if shell == "fish" and word.startswith("--") else word.lstrip("-")) in script


def test_zsh_is_a_script_that_a_shell_can_parse(tmp_path: Path) -> None:
    """Its syntax is bash's too, but for two expressions."""
    script = completion_script("zsh", COMMANDS).replace("${=words}", "$words")
    (tmp_path / "script").write_text(script)
    done = subprocess.run(["bash", "-n", "script"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_fish_quotes_its_texts() -> None:
    for line in some(completion_script("fish", COMMANDS).splitlines()):
        assert line.replace("\\'", "").count("'") % 2 == 0, line
