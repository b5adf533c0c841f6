# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
# kind: detached_activation growth
# holder: states
"""Early stopping that keeps the state of each step that was better, which is each."""

import copy

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(16, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
x, y = torch.randn(64, 16), torch.randn(64, 1)
best, states = float("inf"), []
for _ in range(320):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if loss.item() >= best:
        break
    best = loss.item()
    states.append(copy.deepcopy(model.state_dict()))  # the leak
print(f"best {best:.3f} after {len(states)}")
