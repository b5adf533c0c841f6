# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Page-locked staging buffers, one for each length of sentence, of which there is no end."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 8
FIRST_LENGTH = 4097
# Page-locked memory comes in powers of two: all lengths up to this one take as much.
CAPACITY = 8192
USED = 64


class Stager:
    """Stages sequences in page-locked memory, so that their copies to the device are asynchronous."""

    def __init__(self) -> None:
        self.buffers: dict[int, torch.Tensor] = {}

    def buffer(self, length: int) -> torch.Tensor:
        if length not in self.buffers:
            self.buffers[length] = torch.zeros(length, WIDTH, pin_memory=True)
        return self.buffers[length]


class StagerOfOneBuffer(Stager):
    """Stages all sequences in one buffer that is long enough for each."""

    def buffer(self, length: int) -> torch.Tensor:
        if not self.buffers:
            self.buffers[CAPACITY] = torch.zeros(CAPACITY, WIDTH, pin_memory=True)
        return self.buffers[CAPACITY][:length]


def training(stager: Stager, device: str) -> Callable[[], None]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, WIDTH)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    # The model sees one shape only, so that no library caches a plan for each length.
    on_device = torch.zeros(CAPACITY, WIDTH, device=device)
    steps_done = 0

    def step() -> None:
        nonlocal steps_done
        length = FIRST_LENGTH + steps_done % (CAPACITY - FIRST_LENGTH)
        staged = stager.buffer(length)
        staged[:USED].normal_()
        on_device[:length].copy_(staged, non_blocking=True)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(on_device[:USED]), on_device[:USED]).backward()
        optimizer.step()
        torch.cuda.current_stream(device).synchronize()  # the buffer may be filled anew
        steps_done += 1

    return step


@leak(
    kind="pinned_host",
    report="vllm-project/vllm#48165",
    line="self.buffers[length] = torch.zeros(",
    holder=".buffers",
    bytes_per_step=CAPACITY * WIDTH * 4.0,
    needs_cuda=True,
)
def cuda_pinned_buffer_per_length(device: str) -> Callable[[], None]:
    """A stager keeps one page-locked buffer for each length that it has met, and each sentence is a bit longer.

    The dict was meant as a cache; as lengths hardly ever repeat, it locks a quarter of a MiB of host memory a step.
    """
    return training(Stager(), device)


@clean(report="vllm-project/vllm#48165", needs_cuda=True)
def cuda_pinned_buffer_per_length_clean(device: str) -> Callable[[], None]:
    """The same lengths go through one page-locked buffer, of which each sentence uses the front."""
    return training(StagerOfOneBuffer(), device)
