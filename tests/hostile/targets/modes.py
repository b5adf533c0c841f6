# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that leave torch in another mode; whoever then calls torch outside of them ends the process."""

import os

import torch
from stepping import nth_step
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

kept = []
is_inside = False


class InStep:
    """The step may call torch; nobody else may."""

    def __enter__(self):
        global is_inside
        is_inside = True

    def __exit__(self, *_raised):
        global is_inside
        is_inside = False


def answer(function, arguments, options):
    if not is_inside:
        os._exit(22)
    return function(*arguments, **(options or {}))


class FunctionMode(TorchFunctionMode):
    def __torch_function__(self, function, _types, arguments=(), options=None):
        return answer(function, arguments, options)


class DispatchMode(TorchDispatchMode):
    def __torch_dispatch__(self, function, _types, arguments=(), options=None):
        return answer(function, arguments, options)


class Watchful(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), options=None):
        if not is_inside:
            os._exit(23)
        return super().__torch_function__(function, types, arguments, options or {})


class Duck:
    """No tensor, and torch asks it first."""

    @classmethod
    def __torch_function__(cls, *_arguments):
        os._exit(24)

    def __getattr__(self, name):
        os._exit(25)


def once(make):
    if not kept:
        kept.append(make())
        kept[0].__enter__()


def function_mode_stays_on():
    with InStep():
        once(FunctionMode)
        nth_step()


def dispatch_mode_stays_on():
    with InStep():
        once(DispatchMode)
        nth_step()


def fake_mode_stays_on():
    once(FakeTensorMode)
    nth_step()


def anomalies_are_looked_for():
    torch.autograd.set_detect_anomaly(True)
    nth_step()


def gradients_are_off():
    torch.set_grad_enabled(False)
    nth_step()


def saved_tensors_are_refused():
    def refuse(_tensor):
        if not is_inside:
            os._exit(26)
        return 0

    once(lambda: torch.autograd.graph.saved_tensors_hooks(refuse, refuse))
    with InStep():
        nth_step()
        torch.ones(4, requires_grad=True).exp()


def denormals_are_flushed():
    torch.set_flush_denormal(True)
    nth_step()


def printing_raises():
    def refuse(*_arguments, **_options):
        raise RuntimeError("not today")

    torch.Tensor.__repr__ = torch.Tensor.__str__ = torch.Tensor.__len__ = torch.Tensor.__bool__ = refuse
    nth_step()


leaked = []


def leaks_under_a_function_mode():
    with InStep():
        once(FunctionMode)
        nth_step()
        leaked.append(torch.ones(100))


def leaks_under_a_dispatch_mode():
    with InStep():
        once(DispatchMode)
        nth_step()
        leaked.append(torch.ones(100))


def leaks_tensors_that_watch():
    with InStep():
        nth_step()
        leaked.append(torch.ones(100).as_subclass(Watchful))


def leaks_beside_what_answers_for_torch():
    nth_step()
    leaked.append((Duck(), torch.ones(100)))


def leaks_tensors_that_refuse_all():
    printing_raises()
    leaked.append(torch.ones(100))
