# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Two objects point at each other in a program that has switched Python's collector off."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 16
WIDTH = 32


class Rollout:
    """A batch of experience and, once computed, its advantages."""

    def __init__(self, observations: torch.Tensor) -> None:
        self.observations = observations
        self.advantages: Advantages | None = None


class Advantages:
    """Advantages of a rollout, which they can ask for its observations."""

    def __init__(self, rollout: Rollout | weakref.ref[Rollout], values: torch.Tensor) -> None:
        self.rollout = rollout
        self.values = values


def make_update(device: str, back_link: Callable[[Rollout], Rollout | weakref.ref[Rollout]]) -> Callable[[], None]:
    """One update of a critic, in a simulator that runs with the collector off for even frame times."""
    gc.disable()
    torch.manual_seed(0)
    critic = nn.Linear(WIDTH, WIDTH).to(device)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)

    def update() -> None:
        rollout = Rollout(torch.randn(BATCH, WIDTH, device=device))
        values = critic(rollout.observations)
        rollout.advantages = Advantages(back_link(rollout), values.detach() - values.detach().mean())
        optimizer.zero_grad()
        values.square().mean().backward()
        optimizer.step()

    return update


@leak(
    kind="reference_cycle",
    report="NVlabs/GR00T-WholeBodyControl#220",
    line=("rollout.advantages = Advantages(", "self.rollout = rollout"),
    bytes_per_step=2 * BATCH * WIDTH * 4.0,
)
def gc_disabled_cycle(device: str) -> Callable[[], None]:
    """Each update builds a rollout and its advantages, each of which refers to the other.

    The embedding application called gc.disable(): nothing ever breaks the pair up, and its two tensors stay.
    """
    return make_update(device, back_link=lambda rollout: rollout)


@clean(report="NVlabs/GR00T-WholeBodyControl#220")
def gc_disabled_cycle_clean(device: str) -> Callable[[], None]:
    """The same update with a weak link back: reference counts free both, collector or not."""
    return make_update(device, back_link=weakref.ref)
