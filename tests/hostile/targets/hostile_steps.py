# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that print, name, raise and hold what no output format expects. Each is a cause of its own."""

import atexit
import contextlib
import ctypes
import gc
import multiprocessing.shared_memory
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import warnings

import torch

count = 0
kept = []


def nth_step():
    global count
    count += 1
    torch.zeros(4)
    return count


def in_step_5(action):
    if nth_step() == 5:
        action()


def says(data):
    os.write(1, data)
    raise ValueError("after the words")


# --- what is printed ---


def prints_escapes():
    in_step_5(lambda: says(b"\x1b[2J\x1b]0;title\x07\x9b31m"))


def prints_c1_as_utf8():
    in_step_5(lambda: says("\x9b31m\x85\x90".encode()))


def prints_broken_utf8():
    in_step_5(lambda: says(b"\xff\xfe cut: \xe2\x82"))


def prints_surrogates():
    in_step_5(lambda: says(b"\xed\xa0\x80\xed\xbf\xbf"))


def prints_overlong_utf8():
    in_step_5(lambda: says(b"\xc0\x9b\xe0\x80\x9b[2J"))


def prints_noncharacters():
    in_step_5(lambda: says("\ufffe\uffff\U0001ffff".encode()))


def prints_nul():
    in_step_5(lambda: says(b"a\0b\0"))


def prints_xml():
    in_step_5(lambda: says(b"]]></failure><!-- &bogus; <?x ?>"))


def prints_our_own_report():
    in_step_5(lambda: says(b"\nhostile_steps.py:prints_our_own_report is clean on cpu\n"))


def prints_megabytes():
    in_step_5(lambda: says(b"x" * (64 << 20)))


def prints_in_every_step():
    nth_step()
    os.write(1, b"noise " * 100000)


def prints_to_stderr_unbuffered():
    in_step_5(lambda: (sys.stderr.write("\x1b[1m last"), says(b""))[0])


# --- what is raised ---


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class Surrogate(Exception):
    def __str__(self):
        return "\udcff\ud800 alone"


class ExitsWhenPrinted(Exception):
    def __str__(self):
        os._exit(0)


def throws(error):
    raise error


def raises_unprintable():
    in_step_5(lambda: throws(Unprintable()))


def raises_surrogates():
    in_step_5(lambda: throws(Surrogate()))


def raises_escapes():
    in_step_5(lambda: throws(ValueError("\x1b[2J\x9b31m\x07")))


def raises_megabytes():
    in_step_5(lambda: throws(ValueError("x" * (20 << 20))))


def raises_many_lines():
    in_step_5(lambda: throws(ValueError("line\n" * 100000)))


def raises_deep():
    def down(n):
        return down(n + 1)

    in_step_5(lambda: down(0))


def raises_a_chain():
    error = None
    for number in range(200):
        try:
            raise ValueError(number) from error
        except ValueError as caught:
            error = caught
    in_step_5(lambda: throws(error))


def raises_a_group():
    in_step_5(lambda: throws(ExceptionGroup("many", [ValueError(n) for n in range(50)])))


def raises_an_empty_message():
    in_step_5(lambda: throws(ValueError()))


def raises_base_exception():
    in_step_5(lambda: throws(BaseException("base")))


def raises_keyboard_interrupt():
    in_step_5(lambda: throws(KeyboardInterrupt()))


def raises_generator_exit():
    in_step_5(lambda: throws(GeneratorExit()))


def raises_stop_iteration():
    in_step_5(lambda: throws(StopIteration()))


def raises_memory_error():
    in_step_5(lambda: throws(MemoryError()))


def raises_system_exit_of_a_text():
    in_step_5(lambda: throws(SystemExit("\x1b[2J no")))


def raises_system_exit_of_an_object():
    in_step_5(lambda: throws(SystemExit(object())))


def exits_when_printed():
    in_step_5(lambda: throws(ExitsWhenPrinted()))


def warning_is_an_error():
    warnings.simplefilter("error")
    in_step_5(lambda: warnings.warn("now an error", stacklevel=1))


# --- how it ends ---


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


# --- what it does to what we use ---


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
    nth_step()
    if count == 1:
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
    import builtins

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


# --- what it leaves ---


def leaves_temporary_folders():
    nth_step()
    if count == 1:
        kept.append(tempfile.TemporaryDirectory())


def leaves_a_manager():
    if count == 0:
        kept.append(multiprocessing.Manager())
    nth_step()


def leaves_shared_memory():
    if nth_step() == 1:
        kept.append(multiprocessing.shared_memory.SharedMemory(create=True, size=4096))
        with open("shared_name.txt", "w") as file:
            file.write(kept[-1].name)


def leaves_a_daemon():
    if nth_step() == 1 and os.fork() == 0:
        os.setsid()
        time.sleep(1000)


def hangs_at_exit():
    nth_step()
    if count == 1:
        atexit.register(time.sleep, 1000)


def dies_at_exit():
    nth_step()
    if count == 1:
        atexit.register(os.abort)


def prints_at_exit():
    nth_step()
    if count == 1:
        atexit.register(print, "\x1b[2J bye")


# --- what it holds ---


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
    dict.__setitem__(keys, count, torch.ones(100))


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
    globals().setdefault("store", {})[b"\xff\x1b" + str(count).encode()] = torch.ones(100)


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
    globals().setdefault("resized", torch.zeros(10)).resize_(100 * count)


def leaks_a_thread_each():
    nth_step()
    threading.Thread(target=threading.Event().wait, args=(1000,), daemon=True).start()


async def is_a_coroutine():
    nth_step()


def returns_a_tensor():
    nth_step()
    return torch.ones(100)


def returns_a_generator():
    nth_step()
    return (torch.ones(1) for _ in range(3))


async def is_an_async_generator():
    yield nth_step()


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
partial = __import__("functools").partial(nth_step)
a_class = Callable
number = 3
