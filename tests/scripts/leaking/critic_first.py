# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: 5 x RMSprop.step
# kind: detached_activation growth
# holder: gallery
"""A WGAN: five steps of the critic to one of the generator are one step; each keeps a picture."""

import torch
from torch import nn

generator = nn.Linear(4, 8)
critic = nn.Linear(8, 1)
opt_critic = torch.optim.RMSprop(critic.parameters())
opt_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
gallery = []
for _ in range(90):
    for _ in range(5):
        fake = generator(torch.randn(16, 4)).detach()
        loss = critic(fake).mean() - critic(torch.randn(16, 8)).mean()
        opt_critic.zero_grad()
        loss.backward()
        opt_critic.step()
    opt_generator.zero_grad()
    (-critic(generator(torch.randn(16, 4))).mean()).backward()
    opt_generator.step()
    with torch.no_grad():
        gallery.append(generator(torch.randn(16, 4)))  # the leak
