# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Gates in a loop while others take memory and CPU: no verdict flips, nothing grows, nothing is left.

    python3 soak.py MINUTES STEPLEAK...

Prints a line a gate and the totals. Exit status 1 where a verdict flipped, a gate failed, or something was left.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sandbox import Sandbox

SUITE = "loss_*"
PRESSURE = """
import os, time
while os.getppid() == {parent}:
    block = bytearray({megabytes} << 20)
    for at in range(0, len(block), 4096):
        block[at] = 1
    time.sleep(0.2)
    del block
"""


@dataclass(frozen=True)
class Gate:
    """One of them, and what it took."""

    code: int
    verdicts: dict[str, str]
    peak_kib: int
    seconds: float


def one_gate(sandbox: Sandbox, command: list[str]) -> Gate:
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+b") as out:
        gate = subprocess.Popen(
            [*command, "gate", "--suite", SUITE, "--device", "cpu"],
            cwd=sandbox.folder,
            env=sandbox.environment({}),
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(gate.pid, 0)
        gate.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        lines = [line.split() for line in out.read().decode("utf-8", "replace").splitlines()]
    verdicts = {line[0]: line[1] for line in lines if len(line) == 6 and line[3] == "steps"}
    return Gate(gate.returncode, verdicts, usage.ru_maxrss, time.monotonic() - begin)


def main() -> int:
    minutes, command = float(sys.argv[1]), sys.argv[2:]
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines())
    free = int(memory["MemAvailable"].split()[0])
    # A quarter of what is free, so that the kernel ends nobody, on as many processes as there are cores.
    script = PRESSURE.format(parent=os.getpid(), megabytes=free // 1024 // 4 // (os.cpu_count() or 1))
    others = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(os.cpu_count() or 1)]
    gates: list[Gate] = []
    trouble: list[str] = []
    deadline = time.monotonic() + 60 * minutes
    try:
        while not gates or time.monotonic() < deadline:
            with tempfile.TemporaryDirectory() as folder:
                sandbox = Sandbox(Path(folder))
                sandbox.remember()
                gate = one_gate(sandbox, command)
                gates.append(gate)
                try:
                    sandbox.check_nothing_left([])
                except AssertionError as left:
                    trouble.append(f"gate {len(gates)}: {left}")
            if gate.code != 0 or gate.verdicts != gates[0].verdicts:
                trouble.append(f"gate {len(gates)}: exit code {gate.code}, {gate.verdicts}")
            told = f"{len(gate.verdicts)} verdicts  peak {gate.peak_kib >> 10} MiB  {gate.seconds:.1f} s"
            print(f"gate {len(gates)}: exit code {gate.code}  {told}", flush=True)
    finally:
        for other in others:
            other.kill()
            other.wait()
    third = max(len(gates) // 3, 1)
    peaks = [gate.peak_kib / 1024 for gate in gates]
    first, last = statistics.median(peaks[:third]), statistics.median(peaks[-third:])
    print(f"{len(gates)} gates, {sum(len(gate.verdicts) for gate in gates)} verdicts, {len(trouble)} troubles")
    print(f"peak of a gate's largest process: {first:.0f} MiB in the first third, {last:.0f} MiB in the last")
    print("\n".join(trouble))
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
