# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which core a torch gets: from a package for one torch, and from a wheel for several, as ci/wheel merges it."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
import stepleak
import torch
from stepleak import _torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ci" / "torch"))
import merge_wheels

NAME = "stepleak-0.1.0-cp311-cp311-linux_x86_64.whl"


def wheel(folder: Path, version: str, cuda: str, name: str = NAME, host: bytes = b"host") -> Path:
    """What pip builds against a torch, as far as a merge looks at it."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / name, "w") as file:
        file.writestr("stepleak/__init__.py", "")
        file.writestr("stepleak/_built_for.py", f"TORCH, CUDA = {version!r}, {cuda!r}\n")
        file.writestr("stepleak/_core.cpython-311-x86_64-linux-gnu.so", f"core of {version}")
        file.writestr("stepleak/_cli.cpython-311-x86_64-linux-gnu.so", host)
        file.writestr("stepleak/libstepleak.so", f"library of {version}")
        file.writestr("stepleak/libstepleak_observing.so", f"observing of {version}")
        file.writestr("stepleak-0.1.0.dist-info/RECORD", "")
    return folder / name


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """The package's folder out of a merged wheel."""
    wheels = [
        wheel(tmp_path / "a", "2.8.0+cu128", "12.8"),
        wheel(tmp_path / "b", "2.15.0+cu132", "13.2"),
        wheel(tmp_path / "c", "2.15.0+cpu", ""),
    ]
    path = merge_wheels.merge(wheels, tmp_path / "merged")
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        file.extractall(tmp_path / "site")
    return tmp_path / "site" / "stepleak"


@pytest.fixture
def in_merged(merged: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(_torch, "_PACKAGE", merged)
    monkeypatch.setattr(stepleak, "__path__", [str(merged)])
    monkeypatch.delattr(stepleak, "_built_for", raising=False)
    monkeypatch.delitem(sys.modules, "stepleak._built_for", raising=False)
    return merged


def use_torch(monkeypatch: pytest.MonkeyPatch, version: str, cuda: str | None) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    monkeypatch.setattr(torch.version, "cuda", cuda)


def test_a_merged_wheel_has_what_faces_torch_once_for_each(merged: Path) -> None:
    folders = {folder.name: (folder / "libstepleak.so").read_text() for folder in merged.glob("_torch_*")}
    assert folders == {
        "_torch_2_8_cu12": "library of 2.8.0+cu128",
        "_torch_2_15_cu13": "library of 2.15.0+cu132",
        "_torch_2_15_cpu": "library of 2.15.0+cpu",
    }
    assert not (merged / "libstepleak.so").exists()
    assert (merged / "_cli.cpython-311-x86_64-linux-gnu.so").read_bytes() == b"host"
    record = (merged.parent / "stepleak-0.1.0.dist-info" / "RECORD").read_text()
    assert record.count("libstepleak.so,sha256=") == 3
    assert record.endswith("RECORD,,\n")


def test_wheels_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one = wheel(tmp_path / "a", "2.8.0+cu128", "12.8")
    with pytest.raises(merge_wheels.MergeError, match="two wheels for _torch_2_8_cu12"):
        merge_wheels.merge([one, wheel(tmp_path / "b", "2.8.1+cu129", "12.9")], tmp_path)
    with pytest.raises(merge_wheels.MergeError, match=r"_cli.* is not the same"):
        merge_wheels.merge([one, wheel(tmp_path / "c", "2.9.0", "12.8", host=b"another")], tmp_path)
    with pytest.raises(merge_wheels.MergeError, match="different versions of stepleak or Python"):
        other = wheel(tmp_path / "d", "2.9.0", "12.8", name=NAME.replace("cp311", "cp312"))
        merge_wheels.merge([one, other], tmp_path)


@pytest.mark.parametrize(
    ("version", "cuda", "folder"),
    [
        ("2.15.1+cu130", "13.0", "_torch_2_15_cu13"),
        ("2.15.0+cpu", None, "_torch_2_15_cpu"),
        ("2.8.0", "12.9", "_torch_2_8_cu12"),
    ],
)
def test_the_core_of_the_torch_that_is_here_is_taken(
    in_merged: Path, monkeypatch: pytest.MonkeyPatch, version: str, cuda: str | None, folder: str
) -> None:
    use_torch(monkeypatch, version, cuda)
    assert _torch.library() == str(in_merged / folder / "libstepleak_observing.so")
    assert stepleak.__path__ == [str(in_merged), str(in_merged / folder)]


@pytest.mark.parametrize(("version", "cuda"), [("2.9.0+cu128", "12.8"), ("2.8.0+cu130", "13.0"), ("2.8.0+cpu", None)])
def test_without_a_core_for_it_the_error_names_the_versions_and_the_way_out(
    in_merged: Path, monkeypatch: pytest.MonkeyPatch, version: str, cuda: str | None
) -> None:
    use_torch(monkeypatch, version, cuda)
    with pytest.raises(_torch.TorchError) as raised:
        _torch.require()
    built = "2.15.0+cpu and 2.15.0+cu132 and 2.8.0+cu128"
    assert raised.value.what == f"stepleak was built against torch {built}, and torch {version} is here"
    assert "build it for this one" in raised.value.remedy
    assert raised.value.remedy.endswith("pip install 'torch==2.15.*' or pip install 'torch==2.8.*'")
    # A traceback has one line for all of it; the command line has one for the remedy.
    assert str(raised.value) == f"{raised.value.what}; {raised.value.remedy}"
    with pytest.raises(_torch.TorchError) as told:
        _torch.library()
    assert (str(told.value), told.value.remedy) == (raised.value.what, raised.value.remedy)


def test_without_torch_one_is_named_to_install(in_merged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(_torch.TorchError, match="there is no torch here") as raised:
        _torch.require()
    assert raised.value.remedy == "pip install 'torch==2.15.*' or pip install 'torch==2.8.*'"


def test_a_package_for_one_torch_has_its_core_in_its_own_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    if len(_torch.builds()) != 1:
        pytest.skip("this package is for several")
    assert _torch.library() == ""
    use_torch(monkeypatch, "1.13.0", torch.version.cuda)
    with pytest.raises(_torch.TorchError, match=r"and torch 1\.13\.0 is here"):
        _torch.require()
