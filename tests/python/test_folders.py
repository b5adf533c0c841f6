# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Folders by which the user's frames are told from others."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import stepleak
import torch
from stepleak import _folders

MINE = """\
import functools
import importlib


def step():
    pass


class Step:
    def __call__(self):
        pass

    def method(self):
        pass


def decorated(function):
    @functools.wraps(function)
    def call():
        function()

    return call
"""


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[ModuleType]:
    """A module of a package below a folder of installed packages."""
    file = tmp_path / "site-packages" / "mine" / "deep" / "steps.py"
    file.parent.mkdir(parents=True)
    file.write_text(MINE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("installed_steps", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["installed_steps"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["installed_steps"]


def test_the_runtime_is_python_torch_and_stepleak() -> None:
    folders = _folders.runtime_folders()
    for file in (contextlib.__file__, torch.__file__, stepleak.__file__):
        assert file is not None
        assert any(Path(file).is_relative_to(folder) for folder in folders), file
    # Not what else is installed, nor what uses them.
    for other in (pytest.__file__, __file__):
        inside = [folder for folder in folders if Path(other).is_relative_to(folder)]
        assert all("-packages" in other.removeprefix(folder) for folder in inside), other


def test_an_installed_step_makes_its_package_the_users(installed: ModuleType, tmp_path: Path) -> None:
    package = str(tmp_path / "site-packages" / "mine")
    for step in (installed.step, installed.Step(), installed.Step().method, functools.partial(installed.step)):
        assert package in _folders.user_folders(step), step


def test_a_step_of_the_users_own_folder_needs_no_mention(installed: ModuleType) -> None:
    class Mine(installed.Step):  # type: ignore[name-defined, misc]
        pass

    for step in (lambda: None, Mine(), Mine().method, installed.decorated(lambda: None), len):
        assert _folders.user_folders(step) == [], step


def test_a_module_that_torch_has_written_elsewhere_is_not_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "torch.distributed.nn.jit.instantiator"
    written, mine = (str(tmp_path / folder / "module.py") for folder in ("written", "mine"))

    def is_user_file(file: str) -> bool:
        return _folders.is_user_file(file, [], _folders.runtime_folders(), [])

    monkeypatch.setitem(sys.modules, name, ModuleType(name))  # 2.11 writes none
    assert is_user_file(written) and is_user_file(mine)
    monkeypatch.setattr(sys.modules[name], "INSTANTIATED_TEMPLATE_DIR_PATH", str(tmp_path / "written"), raising=False)
    assert not is_user_file(written) and is_user_file(mine)


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as `pip install --target` leaves it."""
    folder = tmp_path / "libraries"
    (folder / "other-1.0.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path / "scripts"))  # whose folder Python puts first
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    return folder


def test_what_was_installed_into_a_folder_of_its_own_is_not_the_users(target: Path, tmp_path: Path) -> None:
    installed = _folders.installed_folders()
    assert str(target) in installed
    assert not _folders.is_user_file(str(target / "other" / "loop.py"), [], [], installed)
    assert _folders.is_user_file(str(tmp_path / "train.py"), [], [], installed)
    mine = [str(target / "mine")]
    assert _folders.is_user_file(str(target / "mine" / "train.py"), mine, [], installed)


def test_folders_of_the_users_own_are_not_taken_for_installed(
    target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "mine.egg-info").mkdir(parents=True)  # of `pip install --editable`
    monkeypatch.setattr(sys, "path", [*sys.path, str(project), str(tmp_path / "missing")])
    assert str(project) not in _folders.installed_folders()
    # The script lies beside what was installed, as where a server has one folder for all.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(target / "train.py"), raising=False)
    assert str(target) not in _folders.installed_folders()


def test_an_installed_step_makes_its_package_the_users_there_too(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = target / "installed_here"
    package.mkdir()
    (package / "__init__.py").write_text("def step(): pass\n", encoding="utf-8")
    step = importlib.import_module("installed_here").step
    monkeypatch.delitem(sys.modules, "installed_here")
    assert str(package) in _folders.user_folders(step)
