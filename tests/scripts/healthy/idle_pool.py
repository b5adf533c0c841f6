# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: AdamW.step
# default
"""Asks for torch before it imports it, looks at the model in the main thread, trains in a pool that it leaves idle."""

import importlib.util
from concurrent.futures import ThreadPoolExecutor


def main():
    assert importlib.util.find_spec("torch") is not None
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model(torch.zeros(1, 8))
    optimizer = torch.optim.AdamW(model.parameters())
    pool = ThreadPoolExecutor(1)
    curve = []

    def train(steps):
        for _ in range(steps):
            loss = model(torch.randn(4, 8)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append(loss.item())

    for _ in range(10):
        pool.submit(train, 10).result()
        optimizer.load_state_dict(optimizer.state_dict())


if __name__ == "__main__":
    main()
