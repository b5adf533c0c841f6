# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
# kind: graph_retention
# holder: total
# default
"""Four batches to a step of the optimizer, and a running sum that keeps every graph."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
total = torch.zeros(())
for batch in range(4 * 320):
    loss = model(torch.randn(8, 16)).square().mean() / 4
    loss.backward()
    total = total + loss  # the leak
    if batch % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
print(f"total {float(total):.3f}")
