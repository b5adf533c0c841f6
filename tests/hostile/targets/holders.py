# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that leak into what nobody may touch who only looks."""

import os
import threading

import torch
from stepping import nth_step, steps

kept = []


class Hostile:
    """Nothing of it may be called by who only looks."""

    def __len__(self):
        os._exit(11)

    def __repr__(self):
        os._exit(12)

    def __getattr__(self, name):
        os._exit(13)

    def __eq__(self, other):
        os._exit(14)

    def __hash__(self):
        return 1

    def __bool__(self):
        os._exit(15)

    def __iter__(self):
        os._exit(16)


class Lists(list):
    def __len__(self):
        raise RuntimeError("no length")

    def __iter__(self):
        raise RuntimeError("no way")

    def __getitem__(self, at):
        raise RuntimeError("no entry")


class Keys(dict):
    def __getitem__(self, key):
        os._exit(17)

    def items(self):
        os._exit(18)


class Lying:
    @property
    def __class__(self):
        os._exit(19)

    @property
    def __dict__(self):
        os._exit(20)


class Slotted:
    __slots__ = ("never_set", "tensors")


hostile = [Hostile()]
lists = Lists()
keys = Keys()
lying = Lying()
lying_list = []
slotted = Slotted()
slotted.tensors = []


def leaks_beside_a_hostile_object():
    nth_step()
    kept.append((hostile[0], torch.ones(100)))


def leaks_in_a_list_without_length():
    nth_step()
    list.append(lists, torch.ones(100))


def leaks_in_a_dict_without_items():
    nth_step()
    dict.__setitem__(keys, steps(), torch.ones(100))


def leaks_beside_a_lying_class():
    nth_step()
    lying_list.append((lying, torch.ones(100)))


def leaks_in_a_slot():
    nth_step()
    slotted.tensors.append(torch.ones(100))


def leaks_under_a_surrogate_name():
    nth_step()
    globals().setdefault("\udcff", []).append(torch.ones(100))


def leaks_under_an_escape():
    nth_step()
    globals().setdefault("\x1b[2J", []).append(torch.ones(100))


def leaks_under_a_key_of_bytes():
    nth_step()
    globals().setdefault("store", {})[b"\xff\x1b" + str(steps()).encode()] = torch.ones(100)


def leaks_in_a_half_built_module():
    nth_step()
    if "half" not in globals():
        globals()["half"] = object.__new__(torch.nn.Linear)
        object.__setattr__(globals()["half"], "tensors", [])
    object.__getattribute__(half, "tensors").append(torch.ones(100))  # noqa: F821


def leaks_in_a_deep_nest():
    nth_step()
    globals()["nest"] = [globals().get("nest"), torch.ones(100)]


def leaks_in_a_loop_of_objects():
    nth_step()
    loop = {"tensor": torch.ones(100)}
    loop["self"] = loop
    kept.append(loop)


def leaks_through_resize():
    nth_step()
    globals().setdefault("resized", torch.zeros(10)).resize_(100 * steps())


def leaks_a_thread_each():
    nth_step()
    threading.Thread(target=threading.Event().wait, args=(1000,), daemon=True).start()


class Kind(type):
    """Nothing of it may be asked, either: whoever looks tells types from each other by what they are."""

    def __hash__(cls):
        os._exit(21)

    def __eq__(cls, other):
        os._exit(22)

    def __getattribute__(cls, name):
        os._exit(23)


class OfAKind(metaclass=Kind):
    def __init__(self, tensor):
        self.tensor = tensor


def leaks_in_objects_of_a_hostile_class():
    nth_step()
    kept.append(OfAKind(torch.ones(100)))


def leaks_in_a_cycle_of_a_hostile_class():
    nth_step()
    features = torch.relu(torch.zeros(100, requires_grad=True))
    held = OfAKind(features)
    features.register_hook(lambda gradient: held and None)
