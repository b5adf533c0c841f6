# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# program: g++
# steps: SGD.step
"""A model that torch.compile made into code of its own."""

import torch
from torch import nn

model = torch.compile(nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)), backend="inductor")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []
for _ in range(200):
    loss = model(torch.randn(8, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses = [loss]
