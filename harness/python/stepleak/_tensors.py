# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Looks at tensors without `__torch_function__`, neither of their class nor of a mode, and without warnings.

Tells what else of torch's keeps an object of CUDA's.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch._C import DisableTorchFunction, TensorBase

from stepleak._heap import instances_of
from stepleak._objects import defining_class, is_a, type_name

_address_of: Any = TensorBase.__dict__["_cdata"].__get__
_graph_of: Any = TensorBase.__dict__["grad_fn"].__get__
_layout_of: Any = TensorBase.__dict__["layout"].__get__
_shape_of: Any = TensorBase.__dict__["shape"].__get__
_gradient_of: Any = TensorBase.__dict__["grad"].__get__
_is_leaf: Any = TensorBase.__dict__["is_leaf"].__get__
_HOOKS: dict[str, Any] = {
    name: TensorBase.__dict__[name].__get__ for name in ("_backward_hooks", "_post_accumulate_grad_hooks")
}

_NODES: dict[str, Any] = vars(torch._C._functions)

_KEEPERS_OF_CUDA = tuple(
    getattr(torch._C, name)
    for name in ("_CudaEventBase", "_CudaStreamBase", "_CUDAGraph", "_MemPool", "Event", "Stream")
    if hasattr(torch._C, name)
)


def is_tensor(item: Any) -> bool:
    """By type: a proxy or a lazy module is asked nothing."""
    return is_a(item, torch.Tensor)


def tensors_among(objects: tuple[Any, ...]) -> list[Any]:
    """Those that are tensors, in their order."""
    return instances_of(objects, (torch.Tensor,))


def keeps_cuda_object(kind: type) -> bool:
    """Whether things of this type keep an event, a stream, a graph or a pool of CUDA's; nothing without a GPU."""
    return issubclass(kind, _KEEPERS_OF_CUDA)


def address_of(tensor: Any) -> int:
    """The address of its TensorImpl."""
    with DisableTorchFunction():
        address: int = _address_of(tensor)
    return address


def shape_of(tensor: Any) -> tuple[int, ...]:
    """Empty of one that has no numbers for it."""
    with DisableTorchFunction():
        shape = tuple(_shape_of(tensor))
    return shape if all(type(size) is int for size in shape) else ()


def element_size_of(tensor: Any) -> int:
    """The bytes of one of its numbers."""
    with DisableTorchFunction():
        size: int = TensorBase.element_size(tensor)
    return size


def all_tensors() -> list[Any]:
    """Those that Python knows of now."""
    return tensors_among(tuple(gc.get_objects()))


def graph_of(tensor: Any) -> Any:
    """Its autograd node; None where it has none, or where asking is an error (a view changed in place)."""
    try:
        with DisableTorchFunction():
            return _graph_of(tensor)
    except RuntimeError:
        return None


def is_autograd_node(item: Any) -> bool:
    """Whether it is one, as `tensor.grad_fn` gives it: of torch's own, each of which has a type, or of a function that
    is written in Python."""
    kind = type(item)
    return issubclass(kind, torch._C._FunctionBase) or _NODES.get(type_name(item)) is kind


def gradient_of(tensor: Any) -> Any:
    """The gradient of a leaf; None where it has none, and of what is no leaf."""
    try:
        with DisableTorchFunction():
            return _gradient_of(tensor) if _is_leaf(tensor) else None
    except RuntimeError:
        return None


def parts_of_sparse(tensor: Any) -> list[int]:
    """Addresses of the memory of a sparse tensor's indices and values, which Python has no objects for; empty of
    others."""
    # Operators, which a mode of the user's would see.
    with DisableTorchFunction(), torch._C._DisableTorchDispatch():
        if _layout_of(tensor) is not torch.sparse_coo:
            return []
        parts = (TensorBase._indices(tensor), TensorBase._values(tensor))
    return [memory for memory in map(memory_of, parts) if memory != 0]


def gradient_with_graph(tensor: Any) -> Any:
    """The gradient of a leaf, where it has a graph of its own, as of `backward(create_graph=True)`; else None."""
    gradient = gradient_of(tensor)
    return None if gradient is None or graph_of(gradient) is None else gradient


def is_hashed_by_address(tensor: Any) -> bool:
    """Whether, as a key, it equals nothing but itself: so do all whose class does not say otherwise."""
    return defining_class(tensor, "__hash__") is torch.Tensor


def borrowed_memory(tensor: Any) -> tuple[int, int]:
    """The address and the bytes of host memory that another library's malloc gave a tensor, as `from_numpy` has it.

    No bytes where torch's own allocator, a file or shared memory is behind it: those have ledgers of their own.
    """
    with DisableTorchFunction():
        try:
            storage: Any = TensorBase.untyped_storage(tensor)
            is_own = storage.device.type != "cpu" or storage.resizable()
            if is_own or storage.is_shared() or storage.filename is not None:
                return 0, 0
            return int(storage.data_ptr()), int(storage.nbytes())
        except (NotImplementedError, RuntimeError):  # a sparse or a fake tensor has no memory that could be asked for
            return 0, 0


def memory_bytes_of(tensor: Any) -> int:
    """The bytes of its storage; 0 where it has none that could be asked for."""
    return _of_storage(tensor, lambda storage: storage.nbytes())


def memory_of(tensor: Any) -> int:
    """The address of its storage's memory, on whichever device; 0 where it has none."""
    return _of_storage(tensor, lambda storage: storage.data_ptr())


def _of_storage(tensor: Any, ask: Callable[[Any], int]) -> int:
    with DisableTorchFunction():
        try:
            return int(ask(TensorBase.untyped_storage(tensor)))
        except (NotImplementedError, RuntimeError):  # as above
            return 0


def name_of(tensor: Any, held: Any) -> str | None:
    """The attribute of a tensor that is what it holds: its gradient, a table of its hooks.

    A gradient is asked of a leaf only, since asking another one warns.
    """
    with DisableTorchFunction():
        if _is_leaf(tensor) and _gradient_of(tensor) is held:
            return "grad"
        return next((name for name, read in _HOOKS.items() if read(tensor) is held), None)


def held_by_autograd(item: Any) -> list[Any]:
    """What torch's C++ may hold one reference to, besides Python, because of a tensor or a node written in Python.

    A tensor that C++ uses holds its own Python object, its node the tables of its hooks.
    """
    if is_a(item, torch._C._FunctionBase):
        return [item]
    return [item, *hook_tables(item)] if is_tensor(item) else []


def hook_tables(item: Any) -> list[Any]:
    """Those that a tensor has; none of everything else."""
    if not is_tensor(item):
        return []
    with DisableTorchFunction():
        tables = [read(item) for read in _HOOKS.values()]
    return [table for table in tables if table is not None]


def is_held(tensors: dict[int, Any], address: int) -> bool:
    """Whether anything in Python but our own table refers to a tensor."""
    # The table, the argument of getrefcount, and the C++ object that keeps its own wrapper.
    return sys.getrefcount(tensors[address]) > 3
