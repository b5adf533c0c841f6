# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""One call of the command line a case: options, files that it reads, outputs, surroundings."""

from __future__ import annotations

import copy
import gzip
import json
import shlex
import subprocess
from typing import Any

import pytest
from cases import DATA, FOLDER, missing_parts, parameters
from sandbox import End, Sandbox
from validators import check_outputs, check_terminal

BASELINE = {
    "schema": 1,
    "scenario": "x",
    "key": {"scenario hash": "0123456789abcdef", "threads": "1", "torch": "2.11.0"},
    "verdict": "leak",
    "kinds": ["growth"],
    "fingerprints": ["0123456789abcdef"],
    "bytes_per_step": {"growth": 16.0},
    "steps": 50,
    "steady": {},
}


def changed(document: Any, case: dict[str, Any]) -> Any:
    """`set` = [["a.b.0", VALUE], ...] and `drop` = ["a.b", ...]."""
    document = copy.deepcopy(document)
    for path, value in [*case.get("set", []), *[(path, None) for path in case.get("drop", [])]]:
        *parents, last = [int(word) if word.isdigit() else word for word in path.split("/")]
        place = document
        for word in parents:
            place = place[word]
        if path in case.get("drop", []):
            del place[last]
        else:
            place[last] = value
    return document


def trace_of(case: dict[str, Any]) -> bytes:
    lines = gzip.decompress((DATA / f"cpu_{case['trace']}.trace").read_bytes()).splitlines()
    return gzip.compress(b"".join(json.dumps(changed(json.loads(line), case)).encode() + b"\n" for line in lines))


def prepare(sandbox: Sandbox, case: dict[str, Any], stepleak: list[str]) -> dict[str, str]:
    for name in case.get("targets", []):
        sandbox.write(name, (FOLDER / "targets" / name).read_bytes())
    for name, text in case.get("files", {}).items():
        sandbox.write(name, text)
    if "baseline" in case:
        content = case["baseline"] or json.dumps(changed(BASELINE, case))
        sandbox.write("b/cpu/x.json", content)
    if "trace" in case:
        sandbox.write("t.trace", trace_of(case))
    environment = {"STEPLEAK": shlex.join(stepleak), "DATA": str(DATA), **case.get("env", {})}
    if before := case.get("before"):
        subprocess.run(
            ["bash", "-euc", before], cwd=sandbox.folder, env=sandbox.environment(environment), check=True, timeout=60
        )
    sandbox.remember()
    return environment


def skip_without(case: dict[str, Any]) -> None:
    """Where what the case `needs` cannot be had here: rights, or a root of its own."""
    if needs := case.get("needs"):
        tried = subprocess.run(["bash", "-c", needs], capture_output=True, text=True, timeout=60)
        if tried.returncode != 0:
            pytest.skip(f"{needs}: {tried.stderr.strip()}")


def within(case: dict[str, Any]) -> float:
    """Seconds, on a machine that others use too."""
    return float(case.get("within", 60))


def call(sandbox: Sandbox, case: dict[str, Any], stepleak: list[str]) -> End:
    environment = prepare(sandbox, case, stepleak)
    if shell := case.get("shell"):
        return sandbox.call(["bash", "-c", shell], environment, 3 * within(case))
    words = case["run"]
    words = shlex.split(words) if isinstance(words, str) else words
    return sandbox.call(
        [*stepleak, *[word.replace("{data}", str(DATA)) for word in words]], environment, 3 * within(case)
    )


@pytest.mark.parametrize("case", parameters("command"))
def test_call(case: dict[str, Any], sandbox: Sandbox, stepleak: list[str]) -> None:
    skip_without(case)
    end = call(sandbox, case, stepleak)
    assert end.code in (case["code"] if isinstance(case["code"], list) else [case["code"]]), end.text[-3000:]
    check_terminal("stdout", end.out, case.get("colours", False))
    check_terminal("stderr", end.err, case.get("colours", False))
    assert missing_parts(case, "out", end.out.decode()) == [], end.text[-3000:]
    assert missing_parts(case, "err", end.err.decode()) == [], end.text[-3000:]
    for part in case.get("never", []):
        assert part not in end.text, end.text[-3000:]
    # Whatever is refused says what to do; CLI11 names the help instead.
    if end.code == 64:
        assert "remedy: " in end.text or "--help" in end.text, end.text
    assert end.seconds < within(case), f"took {end.seconds:.1f} s"
    assert len(end.out) + len(end.err) < case.get("most", 64 << 10), "the output is not bounded"
    wanted = case.get("outputs", [])
    for name in wanted:
        assert (sandbox.folder / name).exists(), f"{name} is not there; {end.text[-2000:]}"
    outputs = [*wanted, *case.get("may_write", [])]
    check_outputs(sandbox.folder, outputs)
    sandbox.check_nothing_left(outputs, case.get("litter", False))
