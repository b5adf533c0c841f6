# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: sequences get longer by a symbol every so many steps, and with them the graph of a step."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

FIRST, LAST, STEPS_EACH = 4, 18, 20


@clean(report="pytorch/pytorch#1529")
def lengths_of_a_curriculum(device: str) -> Callable[[], None]:
    """A recurrent network unrolls a step for each symbol, and 28 autograd nodes more with each of them.

    Each graph dies with its step. A record pass that is shorter than the stretch between two lengths sees none of it.
    """
    torch.manual_seed(0)
    cell, head = nn.GRUCell(8, 16).to(device), nn.Linear(16, 8).to(device)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    steps = 0

    def step() -> None:
        nonlocal steps
        length = min(LAST, FIRST + steps // STEPS_EACH)
        steps += 1
        symbols = torch.randn(length, 4, 8, device=device)
        state = torch.zeros(4, 16, device=device)
        loss = torch.zeros((), device=device)
        for symbol in symbols:
            state = cell(symbol, state)
            loss = loss + nn.functional.mse_loss(head(state), symbol)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step
