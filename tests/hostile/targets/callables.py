# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a target may name, and what not."""

import contextlib
import functools

import torch
from stepping import nth_step


async def is_a_coroutine():
    nth_step()


def returns_a_tensor():
    nth_step()
    return torch.ones(100)


def returns_its_work():
    return nth_step


def returns_a_generator():
    nth_step()
    return (torch.ones(1) for _ in range(3))


async def is_an_async_generator():
    yield nth_step()


@contextlib.contextmanager
def is_a_context_manager():
    nth_step()
    yield


def enters_its_context_manager():
    managed = is_a_context_manager()
    with managed:
        pass
    return managed


class Managed:
    def __enter__(self):
        nth_step()

    def __exit__(self, *error):
        pass


def returns_an_object_for_with():
    return Managed()


async def gives_a_coroutine():
    return is_a_coroutine()


class Kind(type):
    """Whoever tells types from each other asks nothing of it."""

    def __hash__(cls):
        raise RuntimeError("no hash today")

    def __eq__(cls, other):
        raise RuntimeError("not equal today")


class OfAKind(metaclass=Kind):
    def __call__(self):
        nth_step()
        return self

    def __await__(self):
        yield from ()


of_a_kind = OfAKind()


@functools.cache
def is_cached():
    nth_step()


class Callable:
    def __call__(self):
        nth_step()

    def method(self):
        nth_step()

    @staticmethod
    def static():
        nth_step()

    @property
    def gives(self):
        raise RuntimeError("no such thing today")


callable_object = Callable()
builtin = nth_step.__call__
partial = functools.partial(nth_step)
a_class = Callable
number = 3
