# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong with this one."""

import torch


def clean():
    torch.zeros(4)
