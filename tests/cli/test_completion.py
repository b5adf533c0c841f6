# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Completion in bash and zsh: verbs, options and what an option takes, as the shell would ask for them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import CommandLine


@pytest.fixture(scope="module")
def scripts(shared_stepleak: CommandLine) -> Path:
    for shell in ("bash", "zsh"):
        outcome = shared_stepleak("completion", shell)
        assert outcome.code == 0, outcome.text
        shared_stepleak.write(f"{shell}.sh", outcome.out)
    return shared_stepleak.folder


def in_bash(scripts: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    asked = (
        "set -u; source bash.sh; complete -p stepleak >/dev/null || exit 9;"
        ' COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stepleak; printf "%s\\n" "${COMPREPLY[@]-}"'
    )
    done = subprocess.run(
        ["bash", "-c", asked, "bash", *words], cwd=scripts, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["stepleak", "ru"], ["run"]),
        (["stepleak", "baseline", "up"], ["update"]),
        (["stepleak", "run", "--js"], ["--json"]),
        (["stepleak", "run", "train.py:step", "--sar"], ["--sarif"]),
        (["stepleak", "run", "--effort", ""], ["quick", "standard", "nightly"]),
        (["stepleak", "gate", "--effort", "q"], ["quick"]),
        (["stepleak", "init", "--ci", "git"], ["github", "gitlab"]),
        (["stepleak", "completion", "z"], ["zsh"]),
        (["stepleak", "gate", "--trac"], []),  # an option of another verb
        (["stepleak", "run", "--json", ""], []),  # a file: the shell's own
        (["stepleak", "known", "add", "--re"], ["--reason"]),
    ],
    ids=" ".join,
)
def test_bash_offers(scripts: Path, words: list[str], offered: list[str]) -> None:
    assert sorted(in_bash(scripts, *words)) == sorted(offered)


def test_bash_offers_every_verb_of_the_help(scripts: Path, shared_stepleak: CommandLine) -> None:
    listed = shared_stepleak("--help").out.partition("Subcommands:")[2].partition("\n\n")[0]
    verbs = {line.split()[0] for line in listed.splitlines() if line.startswith("  ") and line[2] != " "}
    assert {"run", "init", "completion"} <= verbs
    assert verbs <= set(in_bash(scripts, "stepleak", ""))


def test_zsh_describes_what_it_offers(scripts: Path) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("no zsh here")
    # Stands in for zsh's completion widgets, which run within its line editor only: shows what it is asked to offer.
    asked = (
        "compdef() { [[ $1 == _stepleak ]] || exit 9 }; _arguments() { print -rl -- $@ };"
        " _describe() { print -rl -- ${(P)2} }; source ./zsh.sh;"
        " words=($@); CURRENT=$#; _stepleak"
    )

    def offered(*words: str) -> list[str]:
        done = subprocess.run(
            ["zsh", "-fc", asked, "zsh", *words], cwd=scripts, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    verbs = dict(line.split(":", 1) for line in offered("stepleak", ""))
    assert verbs["init"].startswith("Write settings")
    assert [line.partition(":")[0] for line in offered("stepleak", "baseline", "")] == ["update", "show", "diff"]
    run = offered("stepleak", "run", "")
    assert any(line.startswith("--sarif[write a SARIF file") and line.endswith(":value:_files") for line in run)
    assert any(line.startswith("--effort[") and line.endswith(":value:(quick standard nightly)") for line in run)
    assert any(line.startswith("--strict[") and line.endswith("]") for line in run)  # takes no value


def test_another_shell_is_wrong_use(stepleak: CommandLine) -> None:
    outcome = stepleak("completion", "fish")
    assert outcome.code == 64
    assert "bash" in outcome.err
