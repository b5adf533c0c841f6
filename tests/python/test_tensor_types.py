# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors that are not plain memory pass through both passes: no exception, no warning, no code of theirs is run."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import stepleak
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


class WithFunction(torch.Tensor):
    """Subclass with `__torch_function__`."""

    calls = 0

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls += 1
        return super().__torch_function__(function, types, args, kwargs or {})


class WithDispatch(torch.Tensor):
    """Subclass with `__torch_dispatch__`, which answers for its sizes and its device too."""

    calls = 0
    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> WithDispatch:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, inner.shape, dtype=inner.dtype, dispatch_device=True, dispatch_sizes_strides_policy="sizes"
        )
        made.inner = inner
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls += 1
        args = [arg.inner if isinstance(arg, WithDispatch) else arg for arg in args]
        result = function(*args, **(kwargs or {}))
        return WithDispatch(result) if isinstance(result, torch.Tensor) else result


class Counting(TorchDispatchMode):
    calls = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        return function(*args, **(kwargs or {}))


fake_mode = FakeTensorMode()


def with_function() -> object:
    return (torch.ones(8).as_subclass(WithFunction) * 2).sum()


def with_dispatch() -> object:
    return WithDispatch(torch.ones(8)) * 2


def fake() -> object:
    with fake_mode:
        return torch.zeros(8, 8) @ torch.ones(8, 8)


def symbolic() -> object:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        return mode.from_tensor(torch.zeros(5, 3), static_shapes=False) * 2


def functional() -> object:
    return torch.func.functionalize(lambda x: x.view(4, 2).add_(1))(torch.zeros(8))


def sparse() -> object:
    return torch.eye(8).to_sparse() * 2, torch.eye(8).to_sparse_csr()


def nested() -> object:
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]) * 2


def jagged() -> object:
    return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged) * 2


def quantised() -> object:
    return torch.quantize_per_tensor(torch.ones(8), 0.1, 0, torch.qint8)


def meta() -> object:
    return torch.zeros(8, device="meta") * 2


def batched() -> object:
    return torch.vmap(lambda x: (x * 2).sum())(torch.ones(4, 8))


def transformed() -> object:
    return torch.func.grad(lambda x: x.sin().sum())(torch.ones(8))


def conjugated() -> object:
    return torch.ones(8, dtype=torch.complex64).conj() * 1j


MAKERS = [
    with_function, with_dispatch, fake, symbolic, functional, sparse, nested, jagged, quantised, meta, batched,
    transformed, conjugated,
]  # fmt: skip


@pytest.fixture(autouse=True)
def quiet(capfd: pytest.CaptureFixture[str]) -> Any:
    """torch swallows what a callback throws, and says so on stderr."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(beta|prototype|deprecat).*")
        yield
    assert "RecordFunction" not in capfd.readouterr().err


@pytest.mark.parametrize("make", MAKERS)
def test_they_are_clean_where_they_die(make: Callable[[], object]) -> None:
    make()
    result = stepleak.check(make, device="cpu")
    assert result.verdict == "clean", result.report


def test_they_are_a_leak_where_they_stay() -> None:
    kept: list[object] = []

    def step() -> None:
        kept.append([make() for make in MAKERS])
        kept.append(torch.zeros(64))

    step()
    result = stepleak.check(step, device="cpu", effort="quick")
    assert result.verdict == "leak", result.report


def test_no_code_of_theirs_is_run_where_they_are_watched() -> None:
    kept: list[object] = []

    def step() -> None:
        kept.append((with_dispatch(), torch.zeros(64)))

    with Counting() as mode:
        WithDispatch.calls = 0
        step()
        each = (WithDispatch.calls, mode.calls)
        result = stepleak.check(step, device="cpu", effort="quick")
        assert (WithDispatch.calls, mode.calls) == (each[0] * len(kept), each[1] * len(kept))
    assert result.verdict == "leak", result.report
