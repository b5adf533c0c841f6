# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Steps that print and raise what no output format expects. Each is a cause of its own."""

import os
import sys
import warnings

from stepping import in_step_5, nth_step


def says(data):
    os.write(1, data)
    raise ValueError("after the words")


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
    in_step_5(lambda: says(b"\nwords.py:prints_our_own_report is clean on cpu\n"))


def prints_megabytes():
    in_step_5(lambda: says(b"x" * (64 << 20)))


def prints_in_every_step():
    nth_step()
    os.write(1, b"noise " * 100000)


def prints_to_stderr_unbuffered():
    in_step_5(lambda: (sys.stderr.write("\x1b[1m last"), says(b""))[0])


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
