# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""What every output must be, whatever went in: checked by the validators of others, against the published schemas."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

SCHEMAS = Path(__file__).parents[2] / "docs/schema"
SARIF = Path(__file__).parents[1] / "data/sarif/sarif-2.1.0-rtm.4.json"

# What GitLab's documentation asks of each issue; it publishes no schema.
CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    # Relative to the repository, and without "./".
                    "path": {"type": "string", "minLength": 1, "pattern": "^[^/]", "not": {"pattern": "^\\.\\.?/"}},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}

# C0 but newline and tab, DEL, and C1, which terminals take for ESC sequences too.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@cache
def _schema(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def _strict_json(text: str) -> Any:
    """Only what a strict parser takes, and a terminal: no NaN, no surrogate, no C1."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    assert CONTROL.search(text) is None
    data = json.loads(text, parse_constant=refuse)
    json.dumps(data, ensure_ascii=False).encode()  # a lone surrogate has no UTF-8
    return data


def check_json(text: str) -> None:
    """One result, or a list of them."""
    data = _strict_json(text)
    for result in data if isinstance(data, list) else [data]:
        _schema("result").validate(result)


@cache
def _sarif_schema() -> jsonschema.Draft4Validator:
    return jsonschema.Draft4Validator(json.loads(SARIF.read_text(encoding="utf-8")))


def _check_shown(data: Any) -> None:
    """Who reads these shows their texts as they are."""
    for text in data if isinstance(data, list) else data.values() if isinstance(data, dict) else []:
        _check_shown(text)
    assert not isinstance(data, str) or CONTROL.search(data) is None, repr(data)


def check_sarif(text: str) -> None:
    data = _strict_json(text)
    _sarif_schema().validate(data)
    _check_shown(data)


def check_code_quality(text: str) -> None:
    data = _strict_json(text)
    jsonschema.Draft202012Validator(CODE_QUALITY).validate(data)
    _check_shown(data)


def check_baseline(text: str) -> None:
    _schema("baseline").validate(json.loads(text))


def check_trace(data: bytes) -> None:
    for line in gzip.decompress(data).rstrip(b"\n").split(b"\n"):
        _schema("trace").validate(json.loads(line))


def check_junit(file: Path) -> None:
    if shutil.which("xmllint") is None:
        pytest.skip("xmllint (libxml2-utils) is not installed: a JUnit file cannot be held against its schema")
    done = subprocess.run(
        ["xmllint", "--noout", "--nonet", "--huge", "--schema", str(SCHEMAS / "junit.xsd"), str(file)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]


def check_terminal(stream: str, data: bytes, colours: bool = False) -> None:
    """Valid UTF-8 without a control character; but our own colours, where they were asked for."""
    text = data.decode("utf-8")
    if colours:
        text = re.sub("\x1b\\[[0-9;]*m", "", text)
    found = CONTROL.search(text)
    assert not found, f"{stream} has {found.group()!r} in: {text[max(found.start() - 80, 0) : found.end() + 80]!r}"


def check_outputs(folder: Path, names: list[str]) -> None:
    """By their endings; what is not there was not written, which the case says by `outputs`."""
    for name in names:
        file = folder / name
        if not file.is_file() or file.is_symlink():
            continue
        if name.startswith("b/"):
            check_baseline(file.read_text(encoding="utf-8"))
        elif name.endswith(".sarif"):
            check_sarif(file.read_bytes().decode("utf-8"))
        elif name.endswith(".quality.json"):
            check_code_quality(file.read_bytes().decode("utf-8"))
        elif name.endswith(".json"):
            check_json(file.read_bytes().decode("utf-8"))
        elif name.endswith(".xml"):
            check_junit(file)
        elif name.endswith(".trace"):
            check_trace(file.read_bytes())
