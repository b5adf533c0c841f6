# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: a vision model of timm, with its augmentation, schedule and average of the weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from stepleak.scenario import clean
from torch import nn

SIZE = 32
CLASSES = 10


@clean(report="ultralytics/ultralytics#25315", needs="timm")
def with_timm_average_of_weights(device: str) -> Callable[[], None]:
    """The averaged weights follow those that are trained, and remember nothing else of a step."""
    import timm
    from timm.data import Mixup
    from timm.optim import create_optimizer_v2
    from timm.utils import ModelEmaV3

    torch.manual_seed(0)
    model = timm.create_model("test_efficientnet", pretrained=False, num_classes=CLASSES).to(device)
    average = ModelEmaV3(model, decay=0.99)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3)
    mixup = Mixup(mixup_alpha=0.2, num_classes=CLASSES)

    def step() -> None:
        pictures = torch.rand(4, 3, SIZE, SIZE, device=device)
        labels = torch.randint(CLASSES, (4,), device=device)
        pictures, targets = mixup(pictures, labels)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(pictures), targets).backward()
        optimizer.step()
        average.update(model)

    return step
