# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Windows over the training so far: each bounded in the way in which people write it, each of another length."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from queue import Queue

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 64


class Regression:
    """What all of them train."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Linear(WIDTH, WIDTH).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.steps_done = 0

    def train(self, batch: torch.Tensor) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(batch), batch)
        loss.backward()
        self.optimizer.step()
        self.steps_done += 1
        return loss.detach()

    def draw(self) -> torch.Tensor:
        return torch.rand(4, WIDTH, device=self.device)


class LossWindow(Regression):
    """Mean of the last 40 losses, to decide on the learning rate."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.recent: deque[torch.Tensor] = deque(maxlen=40)

    def step(self) -> None:
        self.recent.append(self.train(self.draw()))
        if torch.stack(tuple(self.recent)).mean() > 10:
            raise RuntimeError("the loss explodes")


class GradientNormWindow(Regression):
    """Clips at a quantile of the last 120 gradient norms, which are trimmed by a slice."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.norms: list[torch.Tensor] = []

    def step(self) -> None:
        self.train(self.draw())
        self.norms.append(nn.utils.get_total_norm(p.grad for p in self.model.parameters() if p.grad is not None))
        if len(self.norms) > 120:
            self.norms = self.norms[-120:]


class MomentumQueue(Regression):
    """Keys of a contrastive loss: a ring of 120 rows that is written in place."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.keys: list[torch.Tensor | None] = [None] * 120

    def step(self) -> None:
        batch = self.draw()
        self.train(batch)
        with torch.no_grad():
            self.keys[self.steps_done % 120] = nn.functional.normalize(self.model(batch).mean(dim=0), dim=0)


class WorkQueue(Regression):
    """Batches on their way to a trainer that starts late: a queue of 40 that is taken from when it is full."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.ready: Queue[torch.Tensor] = Queue(maxsize=40)

    def step(self) -> None:
        if self.ready.full():
            self.train(self.ready.get())
        self.ready.put(self.draw())


class FeatureCache(Regression):
    """Features of 800 images drawn at random, of which the 120 used last are kept."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.features: OrderedDict[int, torch.Tensor] = OrderedDict()

    def feature(self, image: int) -> torch.Tensor:
        if image in self.features:
            self.features.move_to_end(image)
        else:
            self.features[image] = torch.full((4, WIDTH), image / 800, device=self.device)
            if len(self.features) > 120:
                self.features.popitem(last=False)
        return self.features[image]

    def step(self) -> None:
        self.train(self.feature(int(torch.randint(800, ()))))


@clean(report="BY571/IQN-and-Extensions#3")
def window_of_40_losses(device: str) -> Callable[[], None]:
    """A `deque(maxlen=40)` of losses."""
    return LossWindow(device).step


@clean(report="BY571/IQN-and-Extensions#3")
def window_of_120_gradient_norms(device: str) -> Callable[[], None]:
    """A list that a slice trims to 120 once it is longer."""
    return GradientNormWindow(device).step


@clean(report="BY571/IQN-and-Extensions#3")
def ring_of_120_keys(device: str) -> Callable[[], None]:
    """A list of 120 places that are written in turn; each place is empty until its first turn."""
    return MomentumQueue(device).step


@clean(report="pytorch/pytorch#97432")
def queue_of_40_batches(device: str) -> Callable[[], None]:
    """A `Queue(maxsize=40)` that is filled before the first batch is taken out."""
    return WorkQueue(device).step


@clean(report="pytorch/pytorch#48049")
def cache_of_120_features(device: str) -> Callable[[], None]:
    """An `OrderedDict` that drops the entry that was not used for longest; random keys fill it ever more slowly."""
    return FeatureCache(device).step
