# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
# steps: SGD.step
"""Batches of a DataLoader's worker processes, counted. More than torch's own cache of shared storages takes (128)."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 4800

    def __getitem__(self, index):
        return torch.full((16,), float(index))


def main():
    model = nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    seen = 0
    for x in DataLoader(Numbers(), batch_size=8, num_workers=2):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        seen += len(x)
    print(seen)


if __name__ == "__main__":
    main()
