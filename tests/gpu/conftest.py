# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The command line of the other tests, on a machine with a GPU."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_PATH = Path(__file__).resolve().parents[1] / "cli" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("cli_conftest", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
_MODULE = importlib.util.module_from_spec(_SPEC)
sys.modules["cli_conftest"] = _MODULE
_SPEC.loader.exec_module(_MODULE)

stepleak = _MODULE.stepleak
shared_stepleak = _MODULE.shared_stepleak
