# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A key-value cache that is reborn longer in each step."""

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class Decoder(nn.Module):
    """Attends from one new token to all cached ones."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(32, 32)
        self.key_value = nn.Linear(32, 64)
        self.cache: torch.Tensor | None = None

    def extend(self, new: torch.Tensor) -> torch.Tensor:
        self.cache = new if self.cache is None else torch.cat([self.cache, new], dim=1)
        return self.cache

    def forward(self, token: torch.Tensor) -> torch.Tensor:
        keys, values = self.extend(self.key_value(token)).chunk(2, dim=-1)
        return nn.functional.scaled_dot_product_attention(self.query(token), keys, values)


class WindowDecoder(Decoder):
    """Attends to the last eight tokens only."""

    def extend(self, new: torch.Tensor) -> torch.Tensor:
        self.cache = new if self.cache is None else torch.cat([self.cache[:, -7:], new], dim=1)
        return self.cache


def decoding(decoder: Decoder, device: str) -> Callable[[], None]:
    decoder.to(device).eval()

    @torch.no_grad()
    def step() -> None:
        decoder(torch.rand(8, 1, 32, device=device))

    return step


@leak(
    kind="growing_buffer",
    report="MemTensor/MemOS#2303",
    line="torch.cat([self.cache, new], dim=1)",
    holder=".cache",
    bytes_per_step=8 * 64 * 4,
)
def kv_cache_cat(device: str) -> Callable[[], None]:
    """A decoder appends the key and value of each token to its cache by torch.cat and never resets the cache.

    One tensor is alive at a time, and it is reborn one token longer in every step.
    """
    torch.manual_seed(0)
    return decoding(Decoder(), device)


@clean(report="MemTensor/MemOS#2303")
def kv_cache_cat_clean(device: str) -> Callable[[], None]:
    """The same decoder attends to the last eight tokens and cuts its cache to them."""
    torch.manual_seed(0)
    return decoding(WindowDecoder(), device)
