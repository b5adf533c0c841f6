# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: Adam.step
# needs: tqdm
# kind: graph_retention
# holder: window
"""A progress bar, and a window of losses that is cut where it is shown only."""

import torch
from torch import nn
from tqdm import tqdm

model = nn.Linear(16, 1)
optimizer = torch.optim.Adam(model.parameters())
window = []
for _ in (bar := tqdm(range(90))):
    loss = model(torch.randn(8, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    window.append(loss)  # the leak
    bar.set_postfix(loss=sum(float(part) for part in window[-10:]) / 10)
