# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Language models of transformers: trained, with the loss added up as its Trainer once did, and generating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from stepleak.scenario import clean, leak

VOCABULARY = 64
BATCH, LENGTH = 2, 12


def make_model(device: str) -> Any:
    """A Llama of two layers, with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=64, pad_token_id=0, **sizes)
    return LlamaForCausalLM(config).to(device)


class FineTuning:
    """Trains on random tokens, with a schedule and clipped gradients."""

    def __init__(self, device: str) -> None:
        from transformers import get_linear_schedule_with_warmup

        self.device = device
        self.model = make_model(device).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, 10, 10_000)
        self.total = torch.zeros((), device=device)

    def train(self) -> torch.Tensor:
        tokens = torch.randint(1, VOCABULARY, (BATCH, LENGTH), device=self.device)
        loss = self.model(input_ids=tokens, labels=tokens).loss
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss

    def step_adding_losses(self) -> None:
        self.total = self.total + self.train()

    def step(self) -> None:
        self.total += self.train().detach()


@leak(
    kind="graph_retention",
    report="huggingface/transformers#6999",
    line="self.total = self.total + self.train()",
    holder=".total",
    needs="transformers",
)
def with_transformers_loss_sum(device: str) -> Callable[[], None]:
    """The sum for the log has the graphs of all steps."""
    return FineTuning(device).step_adding_losses


@clean(report="huggingface/transformers#6999", needs="transformers")
def with_transformers_loss_sum_clean(device: str) -> Callable[[], None]:
    """The sum is of detached losses."""
    return FineTuning(device).step


@clean(report="MemTensor/MemOS#2303", needs="transformers")
def with_transformers_generation(device: str) -> Callable[[], None]:
    """Each step is a request of another length, answered by sampling with a cache of keys and values of its own."""
    model = make_model(device).eval()
    requests = 0

    def step() -> None:
        nonlocal requests
        requests += 1
        prompt = torch.randint(1, VOCABULARY, (1, 3 + requests % 9), device=device)
        model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=6, do_sample=True)

    return step
