# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Caches that are asked for what nobody has any more, and the same where somebody has it or may empty them."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Any

import pytest
from stepleak._keys import are_keys_kept_by_rising, are_keys_measured, are_keys_rising
from watched_program import found_in, kind_found_in

PROGRAM = """
import collections, functools, torch

class ProgramSample:
    def __init__(self, number):
        self.number, self.values = number, torch.full((2,), float(number))

class ProgramEqual(ProgramSample):
    def __eq__(self, other):
        return self.number == other.number
    def __hash__(self):
        return hash(self.number)

class ProgramLazy:
    def __init__(self, compute):
        self.compute, self.encodings_kept = compute, {}
    def __get__(self, sample, owner=None):
        if sample is None:
            return self
        LOOKUP

class ProgramLazySample(ProgramSample):
    @ProgramLazy
    def doubled(self):
        return self.values * 2

class ProgramEncoder:
    def __init__(self):
        self.encodings_kept, self.context_length = {}, 1
        self.lengths_by_program = {}
    def encode_for_program(self, sample):
        LOOKUP
    @functools.cache
    def cached_by_program(self, number):
        return torch.ones(2)

data_of_program = [ProgramSample(i) for i in range(1_000)]
encoder = ProgramEncoder()

@functools.cache
def cached_in_program(item):
    return torch.ones(2)

def program_main():
    number = 0
    for i in range(10_000):
        number += 1
        encoded = ASKED
        program_tensor(encoded)
        LATER
        program_step()

program_main()
"""
BY_IN = """if sample not in self.encodings_kept:
            self.encodings_kept[sample] = torch.ones(2)
        return self.encodings_kept[sample]"""
BY_GET = """encoding = self.encodings_kept.get((sample, 7))
        if encoding is None:
            encoding = torch.ones(2)
            self.encodings_kept[sample, 7] = encoding
        return encoding"""
BY_ADDRESS = """entry = self.encodings_kept.get(id(sample))
        if entry is None:
            entry = self.encodings_kept[id(sample)] = (torch.ones(2), sample)
        return entry[0]"""
BY_SETDEFAULT = "return self.encodings_kept.setdefault(sample, torch.ones(2))"
BY_TWO = """if sample not in self.encodings_kept:
            self.encodings_kept[sample] = torch.ones(2)
        if sample not in self.lengths_by_program:
            self.lengths_by_program[sample] = 2
        return self.encodings_kept[sample]"""
ENCODE = "encoder.encode_for_program({})"


def program(asked: str, lookup: str = BY_IN, later: str = "pass") -> str:
    return PROGRAM.replace("LOOKUP", lookup).replace("ASKED", asked).replace("LATER", later)


RISING = """if encoder.context_length < 900:
            encoder.context_length += 1"""

NEVER_FOUND = {
    "object made for the call": program(ENCODE.format("ProgramSample(i)")),
    "tensor": program(ENCODE.format("torch.rand(2)")),
    "in a tuple": program(ENCODE.format("ProgramSample(i)"), BY_GET),
    "by the address of what it keeps": program(ENCODE.format("torch.rand(2)"), BY_ADDRESS),
    "in two caches": program(ENCODE.format("ProgramSample(i)"), BY_TWO),
    "setdefault": program(ENCODE.format("ProgramSample(i)"), BY_SETDEFAULT),
    "closure": program(ENCODE.format("lambda: i")),
    "count": program(ENCODE.format("number")),
    "descriptor": program("ProgramLazySample(i).doubled"),
    "functools.cache of a tensor": program("cached_in_program(torch.rand(2))"),
    "functools.cache of a method": program("ProgramEncoder().cached_by_program(7)"),
    "functools.cache of a count": program("cached_in_program(number)"),
}
LIMITED = "if sample.number is None:\n            return torch.ones(2)\n        " + BY_IN
FOUND_AGAIN = {
    "object of a data set": ("keyed", program(ENCODE.format("data_of_program[i % 1_000]"))),
    "address of one of a data set": (
        "keyed",
        program(ENCODE.format("data_of_program[i % 1_000]"), BY_ADDRESS),
    ),
    "equal by value": ("keyed", program(ENCODE.format("ProgramEqual(i % 1_000)"))),
    "number of a sample": ("keyed", program(ENCODE.format("i % 1_000"))),
    "descriptor": ("conditional", program("ProgramLazySample(i).doubled", LIMITED)),
    "object that is kept beside it": (
        "keyed",
        program(ENCODE.format("data_of_program[-1]"), later="data_of_program.append(ProgramSample(i))"),
    ),
    "dropped some day": (
        "reset",
        program(ENCODE.format("ProgramSample(i)"), later="if i % 900 == 899: encoder.encodings_kept.clear()"),
    ),
    "asked in the first epoch": (
        "conditional",
        program(
            ENCODE.format("ProgramSample(i)"),
            "if data_of_program[0].number > 5:\n            return torch.ones(2)\n        " + BY_IN,
        ),
    ),
    "functools.cache of a data set": ("keyed", program("cached_in_program(data_of_program[i % 1_000])")),
    "functools.cache that is cleared": (
        "keyed",
        program("cached_in_program(torch.rand(2))", later="if i % 900 == 899: cached_in_program.cache_clear()"),
    ),
    "functools.cache of a count that ends": (
        "keyed",
        program("cached_in_program(encoder.context_length)", later=RISING),
    ),
    "functools.cache that is asked in the first steps": (
        "keyed",
        program("cached_in_program(torch.rand(2)) if number < 900 else torch.ones(2)"),
    ),
    "functools.cache of a size": ("keyed", program("cached_in_program(i % 1_000)")),
}


@pytest.mark.parametrize("name", NEVER_FOUND)
def test_nothing_that_is_asked_for_is_there(name: str, tmp_path: Path) -> None:
    holder = found_in(NEVER_FOUND[name], tmp_path)["holders"][0]

    assert holder["structure"]["kind"] == "unbounded"
    assert (holder["kept_by"]["text"] == "@functools.cache") == name.startswith("functools.cache")


@pytest.mark.parametrize("name", FOUND_AGAIN)
def test_what_may_be_asked_for_again_is_waited_for(name: str, tmp_path: Path) -> None:
    kind, source = FOUND_AGAIN[name]
    holder = found_in(source, tmp_path)["holders"][0]

    assert holder["structure"]["kind"] == kind


LANES = """
import torch

def lane_of_program():
    state = torch.zeros(2)
    while True:
        yield state

class SwitchboardOfProgram:
    def __init__(self):
        self.lanes_kept = set()
    def dial_program(self):
        lane = lane_of_program()
        program_tensor(next(lane))
        self.lanes_kept.add(lane)
        return lane

board = SwitchboardOfProgram()

def program_main():
    active = [board.dial_program() for _ in range(3)]
    for i in range(10_000):
        LATER
        for _ in range(3):
            active.append(board.dial_program())
            HANG_UP
        program_step()

program_main()
"""


@pytest.mark.parametrize(
    ("hang_up", "later", "kind"),
    [
        ("del active[0]", "pass", "unbounded"),
        ("pass", "pass", "keyed"),
        ("board.lanes_kept.discard(active.pop(0))", "pass", "conditional"),
        ("del active[0]", "if i == 900: break", "unbounded"),
        ("del active[0]", "if float(torch.rand(2)[0]) > 2: continue", "conditional"),
    ],
)
def test_few_items_of_a_set_may_be_in_use(hang_up: str, later: str, kind: str, tmp_path: Path) -> None:
    holders = found_in(LANES.replace("HANG_UP", hang_up).replace("LATER", later), tmp_path)["holders"]

    assert holders[0]["structure"]["kind"] == kind


LOADER = """
import itertools, torch
class ProgramLoader:
    def __init__(self):
        self.batch_of_program = 0
        self.ids_of_program = itertools.count()
    def draw_for_program(self):
        self.batch_of_program += 1
        return [self.batch_of_program]

class ProgramTrainer:
    def __init__(self):
        self.loader, self.batches_kept = ProgramLoader(), {}
    def fit_program(self):
        for i in range(10_000):
            batch = self.loader.draw_for_program()
            self.batches_kept[self.loader.batch_of_program] = batch
            program_step()

batches_kept = {}
"""
EPOCHS = """
def program_main():
    for epoch in range(100):
        loader = ProgramLoader()
        for i in range(60):
            batch = loader.draw_for_program()
            KEEP
            program_step()
program_main()
"""
KEEP = "batches_kept[loader.batch_of_program] = batch"
ONE_LOADER = EPOCHS.replace("    for epoch", "    loader = ProgramLoader()\n    for epoch").replace(
    "        loader = ProgramLoader()\n        for", "        for"
)

COUNTED = {
    "by one loader": (LOADER + ONE_LOADER.replace("KEEP", KEEP), "unbounded"),
    "by a loader of each epoch": (LOADER + EPOCHS.replace("KEEP", KEEP), "keyed"),
    "by a derived loader of each epoch": (
        LOADER
        + "class ProgramShards(ProgramLoader): pass\n"
        + EPOCHS.replace("KEEP", KEEP).replace("= ProgramLoader", "= ProgramShards"),
        "keyed",
    ),
    "by the counter of one loader": (
        LOADER + ONE_LOADER.replace("KEEP", "batches_kept[next(loader.ids_of_program)] = batch"),
        "unbounded",
    ),
    "by the counter of a loader of each epoch": (
        LOADER + EPOCHS.replace("KEEP", "batches_kept[next(loader.ids_of_program)] = batch"),
        "keyed",
    ),
    "by a loader of the trainer that keeps them": (LOADER + "ProgramTrainer().fit_program()\n", "unbounded"),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_count_is_fresh_as_long_as_what_counts_is_not_made_anew(name: str, tmp_path: Path) -> None:
    source, kind = COUNTED[name]
    assert kind_found_in(source, tmp_path) == kind


CYCLES = """
import torch
class ProgramCycles:
    def __init__(self):
        self.of_cycles = {}
        self.last_cycle, self.cycle_length = None, 2
    def keep_of_cycle(self, step):
        index = step // self.cycle_length
        BEFORE
        if TEST:
            self.of_cycles[KEY] = tensor = torch.ones(2)
            program_tensor(tensor)
            self.last_cycle = index

def program_loop(cycles):
    HEAD
        cycles.keep_of_cycle(i)
        program_step()

def program_main():
    cycles = ProgramCycles()
    CALL

if __name__:
    program_main()
"""


def cycles(
    key: str = "index",
    test: str = "self.last_cycle != index",
    before: str = "pass",
    head: str = "for i in range(10_000):",
    call: str = "program_loop(cycles)",
) -> str:
    """A program whose loop tells a method its step, which keeps something by `key` where `test` holds."""
    program = CYCLES.replace("KEY", key).replace("TEST", test).replace("BEFORE", before)
    return program.replace("HEAD", head).replace("CALL", call)


OF_A_LOOP = {
    "divided": ("unbounded", cycles()),
    "divided, of a while loop": ("unbounded", cycles(head="i = 0\n    while True:\n        i += 1")),
    "divided, of enumerate": ("unbounded", cycles(head="for i, _ in enumerate(range(10_000)):")),
    "divided, asked the other way round": ("unbounded", cycles(test="index != self.last_cycle")),
    "divided, in a text": ("unbounded", cycles("f'cycle {index}'")),
    "beside a name": ("unbounded", cycles("('cycle', step)")),
    "and a setting": ("unbounded", cycles("step + self.cycle_length")),
    "and what moves": ("keyed", cycles("step + self.last_cycle", test="1", before="self.last_cycle = -step")),
    "told from what is always the same": ("unknown", cycles(before="self.last_cycle = index - step % 2")),
    "told from what other tests set": ("unknown", cycles(before="if step % 2: self.last_cycle = index")),
    "told from what is passed": ("unknown", cycles(test="self.last_cycle != index > -1")),
    "that goes round": ("keyed", cycles("(step % 900, 1)")),
    "of an inner loop": ("keyed", cycles(head="for _ in range(99):\n      for i in range(900):")),
    "of a loop that is run again": ("keyed", cycles(call="for _ in range(9): program_loop(cycles)")),
    "of a loop that is called twice": ("keyed", cycles(call="program_loop(cycles)\n    program_loop(cycles)")),
    "of a loop over what may repeat": ("keyed", cycles(head="for i in map(int, range(900)):")),
}


@pytest.mark.parametrize("name", OF_A_LOOP)
def test_the_step_of_a_loop_that_runs_once_never_comes_back(name: str, tmp_path: Path) -> None:
    kind, source = OF_A_LOOP[name]
    assert kind_found_in(source, tmp_path) == kind


ROUNDS = """
import torch
class ProgramMeters:
    def __init__(self):
        self.pending_of_program = {}
    def defer_of_program(self, number, tensor):
        BEFORE
        self.pending_of_program["loss", number] = tensor

def program_epoch(meters, step):
    for _ in range(60):
        tensor = torch.ones(2)
        program_tensor(tensor)
        meters.defer_of_program(step, tensor)
        program_step()
        step += 1
    return RETURNED

def program_main():
    meters = ProgramMeters()
    best, step = 0.0, 0
    for epoch in range(100):
        TAKEN = program_epoch(meters, PASSED)

program_main()
"""


def rounds(taken: str = "step", passed: str = "step", returned: str = "step", before: str = "pass") -> str:
    """A program whose epochs count on in a function that is passed the count and returns it."""
    program = ROUNDS.replace("TAKEN", taken).replace("PASSED", passed)
    return program.replace("RETURNED", returned).replace("BEFORE", before)


COUNTED_ON = {
    "returned": ("unbounded", rounds()),
    "returned beside another value": ("unbounded", rounds("best, step", returned="0.5, step")),
    "not taken back": ("keyed", rounds("best")),
    "taken back as another": ("keyed", rounds("step, best", returned="0.5, step")),
    "passed anew": ("keyed", rounds(passed="epoch")),
    "not returned": ("keyed", rounds(returned="60")),
    "changed where it is kept": ("keyed", rounds(before="number = number % 900")),
}


@pytest.mark.parametrize("name", COUNTED_ON)
def test_a_count_that_goes_through_a_function_and_back_never_repeats(name: str, tmp_path: Path) -> None:
    kind, source = COUNTED_ON[name]
    assert kind_found_in(source, tmp_path) == kind


NUMBERED = """
import torch
kept_of_program = {}

class ProgramStream:
    def draw_of_program(self):
        number = 0
        while True:
            yield YIELDED
            number += 1

def keep_of_program(key, tensor):
    kept_of_program[key] = tensor

def program_main():
    settings = {"renew": 10}
    active, number = {}, 0
    LOOP

program_main()
"""
KEPT = """tensor = torch.ones(2)
        program_tensor(tensor)
        keep_of_program({}, tensor)
        program_step()"""
BY_STREAM = "for task, labels in ProgramStream().draw_of_program():\n        " + KEPT
BY_STREAMS = "for _ in range(9):\n      for task, labels in ProgramStream().draw_of_program():\n        " + KEPT
BY_SEQUENCE = """for _ in range(10_000):
        while len(active) < 2:
            active[NEW] = 0
            number += 1
        for sequence in list(active):
            active[sequence] += 1
            if active[sequence] > 9:
                del active[sequence]
        """ + KEPT.format("(sequence, 1)")
BY_SHARD = """for shard in range(9):
        active[shard] = 0
    for _ in range(10_000):
        for sequence in list(active):
            tensor = torch.ones(2)
            program_tensor(tensor)
            keep_of_program((sequence, 1), tensor)
        program_step()"""
BY_ROUND = """for i in range(10_000):
        rounds = i // settings["renew"]
        LATER
        keep_of_program(("left", rounds), 1)
        """ + KEPT.format("('right', rounds)")
BY_PARAMETER = """group = {"params": [torch.ones(2, 2)], "renew": 10}
    group["params"][0].grad = torch.ones(2, 2)
    best = 0
    for i in range(10_000):
        for n, p in enumerate(group["params"]):
            if p.grad is None:
                continue
            grad = p.grad
            if grad.dim() == 2 and p.dim() == 2:
                tensor = torch.ones(2)
                program_tensor(tensor)
                keep_of_program((n, i // group["renew"]), tensor)
            best = float(grad.sum()) - 9
        program_step()"""


def numbered(loop: str, yielded: str = "number, 'labels'", new: str = "number", later: str = "pass") -> str:
    """A program that keeps something by a number that somebody else counts."""
    program = NUMBERED.replace("LOOP", loop).replace("YIELDED", yielded)
    return program.replace("NEW", new).replace("LATER", later)


COUNTED_BY_OTHERS = {
    "a generator": ("unbounded", numbered(BY_STREAM.format("(task, 'a')"))),
    "a generator, of something else": ("keyed", numbered(BY_STREAM.format("(labels, 'a')"))),
    "a generator that goes round": ("keyed", numbered(BY_STREAM.format("task"), "number % 900, 'labels'")),
    "a generator that is made anew": ("keyed", numbered(BY_STREAMS.format("task"))),
    "a generator that yields what is not known": ("keyed", numbered(BY_STREAM.format("task"), "from [(number, 1)]")),
    "a dictionary": ("unbounded", numbered(BY_SEQUENCE)),
    "a dictionary that is filled with what repeats": ("keyed", numbered(BY_SEQUENCE, new="number % 900")),
    "a dictionary that others fill": ("keyed", numbered(BY_SEQUENCE + "\n        keep_of_program(0, active)")),
    "a dictionary that was filled before": ("keyed", numbered(BY_SHARD)),
    "parts by a setting": ("unbounded", numbered(BY_ROUND)),
    "parts, of parameters with a gradient": ("unbounded", numbered(BY_PARAMETER)),
    "parts, of what has come far enough": ("unknown", numbered(BY_PARAMETER.replace("p.dim() == 2", "best < 1"))),
    "parts by what changes": ("keyed", numbered(BY_ROUND, later="settings['renew'] = i + 1")),
    "parts by what others count": ("keyed", numbered(BY_ROUND, later="keep_of_program(i % 900, 1)")),
}


@pytest.mark.parametrize("name", COUNTED_BY_OTHERS)
def test_a_number_that_others_count_never_repeats(name: str, tmp_path: Path) -> None:
    kind, source = COUNTED_BY_OTHERS[name]
    assert kind_found_in(source, tmp_path) == kind


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (range(40), True),
        ([0.5 * n for n in range(40)], True),
        ([f"request-{n}" for n in range(90, 130)], True),
        ([7 * n % 41 for n in range(40)], False),
        ([*range(39), 3.5], False),
        ([f"{'ab'[n % 2]}-{n}" for n in range(40)], False),
        ([(n, n) for n in range(40)], False),
        (range(15), False),
        ([*range(100, 0, -1), *range(200, 456)], True),
        (["weight", "bias", "scale", *(f"loc_{n}" for n in range(40))], True),
        ([*(f"loc_{n}" for n in range(40)), "weight", "bias", "scale"], False),
    ],
)
def test_keys_that_only_rise_never_come_again(keys: Any, expected: bool) -> None:
    assert are_keys_rising(dict.fromkeys(keys)) == expected
    assert not are_keys_rising(set(keys))


class ProgramParameter:
    """Known by nothing but itself, as a parameter is."""


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([math.sqrt(i) for i in range(2, 900) if math.isqrt(i) ** 2 != i], True),
        ([ctypes.c_float(i / 7).value * -1e-9 for i in range(1, 900) if i % 7], True),
        ([round(math.sqrt(i), 3) for i in range(900)], False),
        ([i / 8 for i in range(900)], False),
        ([math.sqrt(i) for i in (2, 3, 5)], False),
        ([*(math.sqrt(2) * i for i in range(1, 900)), 0.5], False),
        ([float("inf"), float("nan")] * 40, False),
        ([str(math.sqrt(i)) for i in range(2, 900)], False),
    ],
)
def test_keys_with_all_digits_are_measured(keys: list[Any], expected: bool) -> None:
    assert are_keys_measured(dict.fromkeys(keys)) == expected
    assert not are_keys_measured(set(keys))


def test_states_of_what_is_registered_under_rising_names_have_new_keys_only() -> None:
    parameters = [ProgramParameter() for _ in range(40)]
    states = {parameter: [0.0] for parameter in parameters}
    rising = {f"loc_{i}": parameter for i, parameter in enumerate(parameters)}
    assert are_keys_kept_by_rising(states, [states, rising])
    assert are_keys_kept_by_rising(dict(list(states.items())[20:]), [rising])


def test_states_of_what_is_registered_under_other_names_have_not() -> None:
    parameters = [ProgramParameter() for _ in range(40)]
    states = {parameter: [0.0] for parameter in parameters}
    by_word = {f"{hash(str(i))} rows": parameter for i, parameter in enumerate(parameters)}
    some = {f"loc_{i}": parameter for i, parameter in enumerate(parameters[:39])}
    assert not are_keys_kept_by_rising(states, [states, by_word, some])
    assert not are_keys_kept_by_rising(dict.fromkeys(range(40)), [dict(enumerate(range(40)))])
    assert not are_keys_kept_by_rising({}, [states])
