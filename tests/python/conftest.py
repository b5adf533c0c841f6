# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tests that import the core themselves find that of the torch that is here, also in a wheel for several."""

from __future__ import annotations

import stepleak._torch

stepleak._torch.require()
