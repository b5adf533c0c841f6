# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that give away what a process may do, and go on; or that the kernel ends for it."""

import ctypes
import mmap
import os
import resource
import signal
import tempfile

from stepping import in_step_5, nth_step

libc = ctypes.CDLL(None)
PR_SET_SECCOMP, SECCOMP_MODE_STRICT = 22, 1


def limit(what, to):
    nth_step()
    resource.setrlimit(what, (to, to))


def may_open_no_file():
    limit(resource.RLIMIT_NOFILE, 0)


def may_write_no_file():
    limit(resource.RLIMIT_FSIZE, 0)


def may_start_no_process():
    limit(resource.RLIMIT_NPROC, 0)


def may_lock_no_memory():
    limit(resource.RLIMIT_MEMLOCK, 0)


def may_take_no_more_addresses():
    limit(resource.RLIMIT_AS, 1 << 34)


def becomes_nobody():
    if nth_step() == 1:
        os.setuid(65534)


def moves_to_one_core():
    nth_step()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def is_the_least_important():
    nth_step()
    os.nice(1)


def masks_all_of_its_files():
    nth_step()
    os.umask(0o777)


def may_call_nothing():
    in_step_5(lambda: libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))


def reads_behind_its_file():
    def read():
        with tempfile.TemporaryFile() as file:
            file.truncate(4096)
            with mmap.mmap(file.fileno(), 4096) as mapped:
                file.truncate(0)
                return mapped[0]

    in_step_5(read)


def faults_where_nobody_prints_it():
    import faulthandler

    faulthandler.disable()
    in_step_5(lambda: ctypes.string_at(0))


def faults_where_it_ignores_that():
    signal.signal(signal.SIGSEGV, signal.SIG_IGN)
    in_step_5(lambda: ctypes.string_at(0))


def exits_by_the_kernel():
    in_step_5(lambda: libc.syscall(231, 0))


def ends_its_thread_alone():
    in_step_5(lambda: libc.syscall(60, 0))


def ends_its_thread_by_the_library():
    in_step_5(lambda: libc.pthread_exit(None))


def exits_by_the_library():
    in_step_5(lambda: libc.exit(0))


def exits_quickly():
    in_step_5(lambda: libc.quick_exit(0))


def terminates_as_c_plus_plus_does():
    in_step_5(lambda: ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev())
