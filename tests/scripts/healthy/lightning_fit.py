# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
# needs: lightning
"""A module of Lightning that gathers its outputs for the end of an epoch, and clears them."""

import lightning
import torch
from torch import nn


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.outputs = []

    def training_step(self, batch, _):
        loss = self.layer(batch).square().mean()
        self.outputs.append(loss.detach())
        return loss

    def on_train_epoch_end(self):
        self.outputs.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


trainer = lightning.Trainer(
    accelerator="cpu", max_epochs=12, logger=False, enable_checkpointing=False, enable_progress_bar=False
)
trainer.fit(Module(), torch.utils.data.DataLoader(torch.randn(120, 4), batch_size=4))
