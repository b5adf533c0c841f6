# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A C++ test in a process whose torch is not the one that stepleak was built against, and in one of another C++ ABI."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

_TEST = "ExpectNoGpuLeakTest.PassesWhereStepKeepsNumbers"


def run_with(version: str) -> subprocess.CompletedProcess[str]:
    binary, stand_in = (os.environ.get(f"STEPLEAK_TEST_{name}", "") for name in ("ASSERTIONS", "OTHER_TORCH"))
    if not binary or not stand_in:
        pytest.skip("STEPLEAK_TEST_ASSERTIONS names no binary; run by: ci/test gtest")
    # A sanitizer's library must stay the first.
    preloaded = ":".join(filter(None, [os.environ.get("LD_PRELOAD", ""), stand_in]))
    return subprocess.run(
        [binary, f"--gtest_filter={_TEST}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "LD_PRELOAD": preloaded, "STEPLEAK_TEST_TORCH": version},
    )


def test_a_torch_of_another_series_is_refused_by_name() -> None:
    done = run_with("2.99")
    assert done.returncode == 1
    built = os.environ["STEPLEAK_TEST_BUILT_FOR"]
    assert (
        f"stepleak was built against torch {built}, and torch 2.99 is loaded here; build stepleak against"
        in done.stdout
    )


def test_another_release_of_the_same_series_does() -> None:
    done = run_with(os.environ.get("STEPLEAK_TEST_BUILT_FOR", ""))
    assert done.returncode == 0, done.stdout
    assert "[  PASSED  ] 1 test." in done.stdout


@pytest.mark.parametrize(("abi", "is_right"), [("0", False), ("1", True)])
def test_a_header_refuses_the_older_abi_of_the_standard_library(abi: str, is_right: bool) -> None:
    include = Path(__file__).resolve().parents[2] / "harness/api"
    compiler = shlex.split(os.environ.get("CXX", "g++"))
    done = subprocess.run(
        [*compiler, "-std=c++17", "-fsyntax-only", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-I{include}", "-xc++", "-"],
        input="#include <stepleak/stepleak.hpp>\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is is_right, done.stderr
    assert ("compile without -D_GLIBCXX_USE_CXX11_ABI=0" in done.stderr) is not is_right
