# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What `pip install` and `meson setup` say of a torch, a Python or a C library that stepleak cannot be built with."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has meson and pybind11, and no torch."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    for name in ("mesonbuild", "pybind11"):
        spec = importlib.util.find_spec(name)
        if spec is None or not spec.submodule_search_locations:
            pytest.skip(f"{name} is no Python package here")
        (packages / name).symlink_to(spec.submodule_search_locations[0])
    return folder / "bin" / "python"


def add_torch(folder: Path, version: str, cuda: str | None) -> Path:
    """What the build looks at of an installed torch; gives the folder for PYTHONPATH."""
    torch = folder / "torch"
    (torch / "lib").mkdir(parents=True)
    (torch / "version.py").write_text(f"__version__ = {version!r}\ncuda = {cuda!r}\n")
    (torch / "__init__.py").touch()
    for name in ("torch", "torch_cpu", "c10", *(("torch_cuda", "c10_cuda") if cuda else ())):
        (torch / "lib" / f"lib{name}.so").touch()
    return folder


def add_libtorch(folder: Path, version: str) -> Path:
    """What the build looks at of a LibTorch for C++ and the CPU alone."""
    names = zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True)
    header = folder / "include/torch/headeronly/version.h"
    header.parent.mkdir(parents=True)
    header.write_text("".join(f"#define TORCH_VERSION_{name} {number}\n" for name, number in names))
    (folder / "lib").mkdir()
    for name in ("torch", "torch_cpu", "c10"):
        (folder / "lib" / f"lib{name}.so").touch()
    return folder


def configure(interpreter: Path, build: Path, packages: Path | None, *options: str, packaging: str = "wheel") -> str:
    """The output of `meson setup`, as pip runs it, on one line: meson breaks no lines, but terminals do."""
    path = os.pathsep.join(filter(None, [str(packages or ""), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [interpreter, "-m", "mesonbuild.mesonmain", "setup", build, ROOT, f"-Dpackaging={packaging}", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    return done.stdout + done.stderr


def test_without_torch_the_way_to_build_is_named(interpreter: Path, tmp_path: Path) -> None:
    out = configure(interpreter, tmp_path / "build", None)
    assert f"the interpreter {interpreter} has no torch" in out
    assert "install the torch that you use, then stepleak again; where torch is there, build with --no-build" in out


def test_a_torch_that_is_too_old_is_refused(interpreter: Path, tmp_path: Path) -> None:
    out = configure(interpreter, tmp_path / "build", add_torch(tmp_path / "packages", "2.7.1+cu126", "12.6"))
    assert 'torch 2.7.1+cu126 is too old for stepleak: pip install "torch>=2.8", then build again' in out


def test_a_torch_with_a_cuda_whose_headers_are_missing_is_refused(interpreter: Path, tmp_path: Path) -> None:
    # A major version that no wheel and no toolkit here is of.
    out = configure(interpreter, tmp_path / "build", add_torch(tmp_path / "packages", "2.99.0+cu990", "99.0"))
    assert "too old" not in out
    assert 'its headers are not all there: pip install "nvidia-cuda-crt==99.0.*"' in out
    assert "--config-settings=setup-args=-Dcuda=disabled" in out


def test_a_torch_for_the_cpu_alone_does_and_watches_no_gpu(interpreter: Path, tmp_path: Path) -> None:
    out = configure(interpreter, tmp_path / "build", add_torch(tmp_path / "packages", "2.8.0+cpu", None))
    assert "User defined options" in out, out
    commands = (tmp_path / "build" / "compile_commands.json").read_text(encoding="utf-8")
    assert "cuda_absent.cpp" in commands
    assert "cuda_watch.cpp" not in commands
    assert "this torch was built without CUDA" in commands


def test_a_libtorch_for_cpp_does_without_an_interpreters_torch_and_headers(interpreter: Path, tmp_path: Path) -> None:
    libtorch = add_libtorch(tmp_path / "libtorch", "2.99.0")
    out = configure(interpreter, tmp_path / "build", None, f"-Dlibtorch={libtorch}", packaging="prefix")
    assert "User defined options" in out, out
    commands = (tmp_path / "build" / "compile_commands.json").read_text(encoding="utf-8")
    assert f"-isystem{libtorch}/include" in commands
    assert "public.cpp" in commands
    assert "python_probe.cpp" not in commands
    assert "core_module.cpp" not in commands


def test_a_folder_without_libtorch_is_refused(interpreter: Path, tmp_path: Path) -> None:
    out = configure(interpreter, tmp_path / "build", None, f"-Dlibtorch={tmp_path}", packaging="prefix")
    assert f"there is no LibTorch in {tmp_path}: -Dlibtorch names the folder that has its include/ and lib/" in out


def test_a_libtorch_that_is_too_old_is_refused(interpreter: Path, tmp_path: Path) -> None:
    libtorch = add_libtorch(tmp_path / "libtorch", "2.7.1")
    out = configure(interpreter, tmp_path / "build", None, f"-Dlibtorch={libtorch}", packaging="prefix")
    assert "torch 2.7.1 is too old for stepleak" in out


def test_a_python_package_needs_more_than_libtorch(interpreter: Path, tmp_path: Path) -> None:
    libtorch = add_libtorch(tmp_path / "libtorch", "2.99.0")
    out = configure(interpreter, tmp_path / "build", None, f"-Dlibtorch={libtorch}")
    assert "-Dlibtorch needs -Dpackaging=prefix" in out


def test_a_free_threaded_python_is_refused(interpreter: Path, tmp_path: Path) -> None:
    # Stands in for such an interpreter: what sysconfig says of it.
    packages = add_torch(tmp_path / "packages", "2.15.0+cpu", None)
    (packages / "sitecustomize.py").write_text("import sysconfig\nsysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1\n")
    out = configure(interpreter, tmp_path / "build", packages)
    assert f"the interpreter {interpreter} is free-threaded, which stepleak does not support: use a Python with" in out


def test_another_c_library_is_refused(interpreter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Stands in for a compiler of musl, whose features.h defines no __GLIBC__.
    compiler = tmp_path / "g++"
    compiler.write_text(
        "#!/bin/sh\n"
        'for word; do [ "$word" != -E ] || exec g++ "$@" -nostdinc -isystem "$(dirname "$0")"; done\n'
        'exec g++ "$@"\n'
    )
    compiler.chmod(0o755)
    (tmp_path / "features.h").write_text("#define _FEATURES_H 1\n")
    monkeypatch.setenv("CXX", str(compiler))
    out = configure(interpreter, tmp_path / "build", add_torch(tmp_path / "packages", "2.15.0+cpu", None))
    assert "stepleak needs glibc, and this C library (musl?) is another one" in out
