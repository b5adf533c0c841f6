# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
# needs: transformers accelerate
# kind: graph_retention
# holder: seen
"""A Trainer of transformers, whose model keeps its losses."""

import tempfile

import torch
from torch import nn
from transformers import Trainer, TrainingArguments


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 480

    def __getitem__(self, index):
        return {"x": torch.full((4,), index / 480), "labels": torch.ones(1)}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.seen = []

    def forward(self, x, labels):
        loss = nn.functional.mse_loss(self.layer(x), labels)
        self.seen.append(loss)  # the leak
        return {"loss": loss}


model = Model()
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(folder, per_device_train_batch_size=4, max_steps=90, report_to=[], use_cpu=True)
    Trainer(model, arguments, train_dataset=Numbers()).train()
