# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
"""Checkpoints on the disk every tenth step, the last three kept, and a running average of weights."""

import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

model = nn.Linear(16, 4)
average = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
with tempfile.TemporaryDirectory() as folder:
    for step in range(150):
        optimizer.zero_grad()
        model(torch.randn(8, 16)).square().mean().backward()
        optimizer.step()
        average.update_parameters(model)
        if step % 10 == 9:
            torch.save({"model": model.state_dict()}, Path(folder) / f"{step:04}.pt")
            for old in sorted(Path(folder).glob("*.pt"))[:-3]:
                old.unlink()
    print(sorted(path.name for path in Path(folder).glob("*.pt")))
