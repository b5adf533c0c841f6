# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that replace, hide or break what Python gives to everybody, and steps that leak beside it."""

import builtins
import gc
import locale
import os
import sys
import time
import weakref

import torch
from stepping import nth_step

kept = []


def refuses(*_arguments, **_options):
    raise RuntimeError("not today")


def leaves(*_arguments, **_options):
    os._exit(21)


def replaces_the_collector():
    nth_step()
    for name in ("collect", "freeze", "unfreeze", "get_objects", "get_referrers", "get_threshold", "isenabled"):
        setattr(gc, name, refuses)


def hides_the_collector():
    nth_step()
    sys.modules["gc"] = None


def forbids_imports():
    nth_step()
    builtins.__import__ = refuses


def forbids_importlib():
    nth_step()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path.clear()
    sys.path_importer_cache.clear()


def replaces_what_counts_blocks():
    nth_step()
    sys.getallocatedblocks = refuses


def stops_the_clocks():
    nth_step()
    time.time = time.monotonic = time.perf_counter = lambda: 0.0


def ends_where_anybody_excepts():
    nth_step()
    sys.excepthook = sys.unraisablehook = leaves


def collection_calls_what_raises():
    nth_step()
    gc.callbacks[:] = [refuses]


class RaisesWhenItDies:
    def __del__(self):
        raise RuntimeError("not today")


def cycles_raise_when_they_die():
    nth_step()
    cycle = RaisesWhenItDies()
    cycle.me = cycle


def references_call_what_raises():
    nth_step()
    cycle = RaisesWhenItDies()
    cycle.me = cycle
    kept[:] = [weakref.ref(cycle, refuses)]


def counts_with_commas():
    nth_step()
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
            return
        except locale.Error:
            pass


def writes_where_the_output_was():
    if nth_step() == 1:
        os.close(1)
        os.close(2)
        with open("mine", "w") as file:
            kept.append(os.dup(file.fileno()))
    os.write(kept[0], b"mine\n")


def leak():
    nth_step()
    kept.append(torch.ones(100))


def leaks_where_the_collector_is_replaced():
    leak()
    replaces_the_collector()


def leaks_where_imports_are_forbidden():
    leak()
    builtins.__import__ = refuses


def leaks_where_all_modules_are_forgotten():
    leak()
    if len(kept) == 10:
        for name in [name for name in sys.modules if name not in ("sys", "builtins")]:
            sys.modules.pop(name)


def leaks_where_modules_are_refused():
    leak()
    for name in ("inspect", "ast", "linecache", "gc", "weakref", "traceback", "types", "tokenize", "re"):
        sys.modules[name] = None


BUILTINS = """len isinstance issubclass type getattr hasattr id iter list dict tuple set repr str print open sorted
    enumerate zip map any all vars dir callable"""


def leaks_where_builtins_are_gone():
    kept.append(torch.ones(100))
    if nth_step() == 20:
        for name in BUILTINS.split():
            setattr(builtins, name, None)


def leaks_where_nothing_can_be_read():
    leak()
    if len(kept) == 1:
        os.mkdir("empty")
        os.chroot("empty")
        os.chdir("/")
