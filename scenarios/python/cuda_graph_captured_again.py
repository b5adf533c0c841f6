# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A trainer captures its step as a CUDA graph, one for every batch shape that it meets."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

WIDTH = 64
ROWS = (16, 32)


class GraphedModel:
    """Runs a model as captured graphs."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
        self.graphs: dict[object, tuple[torch.cuda.CUDAGraph, torch.Tensor]] = {}
        warm_up = torch.cuda.Stream(device)
        with torch.no_grad(), torch.cuda.stream(warm_up):
            for rows in ROWS:
                self.model(torch.zeros(rows, WIDTH, device=device))
        warm_up.synchronize()

    def capture(self, rows: int) -> tuple[torch.cuda.CUDAGraph, torch.Tensor]:
        inputs = torch.zeros(rows, WIDTH, device=self.device)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.device(self.device), torch.cuda.graph(graph):
            self.model(inputs)
        return graph, inputs

    def run(self, key: object, batch: torch.Tensor) -> None:
        if key not in self.graphs:
            self.graphs[key] = self.capture(batch.shape[0])
        graph, inputs = self.graphs[key]
        inputs.copy_(batch)
        graph.replay()


def serving(device: str, key_of: Callable[[int, int], object]) -> Callable[[], None]:
    graphed = GraphedModel(device)
    batches = [torch.randn(rows, WIDTH, device=device) for rows in ROWS]

    indices = itertools.count()

    def step() -> None:
        index = next(indices)
        batch = batches[index % len(ROWS)]
        graphed.run(key_of(index, batch.shape[0]), batch)

    return step


@leak(
    kind=("raw_cuda", "growth", "fragmentation_drift"),
    report="vllm-project/vllm#48165",
    line=("self.graphs[key] = self.capture(", "lambda index, rows: (index, rows)"),
    holder=".graphs",
    needs_cuda=True,
)
def cuda_graph_captured_again(device: str) -> Callable[[], None]:
    """The key of the graph cache holds the request's number beside the shape, so that every request is captured anew.

    Each graph stays with its private pool and its executable, which the driver keeps in device memory.
    """
    return serving(device, lambda index, rows: (index, rows))


@clean(report="vllm-project/vllm#48165", needs_cuda=True)
def cuda_graph_captured_again_clean(device: str) -> Callable[[], None]:
    """The same cache is keyed by the shape alone: two captures, and replays from then on."""
    return serving(device, lambda index, rows: rows)
