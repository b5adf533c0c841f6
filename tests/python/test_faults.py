# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What `stepleak doctor` says stands in the way, each beside the near miss that does not."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from stepleak import _faults

FILE = _faults.__file__ or ""


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"LD_PRELOAD": "libjemalloc.so.2:/opt/x.so"}, "LD_PRELOAD loads libjemalloc.so.2, /opt/x.so"),
        ({"LD_PRELOAD": ""}, ""),
        ({"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}, "GLIBC_TUNABLES="),
        ({"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2"}, ""),
        ({"MALLOC_PERTURB_": "165"}, "MALLOC_PERTURB_=165"),
        ({"MALLOC_PERTURB_": "0"}, ""),
        ({"MALLOC_CHECK_": "3"}, "MALLOC_CHECK_=3"),
        ({"MALLOC_ARENA_MAX": "1"}, ""),
    ],
    ids=str,
)
def test_variables(variables: dict[str, str], named: str) -> None:
    found = list(_faults.of_environment(variables))
    assert len(found) == (1 if named else 0)
    assert all(what.startswith(named) and remedy for what, remedy in found)


def test_a_libtorch_of_another_folder(tmp_path: Path) -> None:
    own, other, empty = (tmp_path / name for name in ("own", "other", "empty"))
    for folder in (own, other, empty):
        folder.mkdir()
    for folder in (own, other):
        (folder / "libtorch_cpu.so").touch()
    (tmp_path / "linked").symlink_to(own)
    ((what, remedy),) = _faults.of_libtorch(f"{empty}:{other}", own)
    assert what == f"LD_LIBRARY_PATH leads to the LibTorch in {other}, and this Python's is in {own}"
    assert remedy.startswith(f"take {other} out of LD_LIBRARY_PATH")
    for search_path in ("", str(empty), str(own), str(tmp_path / "linked"), str(tmp_path / "missing")):
        assert list(_faults.of_libtorch(search_path, own)) == []
    assert list(_faults.of_libtorch(str(other), None)) == []  # without a torch there is one LibTorch at most


def test_an_empty_entry_is_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libtorch_cpu.so").touch()
    monkeypatch.chdir(tmp_path)
    ((_, remedy),) = _faults.of_libtorch(":/usr/lib", tmp_path / "own")
    assert remedy.startswith("take its empty entry out")


def test_limits_of_the_address_space() -> None:
    assert list(_faults.of_limits(resource.RLIM_INFINITY)) == []
    ((what, remedy),) = _faults.of_limits(4 << 30)
    assert "4096 MiB" in what
    assert "ulimit -v unlimited" in remedy


def test_kinds_of_python() -> None:
    assert list(_faults.of_python(False, False)) == []
    assert [what.split(",")[0].split(":")[0] for what, _ in _faults.of_python(True, True)] == [
        "this Python is a debug build",
        "this Python is free-threaded",
    ]


def test_another_copy_and_a_file_of_that_name(tmp_path: Path) -> None:
    own = Path(FILE).parent
    (tmp_path / "a" / "stepleak").mkdir(parents=True)
    (tmp_path / "a" / "stepleak" / "__init__.py").touch()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "stepleak.py").touch()
    (tmp_path / "linked").symlink_to(own.parent)
    (tmp_path / "c" / "stepleak").mkdir(parents=True)  # a folder that is no package
    folders = [own.parent, *(tmp_path / name for name in ("a", "a", "b", "linked", "c", "missing"))]
    (copy, _), (file, _) = _faults.of_modules(folders)
    assert copy == f"another stepleak is in {tmp_path / 'a' / 'stepleak'}, and this one in {own}"
    assert file.startswith(f"{tmp_path / 'b' / 'stepleak.py'} hides the package")


def test_it_is_asked_as_a_script_of_the_users(tmp_path: Path) -> None:
    def asked(**variables: str) -> list[list[str]]:
        cleared = {name: text for name, text in os.environ.items() if name not in ("LD_PRELOAD", "GLIBC_TUNABLES")}
        environment = {**cleared, "MALLOC_PERTURB_": "0", "PYTHONPATH": str(Path(FILE).parents[1]), **variables}
        done = subprocess.run(
            [sys.executable, FILE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        answer: list[list[str]] = json.loads(done.stdout)
        return answer

    assert asked() == []
    (tmp_path / "stepleak.py").touch()
    ((what, _),) = asked()
    assert what.startswith(f"{tmp_path / 'stepleak.py'} hides")
    assert len(asked(MALLOC_CHECK_="3")) == 2
