# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""A tracer keeps what belongs to the request under way in context variables."""

from __future__ import annotations

import contextvars
from collections.abc import Callable

import torch
from stepleak.scenario import clean, leak

WIDTH = 64

all_spans: contextvars.ContextVar[list[torch.Tensor]] = contextvars.ContextVar("all_spans")
all_spans.set([])
spans: contextvars.ContextVar[list[torch.Tensor]] = contextvars.ContextVar("spans")


class Server:
    """Answers requests."""

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = torch.nn.Linear(WIDTH, WIDTH, device=device)

    def answer(self) -> torch.Tensor:
        with torch.no_grad():
            return self.model(torch.randn(8, WIDTH, device=self.device)).mean(dim=0)

    def answer_traced(self) -> None:
        spans.set([])
        spans.get().append(self.answer())


@leak(
    kind="detached_activation",
    report="KLR-Pattern/pydantic-resolve#216",
    line="all_spans.get().append(server.answer())",
    holder="all_spans",
)
def context_history_kept(device: str) -> Callable[[], None]:
    """The variable is set once, as the server starts: spans of all requests pile up in its one value."""
    server = Server(device)
    return lambda: all_spans.get().append(server.answer())


@clean(report="KLR-Pattern/pydantic-resolve#216")
def context_history_kept_clean(device: str) -> Callable[[], None]:
    """Each request is answered in a context of its own, and sets the variable there."""
    server = Server(device)
    return lambda: contextvars.copy_context().run(server.answer_traced)
