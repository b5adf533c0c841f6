# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""This project's own nightly runs what it gives to users, and what docs/ci.md shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "ci"))
import recipe

ROOT = Path(__file__).resolve().parents[2]
FILES = ["--junit", "stepleak.xml", "--sarif", "stepleak.sarif"]


def test_the_shards_and_commands_are_those_of_the_docs() -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/ci.md").read_text(encoding="utf-8"), re.S | re.M)
    github = next(text for text in shown if "actions/checkout" in text)
    assert github == recipe.RECIPE.read_text(encoding="utf-8")
    gates = recipe.nightly(github)
    assert [shard for shard, _ in gates] == ["1", "2", "3", "4"]
    for shard, arguments in gates:
        # Each word stands in the docs, in that order, as one command.
        words = r"\s+".join(map(re.escape, arguments)).replace(rf"{shard}/4", r"\$\{\{ matrix\.shard \}\}/4")
        assert re.search(rf"stepleak gate\s+{words}\n", github), arguments


def test_another_recipe_gives_other_commands() -> None:
    text = recipe.RECIPE.read_text(encoding="utf-8")
    changed = (
        text.replace("shard: [1, 2, 3, 4]", "shard: [1, 2]").replace("/4", "/2").replace("nightly --s", "quick --s")
    )
    assert changed != text
    assert recipe.nightly(changed)[1] == ("2", ["--device", "cpu", "--effort", "quick", "--shard", "2/2", *FILES])


def test_a_recipe_without_a_nightly_is_refused() -> None:
    text = recipe.RECIPE.read_text(encoding="utf-8")
    for broken in (text.replace("  nightly:", "  later:"), text.partition("  nightly:")[0], text.replace(">-", "|")):
        with pytest.raises(SystemExit, match="no job `nightly`"):
            recipe.nightly(broken)


@pytest.mark.parametrize("shard", [".", "[12]", "1 ", "0", ""])
def test_a_shard_that_there_is_not_is_no_green_night(shard: str) -> None:
    """Nor is a pattern that would match one: nothing would run."""
    tried = subprocess.run([ROOT / "ci/nightly", shard], capture_output=True, text=True, timeout=60, check=False)
    assert tried.returncode == 3
    assert f"there is no shard '{shard}'" in tried.stderr
    assert "remedy: the recipe has: 1 2 3 4" in tried.stderr


def test_the_nightly_ci_runs_it() -> None:
    assert re.search(r"^  stage nightly ci/nightly$", (ROOT / ".ci/run").read_text(encoding="utf-8"), re.M)
