# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""An exponential moving average of the loss that keeps its graph."""

from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak
from torch import nn


class Agent:
    """Smooths its loss for the progress bar."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.policy = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)).to(device)
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.01)
        self.loss_ema: torch.Tensor | float | None = None

    def train_step(self) -> None:
        states = torch.rand(8, 32, device=self.device)
        loss = self.policy(states).log_softmax(dim=-1).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.update_ema(loss)

    def update_ema(self, loss: torch.Tensor) -> None:
        self.loss_ema = loss if self.loss_ema is None else 0.9 * self.loss_ema + 0.1 * loss


class AgentWithNumber(Agent):
    """Smooths its loss outside of PyTorch."""

    def update_ema(self, loss: torch.Tensor) -> None:
        value = loss.item()
        self.loss_ema = value if self.loss_ema is None else 0.9 * self.loss_ema + 0.1 * value


@leak(
    kind="graph_retention",
    report="alexhernandezgarcia/gflownet#133",
    line="self.loss_ema = loss if",
    holder=".loss_ema",
)
def ema_loss_attached(device: str) -> Callable[[], None]:
    """An agent smooths its loss with a moving average over attached tensors.

    One tensor is alive at a time, but its graph grows by the nodes of a step in every step.
    """
    return Agent(device).train_step


@clean(report="alexhernandezgarcia/gflownet#133")
def ema_loss_attached_clean(device: str) -> Callable[[], None]:
    """The same agent computes its moving average from loss.item(). The average is a float."""
    return AgentWithNumber(device).train_step
