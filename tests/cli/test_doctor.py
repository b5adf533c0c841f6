# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What the harness itself keeps: `stepleak doctor --self-growth`."""

from __future__ import annotations

from conftest import CommandLine


def growth_by_step(out: str) -> dict[str, list[str]]:
    """The lines of ledgers below each step's headline."""
    blocks: dict[str, list[str]] = {}
    for line in out.splitlines():
        if line.startswith("  "):
            blocks[list(blocks)[-1]].append(line)
        else:
            blocks[line.partition(":")[0]] = []
    return blocks


def test_doctor_shows_that_the_harness_keeps_nothing(stepleak: CommandLine) -> None:
    outcome = stepleak("doctor", "--self-growth", "64")
    assert outcome.code == 0, outcome.text
    blocks = growth_by_step(outcome.out)
    assert list(blocks) == [
        "nothing",
        "ever new addresses",
        "ever new shapes",
        "ever new stacks",
        "ever new graphs",
    ]
    for step, lines in blocks.items():
        for ledger in ("live_bytes@cpu", "live_blocks@cpu", "live_nodes@cpu", "live_tensors@cpu", "python_objects@cpu"):
            assert any(line.split()[:2] == [ledger, "+0"] for line in lines), (step, ledger, lines)


def test_doctor_fails_where_an_exact_ledger_rises(stepleak: CommandLine) -> None:
    # Stands in for stepleak's own steps: one that keeps an object a step, which the harness might as well do.
    stepleak.write(
        "sitecustomize.py",
        """
        import sys, types

        kept = []
        stand_in = types.ModuleType("stepleak._self_growth")
        stand_in.STEPS = {"keeps": lambda device: lambda: kept.append([])}
        sys.modules["stepleak._self_growth"] = stand_in
        """,
    )
    outcome = stepleak("doctor", "--self-growth", "64", switches={"PYTHONPATH": str(stepleak.folder)})
    assert outcome.code == 1, outcome.text
    assert any(
        line.split()[0] == "python_objects@cpu" and line.split()[1] != "+0"
        for line in growth_by_step(outcome.out)["keeps"]
    )
