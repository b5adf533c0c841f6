# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What a call puts in and takes out again, unless something is raised in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from watched_program import kind_found_in

SERVER = """
import asyncio, itertools, torch

class ProgramDesk:
    def __init__(self):
        self.waiting_of_desk = {}
        self.ids_of_desk = itertools.count()
    async def ask_desk(self, patience):
        number = NUMBER
        tensor = torch.ones(2)
        program_tensor(tensor)
        TAKE
    OTHERS

async def program_client(desk, i):
    try:
        await desk.ask_desk(PATIENCE)
    except TimeoutError:
        LATE

async def program_main():
    desk = ProgramDesk()
    pending = []
    for i in range(10_000):
        WAVE
        program_step()

asyncio.run(program_main())
"""
PLAIN = """self.waiting_of_desk[number] = tensor
        await asyncio.sleep(0)
        if patience == 0:
            raise TimeoutError
        del self.waiting_of_desk[number]"""
FINALLY = """self.waiting_of_desk[number] = tensor
        try:
            await asyncio.sleep(0)
        finally:
            del self.waiting_of_desk[number]"""
CHANGED = """self.waiting_of_desk[number] = tensor
        await asyncio.sleep(0)
        number = number - 3
        self.waiting_of_desk.pop(number, None)"""
LONG = PLAIN.replace("asyncio.sleep(0)", "asyncio.sleep(1_000)")
DROP = """def drop_from_desk(self, number):
        self.waiting_of_desk.pop(number, None)"""
IN_TURN = "await program_client(desk, i)"
ALL_AT_ONCE = "pending.append(asyncio.ensure_future(program_client(desk, i))); await asyncio.sleep(0)"


def server(
    take: str = PLAIN,
    number: str = "next(self.ids_of_desk)",
    patience: str = "i % 2",
    late: str = "pass",
    wave: str = IN_TURN,
    others: str = "pass",
) -> str:
    program = SERVER.replace("TAKE", take).replace("NUMBER", number).replace("PATIENCE", patience)
    return program.replace("LATE", late).replace("WAVE", wave).replace("OTHERS", others)


CALLS = {
    "that raised": ("unbounded", server()),
    "whose number comes again": ("conditional", server(number="next(self.ids_of_desk) % 900")),
    "that others clear up after": ("conditional", server(late="desk.drop_from_desk(i - 1)", others=DROP)),
    "that clears up in a finally": ("conditional", server(FINALLY, wave=ALL_AT_ONCE)),
    "that takes out what another put in": ("conditional", server(CHANGED)),
    "that has not ended": ("conditional", server(LONG, wave=ALL_AT_ONCE)),
}


@pytest.mark.parametrize("name", CALLS)
def test_nobody_takes_out_what_a_call_left_behind(name: str, tmp_path: Path) -> None:
    kind, source = CALLS[name]
    assert kind_found_in(source, tmp_path) == kind
