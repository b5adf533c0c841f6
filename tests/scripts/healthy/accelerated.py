# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
# needs: accelerate
"""A loop under accelerate, with accumulation, that keeps the last losses for their mean."""

import torch
from accelerate import Accelerator
from torch import nn


def main():
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Linear(4, 1)
    loader = torch.utils.data.DataLoader(torch.randn(1200, 4), batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
    losses = []
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(batch).square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        losses = [*losses[-9:], loss.detach()]
    print(float(torch.stack(losses).mean()))


if __name__ == "__main__":
    main()
