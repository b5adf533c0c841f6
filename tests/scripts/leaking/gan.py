# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: 1 x Adam.step (gan.py:14), 1 x Adam.step (gan.py:14, call 2)
# kind: graph_retention
# holder: history
# default
"""Two optimizers of one line that take turns: a step is one of each."""

import torch
from torch import nn

generator = nn.Linear(4, 8)
critic = nn.Linear(8, 1)
opt_critic, opt_generator = torch.optim.Adam(critic.parameters()), torch.optim.Adam(generator.parameters())
history = {"critic": [], "generator": []}
for _ in range(90):
    fake = generator(torch.randn(16, 4))
    loss_critic = critic(fake.detach()).mean() - critic(torch.randn(16, 8)).mean()
    opt_critic.zero_grad()
    loss_critic.backward()
    opt_critic.step()
    loss_generator = -critic(fake).mean()
    opt_generator.zero_grad()
    loss_generator.backward()
    opt_generator.step()
    history["critic"].append(loss_critic.item())
    history["generator"].append(loss_generator)  # the leak
