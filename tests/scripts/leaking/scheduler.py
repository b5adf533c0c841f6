# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
# kind: detached_activation growth attached_activation graph_retention
# holder: outputs
"""A scheduler, clipping, and a hook that is registered once and keeps all that it sees."""

import torch
from torch import nn


class Tap:
    def __init__(self, module):
        self.outputs = []
        module.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.outputs.append(output.detach())  # the leak


model = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 1))
tap = Tap(model[1])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=90)
for _ in range(90):
    optimizer.zero_grad()
    model(torch.randn(8, 16)).square().mean().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
