# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
"""Epochs over a DataLoader that shuffles, and a cache of features of the last batches of the epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(160, 16), torch.randn(160, 1))
loader = DataLoader(data, batch_size=8, shuffle=True)
backbone = nn.Linear(16, 32)
head = nn.Linear(32, 1)
optimizer = torch.optim.AdamW([*backbone.parameters(), *head.parameters()])
features = {}
step = 0
for _ in range(6):
    for x, y in loader:
        hidden = backbone(x).relu()
        loss = nn.functional.mse_loss(head(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        features[step % 4] = hidden.detach()
        step += 1
