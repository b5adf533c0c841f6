# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
"""Early stopping that keeps the best state only."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
x, y = torch.randn(64, 16), torch.randn(64, 1)
best, state = float("inf"), {}
for _ in range(150):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() >= best:
        break
    best = loss.item()
    state = copy.deepcopy(model.state_dict())
print(f"best {best:.3f} after {len(state)}")
