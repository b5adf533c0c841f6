# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Stored traces: what a result rests on, judged again without a step, a GPU or torch."""

from __future__ import annotations

import gzip
import json

import pytest
from conftest import CommandLine

STEPS = """
import ctypes
import torch
from torch import nn

model = nn.Linear(16, 4)
kept = []
total = 0.0


def leaks():
    loss = model(torch.randn(8, 16)).square().mean()
    loss.backward()
    model.zero_grad()
    kept.append(loss)


def clean():
    model(torch.randn(8, 16)).square().mean().backward()
    model.zero_grad()


def raises(index):
    clean()
    if index == 12:
        raise RuntimeError("no more batches")


def joined(sum, loss):
    return sum + loss

def dies_in_the_record_pass(index):
    # No container, and who knows what that function does to graphs: the trend alone can call it a leak.
    global total
    total = joined(total, model(torch.randn(8, 16)).square().mean())
    if index == 244:
        ctypes.string_at(0)


def dies_after_flat_steps(index):
    clean()
    if index == 100:
        ctypes.string_at(0)
"""


@pytest.fixture(name="cli")
def make_cli(stepleak: CommandLine) -> CommandLine:
    stepleak.write("train.py", STEPS)
    return stepleak


def test_a_stored_trace_gives_the_same_result_byte_for_byte(cli: CommandLine) -> None:
    targets = ["train.py:leaks", "train.py:clean", "train.py:raises"]
    ran = cli("run", *targets, "--trace", "t.gz", "--json", "a.json", "--junit", "a.xml", "--device", "cpu")
    again = cli("analyze", "t.gz", "--json", "b.json")
    assert ran.code == again.code == 3
    assert (cli.folder / "a.json").read_bytes() == (cli.folder / "b.json").read_bytes()
    results = json.loads((cli.folder / "b.json").read_text())
    assert [result["verdict"] for result in results] == ["leak", "clean", "failure"]
    assert results[0]["findings"][0]["kept_by"].endswith("kept.append(loss)")


def test_a_trace_of_a_usual_step_is_small(cli: CommandLine) -> None:
    cli("run", "train.py:leaks", "--trace", "t.gz", "--device", "cpu")
    assert (cli.folder / "t.gz").stat().st_size < 1 << 20
    line = json.loads(gzip.decompress((cli.folder / "t.gz").read_bytes()))
    assert line["format"] == "stepleak-trace"
    assert line["trace"]["recordings"][0]["survivors"]
    assert line["trace"]["recordings"][0]["objects"]["nodes"]
    assert line["trace"]["looks"][-1]["tables"]


def test_analyze_report_help_list_and_baselines_load_no_torch(cli: CommandLine) -> None:
    cli("run", "train.py:clean", "--trace", "t.gz", "--json", "t.json", "--device", "cpu")
    for arguments in (
        ["analyze", "t.gz"],
        ["report", "t.json", "--html", "t.html"],
        ["--help"],
        ["list"],
        ["baseline", "show", "--device", "cpu"],
    ):
        traced = cli(*arguments, switches={"LD_DEBUG": "libs"})
        assert traced.code == 0, traced.err[-400:]
        assert "libtorch" not in traced.err


def test_what_is_no_trace_is_refused_by_name(cli: CommandLine) -> None:
    (cli.folder / "half.gz").write_bytes(gzip.compress(b'{"format": "stepleak-trace"}')[:-9])
    (cli.folder / "other.gz").write_bytes(gzip.compress(b'{"format": "another"}\n'))
    for name in ("half.gz", "other.gz", "train.py", "missing.gz"):
        refused = cli("analyze", name)
        assert refused.code == 3, refused.out
        assert name in refused.err
        assert "remedy" in refused.err


def test_the_verb_is_named_that_a_stored_file_is_for(cli: CommandLine) -> None:
    cli("run", "train.py:clean", "--trace", "t.gz", "--json", "t.json", "--device", "cpu")
    assert "stepleak analyze t.gz" in cli("report", "t.gz").err
    assert "stepleak report t.json" in cli("analyze", "t.json").err
    (cli.folder / "other.json").write_text("12")
    assert "stepleak analyze" not in cli("report", "other.json").err
    assert "stepleak report" not in cli("analyze", "train.py").err
    assert cli("report", "t.json").code == cli("analyze", "t.gz").code == 0


@pytest.mark.parametrize("cut", ["file", "line"])
def test_a_run_that_is_cut_short_costs_no_other_of_its_file(cut: str, cli: CommandLine) -> None:
    cli("run", "train.py:clean", "train.py:leaks", "--trace", "t.gz", "--device", "cpu")
    whole = (cli.folder / "t.gz").read_bytes()
    short = whole[:-200] if cut == "file" else gzip.compress(gzip.decompress(whole)[:-200])
    (cli.folder / "t.gz").write_bytes(short)
    again = cli("analyze", "t.gz", "--json", "again.json")
    assert again.code == 3, again.text
    assert (
        "t.gz cannot be read as a trace: it is cut short" in again.err
        if cut == "file"
        else "line 2 of t.gz" in again.err
    )
    assert "train.py:clean is clean" in again.out
    assert set(cli.results("again.json")) == {"train.py:clean"}


def test_a_worker_that_dies_in_the_record_pass_leaves_its_verdict(cli: CommandLine) -> None:
    ran = cli("run", "train.py:dies_in_the_record_pass", "--effort", "quick", "--device", "cpu")
    assert ran.code == 1, ran.out
    assert "killed by SIGSEGV in step 245" in ran.out


def test_a_worker_that_dies_before_a_verdict_is_never_clean(cli: CommandLine) -> None:
    ran = cli("run", "train.py:dies_after_flat_steps", "--effort", "nightly", "--device", "cpu")
    assert ran.code == 3, ran.out


def test_steps_bound_every_pass(cli: CommandLine) -> None:
    cli("run", "train.py:leaks", "--steps", "64", "--json", "a.json", "--device", "cpu")
    result = json.loads((cli.folder / "a.json").read_text())
    assert result["verdict"] == "leak"
    assert result["steps"] <= 64
    assert result["explained_steps"] == 18


@pytest.mark.parametrize("behind", ["another trace", "something else"])
def test_what_follows_a_trace_in_its_file_is_not_passed_over(behind: str, cli: CommandLine) -> None:
    cli("run", "train.py:clean", "--trace", "t.gz", "--device", "cpu")
    trace = (cli.folder / "t.gz").read_bytes()
    (cli.folder / "t.gz").write_bytes(trace + (trace if behind == "another trace" else b"x"))
    again = cli("analyze", "t.gz")
    assert again.code == 3, again.text
    assert "t.gz cannot be read as a trace: something follows its end" in again.err
    assert "give each trace as a file of its own" in again.text
