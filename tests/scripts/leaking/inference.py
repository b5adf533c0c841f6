# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: a batch of a DataLoader
# kind: attached_activation graph_retention
# holder: outputs
"""A prediction run over a DataLoader, with gradients on, that gathers all outputs."""

import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 2)).eval()
outputs = []
for x in DataLoader(torch.randn(800, 16), batch_size=8):
    outputs.append(model(x))  # the leak
print(len(outputs))
