# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Where the graph of what a statement assigns may be cut, and where a gradient of the step would be lost."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
import torch
from stepleak._cuts import ANY, NOWHERE, Cut, cut_of
from stepleak._entry_parts import parts_with_graph
from stepleak._user_code import UserCode

AS_TENSOR = Cut(is_used_as_tensor=True)


def cut(program: str, text: str, folder: Path) -> Cut:
    file = folder / "program_of_cuts.py"
    file.write_text(textwrap.dedent(program), encoding="utf-8")
    code = UserCode([], [str(file)], modules={})
    module = code.file(str(file))
    assert module is not None
    statement = next(n for n in module.nodes if isinstance(n, ast.stmt) and ast.unparse(n) == text)
    assert isinstance(statement, (ast.Assign, ast.AugAssign))
    return cut_of(code, module, statement, ast.unparse(statement.value))


STEP = """
    h = INITIAL
    def step(x):
        global h
        h = cell(x, h)
        LATER
    def other(x):
        ELSEWHERE
    def log_mean(value):
        print(value.mean())
    def learn(value):
        value.backward()
"""
LEARNS = "loss = head(h).mean(); loss.backward(retain_graph=True)"


@pytest.mark.parametrize(
    ("later", "elsewhere", "expected"),
    [
        (LEARNS, "pass", Cut(("h",))),
        ("with torch.no_grad(): loss = head(h).mean()", "pass", AS_TENSOR),
        ("loss = head(h.detach()).mean(); loss.backward()", "pass", AS_TENSOR),
        ("h.sum().backward()", "pass", Cut(("h",))),
        ("x.sum().backward()", "pass", ANY),
        ("print(h); x.sum().backward()", "print(f'{h / 2:.3f}')", ANY),
        ("print(h.mean().item())", "pass", AS_TENSOR),
        ("log_mean(h)", "pass", AS_TENSOR),
        ("learn(h)", "pass", NOWHERE),
        ("unknown(h)", "pass", NOWHERE),
        ("logger.info('%s', h)", "h = 0", ANY),
        ("x.sum().backward()", "head(h).backward()", Cut(("h",))),
        ("if x: head(h).backward()", "pass", NOWHERE),
        ("for y in x: head(h, y).backward()", "pass", NOWHERE),
        ("kept.append(h)", "pass", NOWHERE),
        ("return h", "step(x)", ANY),
        ("return h", "step(x).sum().backward()", NOWHERE),
        ("return head(h)", "pass", NOWHERE),
    ],
)
def test_a_state_that_comes_in(later: str, elsewhere: str, expected: Cut, tmp_path: Path) -> None:
    program = STEP.replace("LATER", later).replace("ELSEWHERE", elsewhere).replace("INITIAL", "torch.zeros(8)")
    assert cut(program, "h = cell(x, h)", tmp_path) == expected


@pytest.mark.parametrize(("initial", "expected"), [("torch.zeros(8)", Cut(("h",))), ("0", NOWHERE), ("None", NOWHERE)])
def test_only_a_tensor_can_be_detached_as_it_comes_in(initial: str, expected: Cut, tmp_path: Path) -> None:
    program = STEP.replace("LATER", LEARNS).replace("ELSEWHERE", "pass").replace("INITIAL", initial)
    assert cut(program, "h = cell(x, h)", tmp_path) == expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("h = cell(h, torch.rand(8))", Cut(("h",))),
        ("h = 0.9 * h + 0.1 * x.h()", Cut(("h",))),
        ("h = cell(h, h)", NOWHERE),
        ("h = cell(x, h) if h is not None else cell(x)", NOWHERE),
        ("h = [cell(x, h) for x in x][-1]", NOWHERE),
        ("h = cell(x)", NOWHERE),
        ("h += cell(x)", NOWHERE),
    ],
)
def test_what_comes_in_is_detached_where_it_is_read_once(made: str, expected: Cut, tmp_path: Path) -> None:
    program = STEP.replace("LATER", LEARNS).replace("ELSEWHERE", "pass").replace("INITIAL", "torch.zeros(8)")
    assert cut(program.replace("h = cell(x, h)", made), made, tmp_path) == expected


ROUNDS = """
    def train(batches):
        h = torch.zeros(8)
        for batch in batches:
            for x in batch:
                h = cell(x, h)
                INNER
            OUTER
"""


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [("loss(h).backward()", "pass", Cut(("h",))), ("pass", "loss(h).backward()", NOWHERE), ("print(h)", "pass", ANY)],
    ids=["backward_in_each_round", "backward_through_all_rounds", "no_backward"],
)
def test_rounds_of_which_one_backward_is_made_are_left_whole(
    inner: str, outer: str, expected: Cut, tmp_path: Path
) -> None:
    program = ROUNDS.replace("INNER", inner).replace("OUTER", outer)
    assert cut(program, "h = cell(x, h)", tmp_path) == expected


PREVIOUS = """
    previous = None
    def step(x):
        global previous
        BEFORE
        previous = out
        AFTER
"""


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("out = model(x, previous); out.sum().backward()", "pass", AS_TENSOR),
        ("out = model(x)", "(out - previous).sum().backward()", NOWHERE),
    ],
)
def test_what_the_next_step_reads_first_may_be_detached(before: str, after: str, expected: Cut, tmp_path: Path) -> None:
    program = PREVIOUS.replace("BEFORE", before).replace("AFTER", after)
    assert cut(program, "previous = out", tmp_path) == expected


METER = """
    class Meter:
        def __init__(self):
            self.sum, self.count = 0, 0
        def update(self, value):
            self.sum = self.sum + value
            self.count += 1
        def average(self):
            return AVERAGE
    class Other:
        def loss(self):
            return self.sum
    def step(meter, x):
        loss = x.sum()
        USED
"""


@pytest.mark.parametrize(
    ("average", "used", "expected"),
    [
        ("self.sum / self.count", "print(meter.average())", ANY),
        ("self.sum / self.count", "print(f'{meter.average():.3f}', meter.sum)", ANY),
        ("self.sum / self.count", "bar.set_postfix(loss=meter.average())", ANY),
        ("float(self.sum) / self.count", "print(meter.average())", ANY),
        ("(self.sum / self.count).item()", "print(meter.average())", AS_TENSOR),
        ("self.sum.cpu().numpy()", "print(meter.average())", AS_TENSOR),
        ("self.sum / self.count", "print(meter.average().item())", AS_TENSOR),
        ("self.sum / self.count", "logs['loss'] = meter.average(); print(logs)", ANY),
        ("self.sum / self.count", "logs['loss'] = meter.average(); logs['loss'].backward()", NOWHERE),
        ("self.sum / self.count", "(loss + meter.average()).backward()", NOWHERE),
        ("self.sum / self.count", "loss = loss + meter.sum; loss.backward()", NOWHERE),
        ("self.sum / self.count", "loss.sum().backward()", NOWHERE),
    ],
)
def test_a_number_is_kept_where_one_will_do(average: str, used: str, expected: Cut, tmp_path: Path) -> None:
    """Where nothing calls `average()`, it is not known who does."""
    program = METER.replace("AVERAGE", average).replace("USED", used)
    assert cut(program, "self.sum = self.sum + value", tmp_path) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("log.append((loss, acc, step))", ("acc", "loss")),
        ("log.append((step, acc, loss.item()))", None),
        ("log.append((loss, acc, len(loss)))", ()),
        ("log.append((*pair, acc))", ()),
    ],
)
def test_all_parts_of_an_entry_that_keep_a_graph_are_named(text: str, parts: tuple[str, ...] | None) -> None:
    loss = torch.ones(1, requires_grad=True) * 2
    acc = loss * 2
    names = {"loss": loss, "acc": acc, "step": 3, "pair": (loss,)}
    log: list[tuple[object, ...]] = []
    exec(text, names | {"log": log})
    assert parts_with_graph(ast.parse(text).body[0], "acc", [log[0], acc]) == parts


def test_parts_below_a_key_are_named_too() -> None:
    loss = torch.ones(1, requires_grad=True) * 2
    acc = loss * 2
    statement = ast.parse("log.append({'of': (acc, loss), 'cut_part': cut_part})").body[0]
    entry = {"of": (acc, loss), "cut_part": loss.detach()}
    assert parts_with_graph(statement, "acc", [entry, entry["of"], acc]) == ("acc", "loss")
    entry["cut_part"] = [loss]
    assert parts_with_graph(statement, "acc", [entry, entry["of"], acc]) == ()
