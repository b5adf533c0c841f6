# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that leave something behind."""

import atexit
import multiprocessing
import multiprocessing.shared_memory
import os
import signal
import tempfile
import time

from stepping import nth_step, steps

kept = []


def leaves_temporary_folders():
    if nth_step() == 1:
        kept.append(tempfile.TemporaryDirectory())


def leaves_a_manager():
    if steps() == 0:
        kept.append(multiprocessing.Manager())
    nth_step()


def leaves_shared_memory():
    if nth_step() == 1:
        kept.append(multiprocessing.shared_memory.SharedMemory(create=True, size=4096))
        with open("shared_name.txt", "w") as file:
            file.write(kept[-1].name)


def leaves_what_python_would_remove():
    kept.append(tempfile.TemporaryDirectory())
    kept.append(multiprocessing.Manager())
    kept.append(multiprocessing.shared_memory.SharedMemory(create=True, size=4096))
    with open(f"shared_name_{os.getpid()}.txt", "w") as file:
        file.write(kept[-1].name)


def killed_beside_what_it_would_remove():
    if nth_step() == 5:
        leaves_what_python_would_remove()
        tempfile.mkdtemp(prefix="mine_", dir=".")
        os.kill(os.getpid(), signal.SIGKILL)


def hangs_beside_what_it_would_remove():
    if nth_step() == 5:
        leaves_what_python_would_remove()
        time.sleep(1000)


def killed_child_of_its_own_folder():
    if nth_step() == 1 and os.fork() == 0:
        kept.append(tempfile.TemporaryDirectory())
        time.sleep(1000)


def leaves_a_daemon():
    if nth_step() == 1 and os.fork() == 0:
        os.setsid()
        time.sleep(1000)


def hangs_at_exit():
    if nth_step() == 1:
        atexit.register(time.sleep, 1000)


def dies_at_exit():
    if nth_step() == 1:
        atexit.register(os.abort)


def prints_at_exit():
    if nth_step() == 1:
        atexit.register(print, "\x1b[2J bye")
