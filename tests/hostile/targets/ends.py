# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that end, or do not end, in ways of their own."""

import contextlib
import ctypes
import os
import resource
import signal
import threading
import time

from stepping import in_step_5, nth_step


def ends_by(number):
    in_step_5(lambda: os.kill(os.getpid(), number))


def dies_of_sigterm():
    ends_by(signal.SIGTERM)


def dies_of_sigpipe():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    ends_by(signal.SIGPIPE)


def dies_of_a_realtime_signal():
    ends_by(signal.SIGRTMIN + 3)


def dies_of_sigfpe():
    ends_by(signal.SIGFPE)


def dies_of_sigsys():
    ends_by(signal.SIGSYS)


def dies_of_sigalrm():
    in_step_5(lambda: (signal.setitimer(signal.ITIMER_REAL, 0.01), time.sleep(5)))


def dies_of_cpu_limit():
    resource.setrlimit(resource.RLIMIT_CPU, (1, 1))
    while True:
        nth_step()


def overflows_the_stack():
    in_step_5(lambda: ctypes.CDLL(None).qsort(0, 2**62, 1, 0) if False else _deep_in_c())


def _deep_in_c():
    threading.stack_size(32768)
    nested = []
    for _ in range(2000000):
        nested = [nested]
    repr(nested)


def jumps_to_nowhere():
    in_step_5(ctypes.CFUNCTYPE(None)(0xDEAD))


def frees_twice():
    def twice():
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        block = ctypes.c_void_p(libc.malloc(64))
        libc.free(block)
        libc.free(block)

    in_step_5(twice)


def ends_with_code_64():
    in_step_5(lambda: os._exit(64))


def execs_another_program():
    in_step_5(lambda: os.execv("/bin/true", ["true"]))


def kills_its_parent():
    in_step_5(lambda: (os.kill(os.getppid(), signal.SIGKILL), time.sleep(60)))


def stops_itself():
    in_step_5(lambda: os.kill(os.getpid(), signal.SIGSTOP))


def terminates_its_group():
    in_step_5(lambda: os.killpg(0, signal.SIGKILL))


def ends_in_another_thread():
    def end():
        os._exit(7)

    in_step_5(lambda: (threading.Thread(target=end).start(), time.sleep(5)))


def hangs_without_signals():
    def hang():
        for number in range(1, 65):
            with contextlib.suppress(OSError, ValueError):
                signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        while True:
            time.sleep(1)

    in_step_5(hang)


def hangs_in_another_session():
    def hang():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(1000)
            os._exit(0)
        time.sleep(1000)

    in_step_5(hang)
