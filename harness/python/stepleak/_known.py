# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Known leaks: entries of a TOML file, each with its reason, and which findings they match.

    python3 -I _known.py apply FILE < REQUEST      which leaks are known: for the command line
    python3 -I _known.py add FILE < REQUEST        the file's text with an entry for each leak

A request is a JSON object with `results`, and with `entry`: `reason`, `link` and `expires` of what is added. Both print
a JSON object: what came of it, or what is wrong as `error` and `remedy`.
"""

from __future__ import annotations

import json
import operator
import re
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11; a dependency of the package there
    import tomli as tomllib  # type: ignore[no-redef]

_PATTERNS = ("target", "kind", "where", "holder")
_KEYS = ("fingerprint", *_PATTERNS, "reason", "link", "versions", "expires")
_ANYWHERE = "where or holder"
MOST_CHARACTERS = 1000
"""Of a pattern: to make a regular expression of a megabyte takes minutes, once the run is over."""
_FINGERPRINT = re.compile("[0-9a-f]{16}")
_VERSION = re.compile(r"^(\w+)\s*(<=|>=|==|<|>)\s*(\d{1,9}(?:\.\d{1,9})*)$")
_FILE_OF_TARGET = re.compile(r"(?:.*?/)?([^/]+\.py(?::.*)?)")  # with what is taken of it, as in test_a.py::test_b
# What TOML has no place for in a comment, and what drives a terminal.
_CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


class KnownError(Exception):
    """What is wrong with the file; the second argument is the remedy."""


@dataclass
class Entry:
    """One leak that is known, and why it is let be."""

    fingerprint: str
    patterns: dict[str, str]
    reason: str
    link: str
    versions: list[str]
    expires: date | None
    matches: int = field(default=0)

    @property
    def name(self) -> str:
        return self.fingerprint or ", ".join(f"{key} {pattern}" for key, pattern in self.patterns.items())

    @property
    def why(self) -> str:
        return self.reason + (f" ({self.link})" if self.link else "")

    def is_expired(self, today: date) -> bool:
        return self.expires is not None and self.expires < today

    def is_match(self, result: dict[str, Any], finding: dict[str, Any]) -> bool:
        if self.fingerprint and finding.get("fingerprint") != self.fingerprint:
            return False
        texts = {
            "target": [result.get("target", "")],
            "kind": [finding.get("kind", "")],
            "where": [f"{frame['file']}:{frame['function']}" for frame in finding.get("where", [])],
            "holder": [finding.get("holder", "")],
        }
        texts[_ANYWHERE] = texts["where"] + texts["holder"]
        conditions = result.get("conditions", {})
        return all(
            any(_is_like(text, pattern) for text in texts[key]) for key, pattern in self.patterns.items()
        ) and all(_is_version(condition, conditions) for condition in self.versions)

    def is_of(self, finding: dict[str, Any], target: str) -> bool:
        """Whether it is for this finding of a target, today and with these versions or not."""
        return self.fingerprint == finding["fingerprint"] and _is_like(target, self.patterns.get("target", "*"))


def _is_like(text: str, pattern: str) -> bool:
    """A pattern that begins with a file's or a folder's name is one for the end of a path, whatever leads there."""
    return fnmatchcase(text, pattern) or fnmatchcase(text, "*/" + pattern)


def read(file: Path) -> list[Entry]:
    content = _content_of(file)
    if content is None:
        raise KnownError(f"{file} cannot be read: it is not there", "name a file of known leaks")
    return _entries_in(file, content)


def _content_of(file: Path) -> bytes | None:
    """None where there is no such file."""
    try:
        # A pipe would be waited for, and can be read only once.
        if stat.S_ISREG(file.stat().st_mode):
            return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KnownError(f"{file} cannot be read: {error.strerror}", "name a file of known leaks") from None
    raise KnownError(f"{file} cannot be read: it is no regular file", "write it to a file, and name that")


def _entries_in(file: Path, content: bytes) -> list[Entry]:
    try:
        data = tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # what it decodes, and numbers and nests that Python gives up on
        raise KnownError(f"{file} is no TOML: {error}", "correct it") from None
    tables = data.get("known", [])
    if set(data) - {"known"} or not isinstance(tables, list):
        raise KnownError(f"{file}: it holds something else than entries", "begin each with [[known]]")
    return [_entry(f"{file}: entry {number}", table) for number, table in enumerate(tables, start=1)]


def _entry(place: str, table: Any) -> Entry:
    if not isinstance(table, dict):
        raise KnownError(f"{place} is no table", "begin each with [[known]]")
    if unknown := sorted(set(table) - set(_KEYS)):
        raise KnownError(f"{place} has an unknown key '{unknown[0]}'", "it knows " + ", ".join(_KEYS))
    for key in ("fingerprint", *_PATTERNS, "reason", "link"):
        if not isinstance(table.get(key, ""), str):
            raise KnownError(f"{place}: {key} is no text", f'write {key} = "..."')
    if not table.get("reason"):
        raise KnownError(f"{place} has no reason", 'write reason = "why it is let be"')
    patterns = {key: table[key] for key in _PATTERNS if table.get(key)}
    for key, pattern in patterns.items():
        if len(pattern) > MOST_CHARACTERS:
            raise KnownError(f"{place}: {key} has {len(pattern)} characters", f"give {MOST_CHARACTERS} at most")
    if not table.get("fingerprint") and not set(patterns) - {"target", "kind"}:
        raise KnownError(f"{place} would match too much", "give a fingerprint, or a pattern for where or holder")
    versions = table.get("versions", [])
    versions = [versions] if isinstance(versions, str) else versions
    if not isinstance(versions, list) or not all(isinstance(each, str) and _VERSION.match(each) for each in versions):
        raise KnownError(f"{place}: versions cannot be read", 'write versions = ["torch<2.12"]')
    expires = table.get("expires")
    if expires is not None and type(expires) is not date:
        raise KnownError(f"{place}: expires is no date", "write expires = 2027-01-31, without quotes")
    return Entry(table.get("fingerprint", ""), patterns, table["reason"], table.get("link", ""), versions, expires)


def _is_version(condition: str, conditions: dict[str, str]) -> bool:
    match = _VERSION.match(condition)
    assert match is not None, condition  # checked when it was read
    name, comparison, wanted = match.groups()
    found = re.match(r"\d+(?:\.\d+)*", conditions.get(name, ""))
    if found is None:
        return False
    numbers = [[int(part) for part in version.split(".")] for version in (found.group(), wanted)]
    # 2.11 means all of 2.11.x in ==, and 2.11.0 elsewhere.
    if comparison == "==":
        numbers[0] = numbers[0][: len(numbers[1])]
    length = max(map(len, numbers))
    here, there = ([*each, *[0] * (length - len(each))] for each in numbers)
    return _COMPARISONS[comparison](here, there)


def entry_for(entries: list[Entry], result: dict[str, Any], finding: dict[str, Any], today: date) -> Entry | None:
    """The first entry that knows a finding and has not expired; counts the match."""
    known = None
    for entry in entries:
        if entry.is_match(result, finding):
            entry.matches += 1
            if known is None and not entry.is_expired(today):
                known = entry
    return known


def ignoring(text: str) -> Entry:
    """What `ignore=` of a call lets be: a fingerprint, or a pattern for one of the frames or for the holder."""
    is_fingerprint = _FINGERPRINT.fullmatch(text) is not None
    patterns = {} if is_fingerprint else {_ANYWHERE: text}
    return Entry(text if is_fingerprint else "", patterns, f"ignore={text!r}", "", [], None)


def told(entries: list[Entry], result: dict[str, Any], today: date) -> tuple[bool, list[str]]:
    """Whether a call lets a leak be, and what its report says of it."""
    known, reasons = is_known(entries, result, today)
    lines = [f"{'let be' if known else 'one of several'}: {reason}" for reason in reasons]
    return known, lines + [f"{entry.reason} matches nothing here" for entry in entries if entry.matches == 0]


def is_known(entries: list[Entry], result: dict[str, Any], today: date) -> tuple[bool, list[str]]:
    """Whether every finding of a leak is known, and why each one is."""
    found = _found_for(entries, result, today)
    return _is_leak_of(result, found), [entry.why for entry in found if entry is not None]


def _found_for(entries: list[Entry], result: dict[str, Any], today: date) -> list[Entry | None]:
    return [entry_for(entries, result, finding, today) for finding in result.get("findings", [])]


def _is_leak_of(result: dict[str, Any], found: list[Entry | None]) -> bool:
    return result.get("verdict") == "leak" and len(found) > 0 and None not in found


def apply(file: Path, results: list[dict[str, Any]], today: date) -> dict[str, Any]:
    entries = read(file)
    found = [_found_for(entries, result, today) for result in results]
    return {
        "known": [_is_leak_of(result, each) for result, each in zip(results, found, strict=True)],
        "findings": [[entry is not None for entry in each] for each in found],
        "lines": [
            f"{result.get('target')}: known: {entry.why}"
            for result, each in zip(results, found, strict=True)
            for entry in each
            if entry is not None
        ],
        "unmatched": [f"{entry.name}: {entry.why}" for entry in entries if entry.matches == 0],
        "expired": [f"{entry.name}: on {entry.expires}: {entry.why}" for entry in entries if entry.is_expired(today)],
    }


def add(file: Path, results: list[dict[str, Any]], today: date, reason: str, link: str, expires: str) -> dict[str, Any]:
    findings = [(result, finding) for result in results for finding in result["findings"] if finding["fingerprint"]]
    if not findings:
        raise KnownError("the result has no finding", "name the --json of a run that leaks")
    if not reason.strip():
        raise KnownError("no reason is given", 'say why it is let be: --reason "..."')
    try:
        until = date.fromisoformat(expires) if expires else None
    except ValueError:
        raise KnownError(f"'{expires}' is no date", "write --expires 2027-01-31") from None
    if until is not None and until < today:
        raise KnownError(f"{until} is over: the entry would fail at once", "name a day that is to come")
    content = _content_of(file) or b""
    entries = _entries_in(file, content)
    for result, finding in findings:
        entry = next((each for each in entries if each.is_of(finding, result["target"])), None)
        if entry is not None and (entry.reason, entry.link, entry.expires) != (reason, link, until):
            ends = f", until {entry.expires}" if entry.expires is not None else ""
            raise KnownError(
                f"{file} has an entry for {entry.fingerprint} already: {entry.why}{ends}",
                "change that one, or remove it first",
            )
        if entry is not None:
            continue
        patterns = _pattern_of_target(result["target"])
        entries.append(Entry(finding["fingerprint"], patterns, reason, link, [], until))
        lines = [
            _comment(f"{result['target']}: {finding['kind']}: {finding['what']}"),
            "[[known]]",
            f"fingerprint = {_quoted(finding['fingerprint'])}",
            *(f"{key} = {_quoted(pattern)}" for key, pattern in patterns.items()),
            f"reason = {_quoted(reason)}",
        ]
        if link:
            lines.append(f"link = {_quoted(link)}")
        if until is not None:
            lines.append(f"expires = {until.isoformat()}")
        content += b"\n" * bool(content) + "\n".join([*lines, ""]).encode("utf-8")
    _read_back(file, content, entries)
    return {"text": content.decode("utf-8")}


def _pattern_of_target(target: str) -> dict[str, str]:
    """Of a file its name, since folders differ from machine to machine. Functions of the same name within two others
    have the same fingerprint: without the target the one's entry would let the other's leak be."""
    of_file = _FILE_OF_TARGET.fullmatch(target)
    pattern = re.sub(r"[*?[]", r"[\g<0>]", target if of_file is None else of_file.group(1))
    return {"target": pattern} if 0 < len(pattern) <= MOST_CHARACTERS and not _CONTROLS.search(pattern) else {}


def _comment(text: str) -> str:
    return "# " + _CONTROLS.sub("?", text.replace("\n", " "))


def _quoted(text: str) -> str:
    """A text of TOML, whose escapes are JSON's; what JSON lets through of what drives a terminal is escaped, too."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))


def _read_back(file: Path, content: bytes, expected: list[Entry]) -> None:
    """What cannot be read must not take the place of what can."""
    try:
        entries = _entries_in(file, content)
    except KnownError as wrong:
        raise KnownError(f"{file} cannot be added to: {wrong.args[0]}", "begin each entry with [[known]]") from None
    assert entries == expected


def main() -> None:
    verb, file = sys.argv[1:]
    request = json.load(sys.stdin.buffer)
    results = request["results"]
    try:
        if verb == "apply":
            answer = apply(Path(file), results, date.today())
        else:
            answer = add(Path(file), results, date.today(), **request["entry"])
    except KnownError as wrong:
        answer = {"error": wrong.args[0], "remedy": wrong.args[1]}
    # A file's name need not be a text.
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
