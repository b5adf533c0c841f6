# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Features are kept as slices of the activations they were cut from, whose storage they pin."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 8
TOKENS = 16
WIDTH = 32
IMAGES = 64


class Extractor(nn.Module):
    """A small vision transformer's last block: a class token and fifteen patches a picture."""

    def __init__(self) -> None:
        super().__init__()
        self.class_token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.block = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU())

    def forward(self, patches: torch.Tensor) -> torch.Tensor:
        tokens = torch.cat([self.class_token.expand(len(patches), 1, WIDTH), patches], dim=1)
        return self.block(tokens)


def make_extractor(device: str) -> Callable[[], torch.Tensor]:
    """Returns a function that yields the activations of the next batch of pictures."""
    torch.manual_seed(0)
    extractor = Extractor().to(device).eval()

    @torch.no_grad()
    def next_activations() -> torch.Tensor:
        return extractor(torch.randn(BATCH, TOKENS - 1, WIDTH, device=device))

    return next_activations


@leak(
    kind="view_pins_storage",
    report="ViCCo-Group/thingsvision#150",
    line="features.append(next_activations()[:, 0])",
    holder=".features",
    bytes_per_step=BATCH * TOKENS * WIDTH * 4.0,
)
def view_pins_storage(device: str) -> Callable[[], None]:
    """Feature extraction appends the class token of every batch to a list.

    The token is a view of the whole activation: 1 KB is kept on paper, 16 KB in memory.
    """
    next_activations = make_extractor(device)
    features: list[torch.Tensor] = []

    def step() -> None:
        features.append(next_activations()[:, 0])

    return step


@clean(report="ViCCo-Group/thingsvision#150")
def view_pins_storage_clean(device: str) -> Callable[[], None]:
    """The same extraction copies each token into its row of a feature matrix; the activations go."""
    next_activations = make_extractor(device)
    features = torch.zeros(IMAGES, WIDTH, device=device)
    seen = 0

    def step() -> None:
        nonlocal seen
        row = seen % IMAGES
        features[row : row + BATCH].copy_(next_activations()[:, 0])
        seen += BATCH

    return step
