# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that change what the harness uses too."""

import builtins
import gc
import os
import signal
import sys
import tempfile
import threading

import torch
from stepping import nth_step

kept = []


def closes_everything():
    nth_step()
    os.closerange(0, 4096)


def fills_the_descriptors():
    nth_step()
    try:
        while True:
            kept.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass


def leaves_the_folder():
    nth_step()
    os.chdir("/")


def removes_its_folder():
    if nth_step() == 1:
        gone = tempfile.mkdtemp()
        os.chdir(gone)
        os.rmdir(gone)


def clears_the_environment():
    nth_step()
    os.environ.clear()


def ignores_its_children():
    nth_step()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def switches_the_collector_off():
    nth_step()
    gc.disable()
    gc.set_threshold(0)


def freezes_the_collector():
    nth_step()
    gc.freeze()


def forgets_all_modules():
    nth_step()
    for name in [name for name in sys.modules if name.startswith("stepleak")]:
        sys.modules.pop(name)


def replaces_len():

    nth_step()
    builtins.len = None


def replaces_stdout():
    nth_step()
    sys.stdout = sys.stderr = None


def traces_itself():
    sys.settrace(lambda *_: None)
    sys.setprofile(lambda *_: None)
    nth_step()


def changes_the_recursion_limit():
    sys.setrecursionlimit(60 + 40 * 2)
    nth_step()


def default_device_meta():
    torch.set_default_device("meta")
    nth_step()
    torch.ones(10).sum()


def default_dtype_half():
    torch.set_default_dtype(torch.float16)
    nth_step()


def inference_mode_stays_on():
    torch.inference_mode().__enter__()
    nth_step()


def deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    nth_step()


def starts_threads():
    nth_step()
    thread = threading.Thread(target=torch.ones, args=(100,))
    thread.start()
    thread.join()


def changes_the_clock_of_numpy_errors():
    import numpy

    numpy.seterr(all="raise")
    nth_step()
