# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""`stepleak.check` in the process of a user's own tests, on a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator

import pytest
import stepleak
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

CHUNK = 2 << 20


@pytest.fixture
def takes_raw_memory() -> Iterator[Callable[[], None]]:
    """A step that takes device memory beside torch's allocator and keeps it."""
    runtime = ctypes.CDLL("libcudart.so.13")
    taken: list[ctypes.c_void_p] = []

    def step() -> None:
        memory = ctypes.c_void_p()
        assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(CHUNK)) == 0
        taken.append(memory)

    torch.zeros(1, device="cuda")
    yield step
    for memory in taken:
        runtime.cudaFree(memory)


def test_raw_memory_is_named_where_it_was_asked_for(takes_raw_memory: Callable[[], None]) -> None:
    result = stepleak.check(takes_raw_memory, with_cuda_objects=True)
    assert [finding["kind"] for finding in result.findings] == ["raw_cuda"], result.report
    assert "cudaMalloc(ctypes.byref(memory)" in result.findings[0]["where"][0]["text"]


def test_raw_memory_is_seen_and_not_named_by_default(takes_raw_memory: Callable[[], None]) -> None:
    result = stepleak.check(takes_raw_memory)
    assert [finding["kind"] for finding in result.findings] == ["raw_cuda"], result.report
    assert result.findings[0]["where"] == []
