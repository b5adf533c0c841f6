# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: the whole training step is captured once as a graph and replayed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

BATCH = 16
WIDTH = 64
CAPTURED_AT = 10


@clean(report="vllm-project/vllm-ascend#3743", needs_cuda=True)
def cuda_whole_step_graph(device: str) -> Callable[[], None]:
    """Ten eager steps warm up on a side stream; then forward, backward and optimizer become one graph.

    Its private pool holds memory that no tensor seems to use, and each replay writes there: a one-off, not a leak.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    inputs = torch.zeros(BATCH, WIDTH, device=device)
    stream = torch.cuda.Stream(device=device)
    graph = torch.cuda.CUDAGraph()
    steps_done = 0

    def train() -> None:
        nn.functional.mse_loss(model(inputs), inputs).backward()
        optimizer.step()

    def warm_up() -> None:
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            optimizer.zero_grad()
            train()
        torch.cuda.current_stream(device).wait_stream(stream)

    def capture() -> None:
        optimizer.zero_grad()  # so that the gradients are made in the graph's pool
        with torch.cuda.graph(graph, stream=stream):
            train()
            optimizer.zero_grad(set_to_none=False)

    def step() -> None:
        nonlocal steps_done
        inputs.normal_()
        if steps_done < CAPTURED_AT:
            warm_up()
        else:
            if steps_done == CAPTURED_AT:
                capture()
            graph.replay()
        steps_done += 1

    return step
