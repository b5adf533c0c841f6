# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Graph captures that fail in the middle are kept for another try, with their memory pools."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

ROWS = 30
WIDTH = 64


class GraphedEvaluation:
    """Tries to capture the evaluation as a graph, and evaluates eagerly where that fails."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
        self.inputs = torch.zeros(ROWS, WIDTH, device=device)
        self.scores = torch.zeros(WIDTH, device=device)
        self.stream = torch.cuda.Stream(device=device)
        self.to_retry: list[tuple[torch.cuda.CUDAGraph, str]] = []
        with torch.cuda.stream(self.stream):  # libraries take their workspaces before the first capture
            self.evaluate(sentences=5)
        torch.cuda.synchronize(device)

    @torch.no_grad()
    def evaluate(self, sentences: int) -> None:
        hidden = self.model(self.inputs)
        self.scores.copy_(hidden.view(sentences, -1, WIDTH).amax(dim=1).mean(dim=0))

    def failed(self, graph: torch.cuda.CUDAGraph, error: str) -> None:
        self.to_retry.append((graph, error))

    def step(self) -> None:
        self.inputs.normal_()
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                self.evaluate(sentences=4)  # thirty rows are not four sentences of one length
        except RuntimeError as error:
            self.failed(graph, str(error))
            self.evaluate(sentences=5)


class GraphedEvaluationWithoutRetry(GraphedEvaluation):
    """Forgets a capture that failed."""

    def failed(self, graph: torch.cuda.CUDAGraph, error: str) -> None:
        graph.reset()


@leak(
    kind=("raw_cuda", "fragmentation_drift"),
    report="pytorch/pytorch#190348",
    line="self.to_retry.append((graph, error))",
    holder=".to_retry",
    needs_cuda=True,
)
def cuda_ragged_capture_kept(device: str) -> Callable[[], None]:
    """The captured function raises when it meets a ragged batch; the graph goes to a list of those to try again.

    What ran until then was captured into a private pool, which lives as long as the graph: two MiB a step that no
    tensor uses and empty_cache() cannot give back.
    """
    return GraphedEvaluation(device).step


@clean(report="pytorch/pytorch#190348", needs_cuda=True)
def cuda_ragged_capture_kept_clean(device: str) -> Callable[[], None]:
    """The same evaluation resets the failed graph; the next capture gives its pool back to the driver."""
    return GraphedEvaluationWithoutRetry(device).step
