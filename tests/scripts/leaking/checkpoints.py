# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
# kind: optimizer_state detached_activation growth
# holder: averages
"""Checkpoints on the disk every tenth step, and an average of weights that keeps every sample."""

import tempfile
from pathlib import Path

import torch
from torch import nn

model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
averages = []
with tempfile.TemporaryDirectory() as folder:
    for step in range(300):
        optimizer.zero_grad()
        model(torch.randn(8, 16)).square().mean().backward()
        optimizer.step()
        averages.append([p.detach().clone() for p in model.parameters()])  # the leak
        if step % 10 == 9:
            torch.save({"model": model.state_dict(), "step": step}, Path(folder) / "last.pt")
    print(sorted(torch.load(Path(folder) / "last.pt")))
