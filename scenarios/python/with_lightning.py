# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy: Lightning, by its Fabric and by a Trainer for each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 16
ROWS = 8


@clean(report="Lightning-AI/pytorch-lightning#18640", needs="lightning")
def with_lightning_fabric(device: str) -> Callable[[], None]:
    """Fabric wraps model and optimizer, clips gradients and calls backward."""
    from lightning.fabric import Fabric

    torch.manual_seed(0)
    fabric = Fabric(accelerator="cpu" if device == "cpu" else "cuda", devices=1)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 4))
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-3))

    def step() -> None:
        optimizer.zero_grad()
        fabric.backward(model(torch.rand(ROWS, WIDTH, device=fabric.device)).square().mean())
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()

    return step


def make_module() -> Any:
    """A regression that logs its loss."""
    import lightning

    class Regression(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(WIDTH, 1)

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            loss = self.layer(batch).square().mean()
            self.log("loss", loss, on_epoch=True)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=1e-2)

    return Regression()


@clean(report="Lightning-AI/pytorch-lightning#18640", needs="lightning")
def with_lightning_trainer_each_step(device: str) -> Callable[[], None]:
    """Each step fits one module further with a Trainer of its own, whose loops are cycles that the collector frees."""
    import logging
    import warnings

    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")
    torch.manual_seed(0)
    module = make_module()
    batches = torch.utils.data.DataLoader(torch.rand(3 * ROWS, WIDTH), batch_size=ROWS)
    silent = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}

    def step() -> None:
        trainer = lightning.Trainer(
            accelerator="cpu" if device == "cpu" else "cuda",
            devices=1,
            max_epochs=1,
            enable_model_summary=False,
            **silent,
        )
        trainer.fit(module, batches)

    return step
