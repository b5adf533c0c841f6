# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Checks what no formatter checks: licence header, trailing blanks, final newline, tabs.

    python3 ci/check_text.py [--fix] FILE...

--fix removes trailing blanks and completes the last line; a header is for a person to write.
Prints "FILE:LINE: rule". Exit status 1 where a rule is (still) broken.
"""

from __future__ import annotations

import sys
from pathlib import Path

HEADER = ("SPDX-FileCopyrightText: The stepleak authors", "SPDX-License-Identifier: Apache-2.0")
# Sources carry the header; text for readers (.md) and data (.json) do not.
HEADER_SUFFIXES = {".build", ".cpp", ".cu", ".hpp", ".options", ".py", ".sh", ".toml"}
# Expected output is compared to the byte: its blanks are content.
EXACT_FOLDERS = ("tests/golden/",)


def needs_header(path: Path, text: str) -> bool:
    return bool(text.strip()) and (path.suffix in HEADER_SUFFIXES or text.startswith("#!"))


def broken_rules(path: Path, text: str) -> list[tuple[int, str]]:
    lines = text.split("\n")
    broken = [(number, "trailing blanks") for number, line in enumerate(lines, start=1) if line != line.rstrip()]
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        broken.append((len(lines), "the file must end with exactly one newline"))
    if path.suffix in HEADER_SUFFIXES:
        broken += [(number, "tab: indent with spaces") for number, line in enumerate(lines, start=1) if "\t" in line]
    # After a shebang, or a directive to shellcheck, the header begins one line later.
    head = lines[1:3] if text.startswith(("#!", "# shellcheck ")) else lines[0:2]
    if needs_header(path, text) and not (len(head) == 2 and all(map(str.endswith, head, HEADER))):
        broken.append((1, f'the file must begin with "{HEADER[0]}" and "{HEADER[1]}", as comments'))
    return broken


def fixed(text: str) -> str:
    lines = [line.rstrip() for line in text.split("\n")]
    return "\n".join(lines).rstrip("\n") + "\n" if text.strip() else ""


def main() -> int:
    arguments = sys.argv[1:]
    is_fixing = "--fix" in arguments
    is_right = True
    for name in arguments:
        if name == "--fix" or name.startswith(EXACT_FOLDERS):
            continue
        path = Path(name)
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue  # binary
        if "\0" in text:
            continue
        if is_fixing and fixed(text) != text:
            path.write_bytes(fixed(text).encode("utf-8"))
            text = fixed(text)
        for line, rule in broken_rules(path, text):
            is_right = False
            print(f"{name}:{line}: {rule}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
