# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
# kind: attached_activation graph_retention
# holder: buffer
"""A replay buffer without a bound, whose items keep their graphs."""

import random

import torch
from torch import nn

policy = nn.Linear(8, 2)
optimizer = torch.optim.AdamW(policy.parameters())
buffer = []
state = torch.randn(1, 8)
for _ in range(90):
    value = policy(state)
    buffer.append(value)  # the leak
    state = torch.randn(1, 8)
    batch = torch.cat([policy(torch.randn(1, 8)) for _ in random.sample(buffer, 1)])
    optimizer.zero_grad()
    batch.square().mean().backward()
    optimizer.step()
