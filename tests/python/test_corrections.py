# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Statements of a running program as a report would have them.

It names each attribute that it asks for: what a test gets by another name may be what the tests beside it judge.
"""

from __future__ import annotations

import builtins
import gc
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from stepleak._corrections import Corrected, Correction, NotCorrected

PROGRAM = """\
import functools


class Loss:
    grad_fn = "MeanBackward0"

    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value

    def detach(self):
        return Plain(self.value)

    def __add__(self, other):
        return Loss(self.value + getattr(other, "value", other))


class Plain(Loss):
    grad_fn = None


class Trainer:
    def __init__(self):
        self.losses = []
        self.total = Loss(5)
        self.mean = Loss(7)
        self.by_name = {}

    def step(self):
        loss = Loss(1)
        self.losses.append(loss)

    def sums(self):
        loss = Loss(1)
        self.total += loss

    def averages(self):
        loss = Loss(1)
        self.mean = self.mean + loss

    def both(self):
        loss, out = Loss(1), Loss(2)
        self.losses.append({"loss": loss, "out": out})

    def in_one_line(self):
        loss = Loss(1)
        self.losses.append(loss); self.by_name["last"] = loss

    def within(self):
        def keep(loss):
            self.losses.append(loss)

        keep(Loss(1))

    @functools.lru_cache
    def decorated(self):
        self.losses.append(Loss(1))

    def generated(self):
        while True:
            loss = Loss(1)
            self.losses.append(loss)
            yield
"""


@pytest.fixture(name="program")
def fixture_program(tmp_path: Path) -> Any:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("program", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["program"]


def correction(module: ModuleType, text: str, expression: str, suffix: str = ".item()", after: str = "") -> Correction:
    lines = PROGRAM.splitlines()
    first = next(i for i, line in enumerate(lines) if after in line)
    line = next(i for i in range(first, len(lines)) if lines[i].strip().replace('"', "'") == text)
    assert module.__file__ is not None
    return Correction(module.__file__, line + 1, text, expression, suffix)


def test_the_statement_keeps_a_number_until_it_is_put_back(program: Any) -> None:
    trainer = program.Trainer()
    bound_before = trainer.step
    corrected = Corrected([correction(program, "self.losses.append(loss)", "loss")])
    assert corrected.statements == ["self.losses.append(loss.item())"]
    assert not corrected.are_all_taken()
    bound_before()
    assert corrected.are_all_taken()
    corrected.undo()
    trainer.step()
    assert trainer.losses[0] == 1
    assert isinstance(trainer.losses[1], program.Loss)
    assert not [name for name in dir(builtins) if "stepleak" in name]
    corrected.undo()


def test_functions_that_were_set_apart_are_found(program: Any) -> None:
    trainer = program.Trainer()
    gc.freeze()
    corrected = Corrected([correction(program, "self.losses.append(loss)", "loss")])
    trainer.step()
    corrected.undo()
    assert trainer.losses == [1]


def test_a_total_goes_on_from_its_value(program: Any) -> None:
    trainer = program.Trainer()
    text = "self.total += loss"
    corrected = Corrected([correction(program, text, "loss", ".detach()")])
    trainer.sums()
    trainer.sums()
    corrected.undo()
    assert corrected.statements == [text.replace("loss", "loss.detach()")]
    assert trainer.total.value == 5 + 2


def test_what_is_assigned_to_itself_goes_on_from_its_value(program: Any) -> None:
    trainer = program.Trainer()
    text = "self.mean = self.mean + loss"
    corrected = Corrected([correction(program, text, "loss", ".detach()")])
    trainer.averages()
    trainer.averages()
    corrected.undo()
    assert corrected.statements == [text.replace("loss", "loss.detach()")]
    assert trainer.mean.value == 7 + 2


def test_two_of_one_statement_are_corrected_together(program: Any) -> None:
    trainer = program.Trainer()
    text = "self.losses.append({'loss': loss, 'out': out})"
    corrected = Corrected([correction(program, text, "loss"), correction(program, text, "out", ".detach()")])
    trainer.both()
    assert corrected.are_all_taken()
    corrected.undo()
    assert corrected.statements == ["self.losses.append({'loss': loss.item(), 'out': out.detach()})"]
    (kept,) = trainer.losses
    assert kept["loss"] == 1
    assert type(kept["out"]) is program.Plain


def test_two_statements_of_one_line_are_both_told(program: Any) -> None:
    trainer = program.Trainer()
    line = next(i for i, text in enumerate(PROGRAM.splitlines(), 1) if "; self.by_name" in text)
    appended = Correction(program.__file__, line, "self.losses.append(loss)", "loss", ".item()")
    named = Correction(program.__file__, line, "self.by_name['last'] = loss", "loss", ".detach()")
    corrected = Corrected([named, appended])
    trainer.in_one_line()
    corrected.undo()
    assert corrected.statements == ["self.losses.append(loss.item())", "self.by_name['last'] = loss.detach()"]
    assert trainer.losses == [1]
    assert type(trainer.by_name["last"]) is program.Plain


def test_a_function_made_in_each_step_is_corrected(program: Any) -> None:
    trainer = program.Trainer()
    corrected = Corrected([correction(program, "self.losses.append(loss)", "loss", after="def keep")])
    trainer.within()
    corrected.undo()
    trainer.within()
    assert trainer.losses[0] == 1
    assert isinstance(trainer.losses[1], program.Loss)


def test_what_is_behind_a_decorator_is_corrected(program: Any) -> None:
    trainer = program.Trainer()
    corrected = Corrected([correction(program, "self.losses.append(Loss(1))", "Loss(1)")])
    trainer.decorated()
    corrected.undo()
    assert trainer.losses == [1]


def test_a_frame_that_runs_goes_on_with_its_own_code(program: Any) -> None:
    trainer = program.Trainer()
    steps = trainer.generated()
    next(steps)
    corrected = Corrected([correction(program, "self.losses.append(loss)", "loss", after="def generated")])
    next(steps)
    assert not corrected.are_all_taken()
    corrected.undo()
    assert all(isinstance(loss, program.Loss) for loss in trainer.losses)


def test_what_the_sources_do_not_have_changes_nothing(program: Any) -> None:
    there = correction(program, "self.losses.append(loss)", "loss")
    step = program.Trainer.step.__code__
    for wrong in (
        there._replace(text="self.history.append(loss)"),
        there._replace(line=there.line + 1),
        there._replace(expression="lost"),
        there._replace(file="/nowhere/program.py"),
    ):
        with pytest.raises(NotCorrected):
            Corrected([there, wrong])
    assert program.Trainer.step.__code__ is step
    assert not [name for name in dir(builtins) if "stepleak" in name]


def test_what_only_a_module_runs_is_in_no_function(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("losses = []\nloss = 1\nlosses.append(loss)\n", encoding="utf-8")
    with pytest.raises(NotCorrected, match="no function"):
        Corrected([Correction(str(file), 3, "losses.append(loss)", "loss", ".item()")])
