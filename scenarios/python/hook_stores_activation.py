# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A forward hook stacks up layer inputs that only backward takes off again."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class PerSampleGradients:
    """Keeps the input of each linear layer until backward comes by for the per-sample gradient."""

    def __init__(self, model: nn.Module, only_with_grad: bool) -> None:
        self.only_with_grad = only_with_grad
        self.activations: dict[nn.Module, list[torch.Tensor]] = {}
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                self.activations[layer] = []
                layer.register_forward_hook(self.capture)
                layer.register_full_backward_hook(self.release)

    def capture(self, layer: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        if self.only_with_grad and not torch.is_grad_enabled():
            return
        if layer.training:
            self.activations[layer].append(inputs[0].detach())

    def release(self, layer: nn.Module, grad_inputs: object, grad_outputs: tuple[torch.Tensor, ...]) -> None:
        activation = self.activations[layer].pop()
        layer.weight.grad_sample = torch.einsum("bo,bi->boi", grad_outputs[0], activation)


def make_step(device: str, only_with_grad: bool) -> Callable[[], None]:
    """One training batch, then a look at the loss of a held-out batch without leaving train mode."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    PerSampleGradients(model, only_with_grad)

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(8, 32, device=device)).square().mean().backward()
        optimizer.step()
        with torch.no_grad():
            model(torch.randn(8, 32, device=device)).square().mean()

    return step


@leak(
    kind="detached_activation",
    report="meta-pytorch/opacus#176",
    line="self.activations[layer].append(inputs[0].detach())",
    holder=".activations",
    bytes_per_step=2 * 8 * 32 * 4.0,
)
def hook_stores_activation(device: str) -> Callable[[], None]:
    """Differential-privacy hooks push each linear layer's input; the backward hook pops it.

    A forward under no_grad in train mode pushes too, and no backward follows to pop: two inputs stay a step.
    """
    return make_step(device, only_with_grad=False)


@clean(report="meta-pytorch/opacus#176")
def hook_stores_activation_clean(device: str) -> Callable[[], None]:
    """The same hooks push nothing while gradients are off."""
    return make_step(device, only_with_grad=True)
