# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Unchanged scripts on a GPU: graphs that are captured, sums that keep their graph, and page-locked buffers."""

from __future__ import annotations

from typing import Any

import pytest

CAPTURES = """
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda().eval()
    graphs = {}

    @torch.no_grad()
    def answer(x):
        size = x.shape[0]
        if size not in graphs:
            static = torch.zeros(size, 64, device="cuda")
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    model(static)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = model(static)
            graphs[size] = graph, static, out
        graph, static, out = graphs[size]
        static.copy_(x)
        graph.replay()
        return out.clone()

    for request in range(400):
        answer(torch.randn(8 * (1 + request % 4), 64, device="cuda"))
        model(torch.randn(4, 64, device="cuda"))
    print("served", len(graphs))
"""

SUMS = """
    import torch

    class Meter:
        def __init__(self):
            self.total_loss, self.count = 0.0, 0
        def update(self, loss):
            self.total_loss = self.total_loss + KEPT
            self.count += 1

    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    meter = Meter()
    for step in range(300):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        meter.update(loss)
"""

BUFFERS = """
    import random
    import torch

    class Pool:
        def __init__(self):
            self.idle, self.lent = [], {}
        def take(self):
            buffer = self.idle.pop() if self.idle else torch.empty(64, 256, pin_memory=True)
            self.lent[id(buffer)] = buffer
            return buffer
        def give_back(self, buffer):
            self.idle.append(self.lent.pop(id(buffer)))

    random.seed(7)
    model = torch.nn.Linear(256, 8).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pool = Pool()
    for step in range(1200):
        buffer = pool.take()
        if random.random() < 1 / 7:
            BROKEN
            continue
        optimizer.zero_grad()
        model(buffer.cuda(non_blocking=True)).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        pool.give_back(buffer)
"""


def watched(stepleak: Any, script: str) -> dict[str, Any]:
    stepleak.write("script.py", script)
    outcome = stepleak("watch", "--json", "out.json", "script.py")
    result: dict[str, Any] = stepleak.results("out.json")["script.py"]
    assert result["device"] == "cuda:0", outcome.text
    return result


def test_what_is_captured_ends_no_step(stepleak: Any) -> None:
    result = watched(stepleak, CAPTURES)
    assert result["verdict"] == "clean", (result["reason"], result.get("failure"))


def test_a_sum_that_keeps_its_graph_is_found_where_nodes_are_seen_in_record_passes_only(stepleak: Any) -> None:
    result = watched(stepleak, SUMS.replace("KEPT", "loss"))
    assert result["verdict"] == "leak", (result["reason"], result["notes"])
    assert result["findings"][0]["kind"] == "graph_retention"
    assert result["findings"][0]["kept_at"]["text"] == "self.total_loss = self.total_loss + loss"


def test_a_sum_of_numbers_is_clean(stepleak: Any) -> None:
    assert watched(stepleak, SUMS.replace("KEPT", "loss.item()"))["verdict"] == "clean"


@pytest.mark.parametrize(("broken", "verdict"), [("pass", "leak"), ("pool.give_back(buffer)", "clean")])
def test_page_locked_buffers_that_a_broken_record_keeps_are_seen(stepleak: Any, broken: str, verdict: str) -> None:
    result = watched(stepleak, BUFFERS.replace("BROKEN", broken))
    assert result["verdict"] == verdict, (result["reason"], result["notes"])
    if verdict == "leak":
        assert result["findings"][0]["kind"] == "pinned_host"
