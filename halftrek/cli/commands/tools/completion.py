"""``halftrek completion``: what a shell needs to complete commands, options and their choices."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from halftrek.cli.exits import DONE
from halftrek.cli.options import add_command

if TYPE_CHECKING:
    from halftrek.cli.options import Commands

_EXAMPLE = "halftrek completion bash > halftrek.bash && source halftrek.bash && halftrek completion --help"
_SHELLS = ("bash", "zsh", "fish")


def add_to(commands: Commands, _words: Collection[str]) -> None:
    """Adds the command to the parser."""
    parser = add_command(
        commands, "completion", run, summary="print completions for bash, zsh or fish", example=_EXAMPLE
    )
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    from halftrek.cli.app import build_parser
    from halftrek.cli.output import show_json

    script = completion_script(args.shell, commands_of(build_parser()))
    if args.json:
        show_json({"shell": args.shell, "script": script})
    else:
        print(script)
    return DONE


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def completion_script(shell: str, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    """A script for the shell, made from the commands themselves."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [word for action in parser._actions for word in action.option_strings]


def _choices(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Options with a short list of values; under "" those of an argument."""
    found = {}
    for action in parser._actions:
        if action.choices:
            for word in action.option_strings or [""]:
                found[word] = [str(value) for value in action.choices]
    return found


def _cases(commands: Mapping[str, argparse.ArgumentParser]) -> list[str]:
    """Shell lines that set ``words`` from the command and the word before the cursor."""
    lines = []
    for name, parser in commands.items():
        choices = _choices(parser)
        lines.append(f"    {name})")
        lines.append('      case "$before" in')
        for option, values in choices.items():
            if option:
                lines.append(f"        {option}) words={shlex.quote(' '.join(values))}; files= ;;")
        lines.append(f"        *) words={shlex.quote(' '.join([*_options(parser), *choices.get('', [])]))} ;;")
        lines.append("      esac ;;")
    return lines


def _bash(commands: Mapping[str, argparse.ArgumentParser]) -> str:
    return "\n".join(
        [
            "# halftrek completion bash > ~/.local/share/bash-completion/completions/halftrek",
            "_halftrek() {",
            '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words= files=yes',
            '  if [ "$COMP_CWORD" -eq 1 ]; then',
            f'    COMPREPLY=($(compgen -W {shlex.quote(" ".join([*commands, "--help", "--version"]))} -- "$current"))',
            "    return",
            "  fi",
            '  case "${COMP_WORDS[1]}" in',
            *_cases(commands),
            "  esac",
            '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
            '  if [ -n "$files" ] && [ "${current#-}" = "$current" ]; then',
            '    COMPREPLY+=($(compgen -f -- "$current"))',
            "  fi",
            "}",
            "complete -o filenames -F _halftrek halftrek",
        ]
    )


def _zsh(commands: Mapping[str, argparse.ArgumentParser]) -> str:
    return "\n".join(
        [
            "#compdef halftrek",
            '# halftrek completion zsh > "${fpath[1]}/_halftrek"',
            "_halftrek() {",
            '  local before="${words[CURRENT-1]}" command="${words[2]}" files=yes',
            "  if (( CURRENT == 2 )); then",
            f"    compadd -- {' '.join([*commands, '--help', '--version'])}",
            "    return",
            "  fi",
            "  local words=",
            '  case "$command" in',
            *_cases(commands),
            "  esac",
            "  compadd -- ${=words}",
            '  [[ -n "$files" ]] && _files',
            "}",
            'if [ "$funcstack[1]" = "_halftrek" ]; then _halftrek "$@"; else compdef _halftrek halftrek; fi',
        ]
    )


def _fish(commands: Mapping[str, argparse.ArgumentParser]) -> str:
    lines = ["# halftrek completion fish > ~/.config/fish/completions/halftrek.fish"]
    for name, parser in commands.items():
        said = (parser.description or "").splitlines()[0]
        lines.append(f"complete -c halftrek -n __fish_use_subcommand -f -a {name} -d {_single(said)}")
        for action in parser._actions:
            seen = f"complete -c halftrek -n '__fish_seen_subcommand_from {name}'"
            values = f" -x -a {_single(' '.join(map(str, action.choices)))}" if action.choices else ""
            if not action.option_strings:
                lines += [seen + values.replace(" -x", " -f")] if values else []
                continue
            names = "".join(f" -{'l' if w.startswith('--') else 's'} {w.lstrip('-')}" for w in action.option_strings)
            takes = values or ("" if action.nargs == 0 else " -r")
            lines.append(f"{seen}{names}{takes} -d {_single(str(action.help))}")
    return "\n".join(lines)


def _single(text: str) -> str:
    """Text in fish's single quotes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
