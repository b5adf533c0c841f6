# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Healthy steps on a GPU whose memory moves for good reasons."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch
from stepleak.scenario import clean
from torch import nn

WIDTH = 64
BATCH = 16


def make_model(device: str) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)


@clean(report="pytorch/pytorch#18643", needs_cuda=True)
def cuda_moments_after_overflow(device: str) -> Callable[[], None]:
    """The loss scaler starts too high and skips the first steps, so Adam's moments are made late, once."""
    model = make_model(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**40, growth_interval=10_000)

    def step() -> None:
        batch = torch.randn(BATCH, WIDTH, device=device)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


@clean(report="pytorch/pytorch#40073", needs_cuda=True)
def cuda_stale_gradient_under_amp(device: str) -> Callable[[], None]:
    """The head is frozen after a while; its last fp32 gradient stays, and no more come."""
    model = make_model(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps_done = [0]

    def step() -> None:
        if steps_done[0] == 4:
            model[2].requires_grad_(False)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(torch.randn(BATCH, WIDTH, device=device)).float().square().mean()
        loss.backward()
        optimizer.step()
        model[0].zero_grad()
        steps_done[0] += 1

    return step


@clean(report="pytorch/pytorch#156495", needs_cuda=True)
def cuda_second_thread(device: str) -> Callable[[], None]:
    """Validation runs on a thread of its own, which brings a cuBLAS handle and a workspace with it, once."""
    model = make_model(device)
    worker = ThreadPoolExecutor(max_workers=1)
    batch = torch.randn(BATCH, WIDTH, device=device)

    def validate() -> float:
        with torch.no_grad():
            return float(model(batch).mean().item())

    def step() -> None:
        model(batch).square().mean().backward()
        model.zero_grad()
        worker.submit(validate).result()

    return step


@clean(report="pytorch/pytorch#107667", needs_cuda=True)
def cuda_modules_loaded_late(device: str) -> Callable[[], None]:
    """An operator is used for the first time in step 20 and another in step 40: the driver loads their kernels then."""
    batch = torch.randn(BATCH, WIDTH, device=device)
    indices = itertools.count()

    def step() -> None:
        index = next(indices)
        batch.square().mean()
        if index >= 20:
            torch.special.gammaln(batch.abs() + 1).sum()
        if index >= 40:
            torch.linalg.qr(batch)

    return step


@clean(report="speechbrain/speechbrain#68", needs_cuda=True)
def cuda_cache_emptied_every_eighth_step(device: str) -> Callable[[], None]:
    """The cache fills with buffers of many sizes and is emptied every eighth step: reserved memory is a saw-tooth."""
    indices = itertools.count()

    def step() -> None:
        index = next(indices)
        torch.empty((1 + index % 8) << 22, dtype=torch.uint8, device=device)
        if index % 8 == 7:
            torch.cuda.empty_cache()

    return step


@clean(report="pytorch/pytorch#147168", needs_cuda=True)
def cuda_recorded_stream_drains(device: str) -> Callable[[], None]:
    """Batches are copied on a side stream and recorded on it; the stream drains, and their blocks come back."""
    side = torch.cuda.Stream(device)
    host = torch.randn(BATCH, WIDTH, pin_memory=True)
    model = make_model(device)

    def step() -> None:
        with torch.cuda.stream(side):
            batch = host.to(device, non_blocking=True)
        torch.cuda.current_stream(device).wait_stream(side)
        batch.record_stream(torch.cuda.current_stream(device))
        model(batch).square().mean().backward()
        model.zero_grad()

    return step


@clean(report="pytorch/pytorch#97432", needs_cuda=True)
def cuda_pinned_staging_reused(device: str) -> Callable[[], None]:
    """One page-locked staging buffer serves all batches."""
    staging = torch.empty(BATCH, WIDTH, pin_memory=True)
    model = make_model(device)

    def step() -> None:
        staging.normal_()
        model(staging.to(device, non_blocking=True)).square().mean().backward()
        model.zero_grad()
        torch.cuda.current_stream(device).synchronize()

    return step


@clean(report="pytorch/pytorch#190348", needs_cuda=True)
def cuda_graph_replayed(device: str) -> Callable[[], None]:
    """A whole training step is captured once and replayed: no allocation at all from then on."""
    model = make_model(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(BATCH, WIDTH, device=device)
    side = torch.cuda.Stream(device)
    side.wait_stream(torch.cuda.current_stream(device))

    def train() -> None:
        optimizer.zero_grad(set_to_none=False)
        model(batch).square().mean().backward()
        optimizer.step()

    with torch.cuda.stream(side):
        for _ in range(3):
            train()
    torch.cuda.current_stream(device).wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.device(device), torch.cuda.graph(graph):
        train()
    return graph.replay
