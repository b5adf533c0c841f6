# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A process that a run was in, and the children that it forks: CUDA works in each as it would without us."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

PREAMBLE = """
    import os
    import stepleak
    import torch

    def in_child(work):
        child = os.fork()
        if child == 0:
            try:
                work()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    kept = []

    def leak_on_the_host():
        kept.append(torch.zeros(256))
"""


def run(program: str) -> None:
    """In a process of its own, where nothing has used CUDA yet."""
    source = textwrap.dedent(PREAMBLE) + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_a_run_about_the_host_leaves_cuda_to_the_children() -> None:
    run("""
        result = stepleak.check(leak_on_the_host, device="cpu")
        assert result.verdict == "leak", result.report
        assert not torch.cuda.is_initialized()
        in_child(lambda: torch.ones(4, device="cuda").sum().item())
    """)


def test_a_child_of_a_process_that_has_used_cuda_may_judge_the_host() -> None:
    run("""
        torch.ones(4, device="cuda")

        def check():
            result = stepleak.check(leak_on_the_host, device="cpu")
            assert result.verdict == "leak", result.report

        in_child(check)
    """)
