# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# arguments: --steps 90 --lr 0.01
# steps: AdamW.step
"""Arguments, a main guard, and a history of numbers."""

import argparse

import torch
from torch import nn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--lr", type=float, default=0.1)
    arguments = parser.parse_args()
    model = nn.Linear(16, 4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr)
    history = []
    for _ in range(arguments.steps):
        loss = model(torch.randn(8, 16)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    print(f"mean {sum(history) / len(history):.3f}")


if __name__ == "__main__":
    main()
