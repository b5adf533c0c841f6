# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
# default
"""A replay buffer with a bound, which is full soon."""

import random
from collections import deque

import torch
from torch import nn

policy = nn.Linear(8, 2)
optimizer = torch.optim.AdamW(policy.parameters())
buffer = deque(maxlen=20)
state = torch.randn(1, 8)
for _ in range(200):
    value = policy(state)
    buffer.append(value.detach())
    state = torch.randn(1, 8)
    batch = torch.cat([policy(torch.randn(1, 8)) for _ in random.sample(buffer, 1)])
    optimizer.zero_grad()
    batch.square().mean().backward()
    optimizer.step()
