# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Results collected for a report carry the input batches along, so that the data set ends up in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak
from torch import nn

BATCH = 16
WIDTH = 32


class SlideClassifier:
    """Classifies slides and collects one result a batch, of which a gallery shows the worst at the end."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.results: list[dict[str, Any]] = []

    def train_batch(self) -> dict[str, Any]:
        images = torch.randn(BATCH, WIDTH, device=self.device)
        loss = self.model(images).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"image": images, "loss": loss.item()}

    def keep_worst(self, result: dict[str, Any], count: int = 4) -> None:
        self.results.append(result)
        self.results.sort(key=lambda kept: kept["loss"], reverse=True)
        del self.results[count:]


@leak(
    kind="growth",
    report="microsoft/hi-ml#293",
    line=("classifier.results.append(classifier.train_batch())", 'return {"image": images'),
    holder=".results",
    bytes_per_step=BATCH * WIDTH * 4.0,
)
def input_batches_kept(device: str) -> Callable[[], None]:
    """Each result dict holds a reference to its input images, and all results wait for the epoch's end.

    Nothing computed is kept and no graph: the images that the loader put on the device stay there.
    """
    classifier = SlideClassifier(device)
    return lambda: classifier.results.append(classifier.train_batch())


@clean(report="microsoft/hi-ml#293")
def input_batches_kept_clean(device: str) -> Callable[[], None]:
    """The same classifier keeps only the four results that the gallery will show."""
    classifier = SlideClassifier(device)
    return lambda: classifier.keep_worst(classifier.train_batch())
