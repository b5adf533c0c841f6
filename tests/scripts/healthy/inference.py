# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: a batch of a DataLoader
# default
"""A prediction run over a DataLoader that counts."""

import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 2)).eval()
counts = torch.zeros(2)
with torch.no_grad():
    for x in DataLoader(torch.randn(800, 16), batch_size=8):
        counts += torch.bincount(model(x).argmax(-1), minlength=2)
print(int(counts.sum()))
