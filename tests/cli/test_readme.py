# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""README's examples in Python, as they stand there: what they call a leak is one, and clean where it is fixed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from conftest import CommandLine, Outcome

README = Path(__file__).parents[2] / "README.md"
LEAK = "history.append(loss)"
FIXED = "history.append(loss.item())"

# The module that the example's test is of, which README leaves to the reader.
TRAINER = f"""
    import torch
    from torch import nn

    class Trainer:
        def __init__(self):
            self.model = nn.Linear(64, 1)
            self.optimizer = torch.optim.AdamW(self.model.parameters())
            self.history = []

        def step(self):
            loss = nn.functional.mse_loss(self.model(torch.randn(32, 64)), torch.randn(32, 1))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.{LEAK}

        def evaluate(self):
            with torch.no_grad():
                self.model(torch.randn(32, 64))
"""


def example(marker: str) -> str:
    """README's one block of Python that has the marker."""
    found = [block for block in re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.S) if marker in block]
    assert len(found) == 1, f"{len(found)} blocks of Python in README have {marker!r}"
    return str(found[0])


def in_python(folder: Path, *arguments: str) -> Outcome:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_the_test_fails_with_the_report_and_passes_once_it_is_mended(stepleak: CommandLine) -> None:
    stepleak.write("test_trainer.py", example("assert_no_leak"))
    stepleak.write("trainer.py", TRAINER)
    leaking = in_python(stepleak.folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "1 failed, 1 passed" in leaking.out, leaking.text
    assert "graph_retention" in leaking.out
    assert re.search(r"kept by trainer\.py:\d+ +self\.history\.append\(loss\)", leaking.out), leaking.text
    stepleak.write("trainer.py", TRAINER.replace(LEAK, FIXED))
    fixed = in_python(stepleak.folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert "2 passed" in fixed.out, fixed.text


def test_the_command_names_the_line_that_keeps_the_loss(stepleak: CommandLine) -> None:
    step = "\n    trainer = Trainer()\n    def step(): trainer.step()\n    def evaluate(): trainer.evaluate()\n"
    stepleak.write("train.py", TRAINER + step)
    outcome = stepleak("run", "train.py:step", "train.py:evaluate", "--device", "cpu")
    assert outcome.code == 1, outcome.text
    assert re.search(r"kept by train\.py:\d+ +self\.history\.append\(loss\)", outcome.block_of("train.py:step"))
    assert "train.py:evaluate is clean on cpu" in outcome.out


def test_the_file_has_the_lines_of_the_report(stepleak: CommandLine) -> None:
    stepleak.write("train.py", example("step = Trainer().train"))
    report = stepleak("run", "train.py:step", "--device", "cpu").block_of("train.py:step")
    shown = README.read_text("utf-8")
    for line in re.findall(r"train\.py:\d+", report):
        assert line in shown, report
    assert re.search(r"where +train\.py:13 ", report), report
    assert re.search(r"kept by train\.py:17 +self\.history\.append\(loss\)", report), report


def test_the_loop_is_a_leak_and_clean_once_it_is_mended(stepleak: CommandLine) -> None:
    loop = example("stepleak.watch(")
    stepleak.write("loop.py", loop)
    leaking = in_python(stepleak.folder, "loop.py")
    assert "train.py leaks" in leaking.out and "graph_retention" in leaking.out, leaking.text
    assert loop.count(LEAK) == 1
    stepleak.write("loop.py", loop.replace(LEAK, FIXED))
    fixed = in_python(stepleak.folder, "loop.py")
    assert "train.py is clean" in fixed.out, fixed.text
