# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that fork, and that reach for the process above them."""

import ctypes
import os
import signal
import time

from stepping import in_step_5, nth_step, steps

libc = ctypes.CDLL(None)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def forks_and_both_return():
    if nth_step() == 5:
        os.fork()


def child_goes_on_alone():
    if nth_step() == 5 and os.fork() != 0:
        os._exit(0)


def child_outlives_its_killed_parent():
    if nth_step() == 5 and os.fork() != 0:
        os.kill(os.getpid(), signal.SIGKILL)


def stops_its_keeper_and_goes_on():
    in_step_5(lambda: os.kill(os.getppid(), signal.SIGSTOP))


def stops_its_keeper_and_hangs():
    in_step_5(lambda: (os.kill(os.getppid(), signal.SIGSTOP), time.sleep(1000)))


def ends_its_keeper_politely():
    in_step_5(lambda: (os.kill(os.getppid(), signal.SIGTERM), time.sleep(1000)))


def asks_for_no_death_signal():
    nth_step()
    libc.prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)


def reaps_for_itself():
    nth_step()
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def leaves_its_group():
    if nth_step() == 1:
        os.setpgid(0, os.getpgid(os.getppid()))


def collects_all_children():
    nth_step()
    while True:
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return


def forks_while_a_child_waits():
    if steps() == 0 and os.fork() == 0:
        time.sleep(1000)
    nth_step()
