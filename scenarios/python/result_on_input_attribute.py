# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A result is hung on its input as an attribute, while the result's graph leads back to the input."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


def make_generator(device: str) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    """A generator, and a source of latent codes that are optimised to hit a target."""
    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32)).to(device).requires_grad_(False)
    return generator, lambda: torch.randn(8, 32, device=device, requires_grad=True)


@leak(kind="reference_cycle", report="pytorch/pytorch#7343", line="latent.picture = generator(latent)")
def result_on_input_attribute(device: str) -> Callable[[], None]:
    """Each latent code carries its picture along, latent.picture, so that later code need not render it again.

    The picture's graph ends in the latent, and the latent's attributes hold the picture: Python's collector sees
    the attribute but not the graph, and neither is ever freed.
    """
    generator, next_latent = make_generator(device)

    def step() -> None:
        latent = next_latent()
        latent.picture = generator(latent)
        latent.picture.square().mean().backward()

    return step


@clean(report="pytorch/pytorch#7343")
def result_on_input_attribute_clean(device: str) -> Callable[[], None]:
    """The same latent code carries the detached picture."""
    generator, next_latent = make_generator(device)

    def step() -> None:
        latent = next_latent()
        picture = generator(latent)
        latent.picture = picture.detach()
        picture.square().mean().backward()

    return step
