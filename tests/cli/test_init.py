# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak init`: what it writes works, and what is there stays."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from conftest import CommandLine

DOCS = Path(__file__).resolve().parents[2] / "docs" / "ci.md"
CI_FILES = {
    "github": ".github/workflows/stepleak.yml",
    "gitlab": ".gitlab/stepleak.yml",
    "jenkins": "stepleak.Jenkinsfile",
}


@pytest.fixture
def project(tmp_path: Path) -> CommandLine:
    """Without the settings of the scenarios that the fixture `stepleak` has where it is installed."""
    stepleak = CommandLine(tmp_path)
    (tmp_path / ".git").mkdir()
    return stepleak


def files_of(folder: Path) -> dict[str, str]:
    """Texts by path; what Python compiles beside a scenario is none of ours."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in files}


def test_what_it_writes_is_found_and_judged_as_declared(project: CommandLine) -> None:
    outcome = project("init")
    assert outcome.code == 0, outcome.text
    assert set(files_of(project.folder)) == {"pyproject.toml", "tests/leaks/example.py", CI_FILES["github"]}
    listed = project("list")
    names = [line.split()[0] for line in listed.out.splitlines() if not line.startswith("cpp_")]
    assert names == ["example_losses", "example_losses_kept"]
    ran = project("run", *names, "--device", "cpu")
    assert ran.code == 1, ran.text
    assert "example_losses is clean" in ran.out
    assert "graph_retention" in ran.block_of("example_losses_kept")
    # Once again it finds all of it.
    before = files_of(project.folder)
    again = project("init", "--ci", "github")
    assert again.code == 0
    assert again.out.count("kept") == 3
    assert files_of(project.folder) == before


def test_what_is_there_stays(project: CommandLine) -> None:
    texts = {
        "pyproject.toml": '[project]\nname = "mine"  # no newline at the end',
        "tests/leaks/example.py": "mine\n",
        CI_FILES["github"]: "mine\n",
    }
    for name, text in texts.items():
        project.write(name, text)
    outcome = project("init")
    assert outcome.code == 0, outcome.text
    after = files_of(project.folder)
    settings = after.pop("pyproject.toml")
    assert settings.startswith(texts.pop("pyproject.toml") + "\n\n# ")
    assert settings.count("[tool.stepleak]") == 1
    assert after == texts


@pytest.mark.parametrize(
    ("text", "said", "remedy"),
    [
        ("[project", "is no TOML", "correct it"),
        ("tool = 1\n", "tool is no table", "correct it"),
        (
            "tool = {black = {a=1}}\n",
            "takes no [tool.stepleak] at its end",
            'add stepleak = {scenarios = "tests/leaks"} to',
        ),
        ("tool.stepleak.baselines = 'b'\n", "tool.stepleak has no scenarios", 'add to it: scenarios = "tests/leaks"'),
        ("[tool.stepleak]\nscenario = 'leaks'\n", "knows no 'scenario'", "it knows scenarios"),
    ],
    ids=["broken", "no_table", "inline_table", "dotted_keys", "unknown_key"],
)
def test_a_file_that_takes_no_table_stays_as_it_was_and_nothing_is_written(
    project: CommandLine, text: str, said: str, remedy: str
) -> None:
    project.write("pyproject.toml", text)
    outcome = project("init")
    assert outcome.code == 64, outcome.text
    assert said in outcome.err
    assert f"remedy: {remedy}" in outcome.err
    assert files_of(project.folder) == {"pyproject.toml": text}


KEYS = """\
# *.py with functions that @leak or @clean of stepleak.scenario declare. Relative to this file.
scenarios = "tests/leaks"
# Measured behaviour, one folder a device class. Commit it, and review it like code.
baselines = "tests/leaks/baselines"
"""
SCENARIOS_ONLY = "".join(KEYS.splitlines(keepends=True)[:2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[tool.stepleak]\n", f"[tool.stepleak]\n{KEYS}"),
        ("[tool.stepleak]", f"[tool.stepleak]\n{KEYS}"),
        ('[tool.stepleak]\nbaselines="b"\n', f'[tool.stepleak]\n{SCENARIOS_ONLY}baselines="b"\n'),
        (
            'text = """\n[tool.stepleak]\n"""\n[ tool . "stepleak" ]  # ours\n[other]\n',
            f'text = """\n[tool.stepleak]\n"""\n[ tool . "stepleak" ]  # ours\n{KEYS}[other]\n',
        ),
    ],
    ids=["empty", "without_an_end", "with_another_key", "quoted"],
)
def test_a_table_gets_what_it_lacks(project: CommandLine, before: str, after: str) -> None:
    project.write("pyproject.toml", before)
    outcome = project("init", "--ci", "none")
    assert outcome.code == 0, outcome.text
    assert "added  pyproject.toml: scenarios to [tool.stepleak]" in outcome.out
    assert (project.folder / "pyproject.toml").read_text() == after
    assert "example_losses" in project("list").out


def test_ends_of_lines_stay_as_they_are(project: CommandLine) -> None:
    file = project.folder / "pyproject.toml"
    file.write_bytes(b"[tool.stepleak]\r\n[other]\r\n")
    assert project("init", "--ci", "none").code == 0
    assert file.read_bytes().startswith(b"[tool.stepleak]\r\n# ")
    assert file.read_bytes().endswith(b"\n[other]\r\n")


def test_the_folder_that_settings_name_is_made(project: CommandLine) -> None:
    text = '[tool.stepleak]\nscenarios = "tests/../checks/leaks/"\n'
    project.write("pyproject.toml", text)
    outcome = project("init", "--ci", "none")
    assert outcome.code == 0, outcome.text
    assert set(files_of(project.folder)) == {"pyproject.toml", "checks/leaks/example.py"}
    assert (project.folder / "pyproject.toml").read_text() == text


def test_settings_behind_a_link_are_kept_but_not_written(project: CommandLine) -> None:
    real = project.write("real/settings.toml", "[a]\n")
    (project.folder / "pyproject.toml").symlink_to(real)
    outcome = project("init")
    assert outcome.code == 64, outcome.text
    assert "is a symbolic link" in outcome.err and "remedy: add to the file that it leads to" in outcome.err
    assert files_of(project.folder) == {"real/settings.toml": "[a]\n", "pyproject.toml": "[a]\n"}
    real.write_text('[tool.stepleak]\nscenarios = "leaks"\n')
    assert project("init", "--ci", "none").code == 0
    assert (project.folder / "leaks/example.py").is_file()


def test_a_project_that_has_settings_keeps_them(project: CommandLine) -> None:
    project.write("leaks/mine.py", "")
    text = '[tool.stepleak]\nscenarios = "leaks"\n'
    project.write("pyproject.toml", text)
    (project.folder / "src").mkdir()
    outcome = CommandLine(project.folder / "src")("init", "--ci", "none")
    assert outcome.code == 0, outcome.text
    assert (project.folder / "pyproject.toml").read_text() == text
    assert (project.folder / "leaks/example.py").is_file()
    assert list((project.folder / "src").rglob("example.py")) == []


def test_a_link_is_not_followed(project: CommandLine) -> None:
    target = project.folder / "elsewhere.yml"
    link = project.folder / CI_FILES["github"]
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    assert project("init").code == 0
    assert not target.exists()


@pytest.mark.parametrize(
    ("there", "system"), [(".gitlab-ci.yml", "gitlab"), ("Jenkinsfile", "jenkins"), ("README", "github")]
)
def test_the_ci_system_is_told_by_what_is_there(project: CommandLine, there: str, system: str) -> None:
    project.write(there, "")
    assert project("init").code == 0
    assert [name for name in CI_FILES if (project.folder / CI_FILES[name]).is_file()] == [system]


def test_a_folder_that_takes_no_files_is_named(project: CommandLine) -> None:
    if os.geteuid() == 0:
        (project.folder / "tests").touch()  # root may write into any folder, but not below a file
    else:
        project.folder.chmod(0o555)
    outcome = project("init")
    assert outcome.code == 3, outcome.text
    assert "remedy: " in outcome.err
    assert not (project.folder / "pyproject.toml").exists()


def test_the_docs_show_what_it_writes(project: CommandLine) -> None:
    shown = re.findall(r"^```(?:yaml|groovy)\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for system, file in CI_FILES.items():
        assert project("init", "--ci", system).code == 0
        text = (project.folder / file).read_text(encoding="utf-8")
        assert text in shown, system
        # Each command of a recipe is one that this command line takes.
        for verb in re.findall(
            r"stepleak (gate [^\n]*)", text.replace("\n          --", " --").replace("\n      --", " --")
        ):
            options = [word for word in verb.split() if word.startswith("--")]
            helped = project("gate", "--help").out
            assert all(re.search(rf"{option}\b", helped) for option in (o.rstrip("'") for o in options)), verb


@pytest.mark.parametrize("system", CI_FILES)
def test_stepleak_is_installed_from_what_is_there_once_torch_is(project: CommandLine, system: str) -> None:
    assert project("init", "--ci", system).code == 0
    text = (project.folder / CI_FILES[system]).read_text(encoding="utf-8")
    installs = re.findall(r"pip install ([^#'\n]*)", text)
    # Sources are built against the torch that is there before pip reads their requirements.
    assert len(installs) in (2, 4)
    assert all(line.split() == ["torch", "numpy"] for line in installs[::2])
    assert all(line.split() == ['"$STEPLEAK"'] for line in installs[1::2])
    # By its bare name pip would take whatever somebody puts there.
    assert re.findall(r"STEPLEAK(?: =|:) (\S+)", text)[0].strip("'").startswith("./")
