# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
# kind: attached_activation graph_retention
# holder: outputs
"""An evaluation every tenth step, with gradients, whose outputs are never cleared."""

import torch
from torch import nn


class Evaluator:
    def __init__(self, model):
        self.model = model
        self.outputs = []

    def run(self):
        self.model.eval()
        for _ in range(3):
            self.outputs.append(self.model(torch.randn(8, 16)))  # the leak
        self.model.train()
        return torch.stack(self.outputs[-3:]).mean().item()


model = nn.Sequential(nn.Linear(16, 16), nn.Dropout(0.1), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
evaluator = Evaluator(model)
for step in range(600):
    optimizer.zero_grad()
    model(torch.randn(8, 16)).square().mean().backward()
    optimizer.step()
    if step % 10 == 9:
        evaluator.run()
