# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A tensor's own hook captures the tensor, a cycle that runs through autograd's C++."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


def make_model(device: str) -> tuple[nn.Module, nn.Module]:
    """A backbone, and a head that is to be explained."""
    torch.manual_seed(0)
    return nn.Linear(32, 32).to(device), nn.Linear(32, 4).to(device)


@leak(
    kind="reference_cycle",
    report="jacobgil/pytorch-grad-cam#88",
    line="features.register_hook(lambda grad: heat.append((features * grad)",
)
def self_capturing_tensor_hook(device: str) -> Callable[[], None]:
    """Class activation maps: a hook on the feature map weighs the map by the gradient that reaches it.

    The hook sits on the map's graph node and its closure holds the map, which holds the node. Collections do not
    see through the node, so map and graph of every explained picture stay.
    """
    backbone, head = make_model(device)

    def step() -> None:
        features = torch.relu(backbone(torch.randn(8, 32, device=device)))
        heat: list[float] = []
        features.register_hook(lambda grad: heat.append((features * grad).sum().item()))
        head(features)[:, 0].sum().backward()

    return step


@clean(report="jacobgil/pytorch-grad-cam#88")
def self_capturing_tensor_hook_clean(device: str) -> Callable[[], None]:
    """The same hook captures the detached map, which knows no node."""
    backbone, head = make_model(device)

    def step() -> None:
        features = torch.relu(backbone(torch.randn(8, 32, device=device)))
        heat: list[float] = []
        values = features.detach()
        features.register_hook(lambda grad: heat.append((values * grad).sum().item()))
        head(features)[:, 0].sum().backward()

    return step
