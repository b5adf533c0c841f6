# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A list of trace records that only an exporter drains."""

import json
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

# Records that wait for the exporter, as the tracing module of an application has them.
UNDRAINED: list[str] = []
DRAINED: list[str] = []


@leak(kind="host_heap", report="vllm-project/vllm#44490", line="UNDRAINED.append(json.dumps", holder="UNDRAINED")
def undrained_log(device: str) -> Callable[[], None]:
    """Each step writes a trace record of some 5 KB for an exporter that drains the list.

    The exporter is off in this run, so the list grows in host memory while no tensor is left behind.
    """
    torch.manual_seed(0)
    UNDRAINED.clear()
    model = nn.Linear(32, 32).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    exporter_enabled = False

    def step() -> None:
        output = model(torch.rand(8, 32, device=device))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        UNDRAINED.append(json.dumps(output.tolist()))
        if exporter_enabled:
            UNDRAINED.clear()

    return step


@clean(report="vllm-project/vllm#44490")
def undrained_log_clean(device: str) -> Callable[[], None]:
    """The same list is drained whenever it has eight records, with an exporter or without."""
    torch.manual_seed(0)
    DRAINED.clear()
    model = nn.Linear(32, 32).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        output = model(torch.rand(8, 32, device=device))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        DRAINED.append(json.dumps(output.tolist()))
        if len(DRAINED) >= 8:
            DRAINED.clear()

    return step
