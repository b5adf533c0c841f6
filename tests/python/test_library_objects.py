# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers of a library's objects: methods that a program calls on these, and limits that they were made with."""

from __future__ import annotations

from pathlib import Path

import pytest
from holder_search import as_text
from watched_program import found_in

GRAPH = """
import networkx
program_graph = networkx.Graph()
LATER
for count in range(90):
    program_graph.add_node(count, x=[count])
    TAKING
    program_step()
"""
ADDED = "attr_dict = self._node[node_for_adding] = self.node_attr_dict_factory()"
TAKEN = "if program_graph.number_of_nodes() > 350: program_graph.remove_nodes_from([count - 350])"


def structures_of(source: str, folder: Path, word: str) -> set[tuple[str, str]]:
    """Kinds of what is found with this word in its path, each with the text of its line."""
    found = found_in(source, folder)
    holders = [holder | as_text(found, holder) for holder in found["holders"]]
    structures = [holder["structure"] for holder in holders if word in holder["path"]]
    return {(structure["kind"], structure["text"]) for structure in structures}


@pytest.mark.parametrize(
    ("taking", "later", "expected"),
    [
        (TAKEN, "", ("conditional", TAKEN)),
        ("program_graph.number_of_nodes()", "", ("keyed", ADDED)),
        # Of what no step calls.
        ("pass", f"def program_trim(count):\n    {TAKEN}", ("keyed", ADDED)),
    ],
)
def test_a_method_that_takes_something_out_may_keep_it_small(
    taking: str, later: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    source = GRAPH.replace("TAKING", taking).replace("LATER", later)
    assert structures_of(source, tmp_path, "_node") == {expected}


CACHE = """
from fsspec.dircache import DirCache
program_cache = DirCache(LIMIT)
for count in range(90):
    program_cache[str(count)] = [count]
    program_step()
"""


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("max_paths=5000", ("conditional", "program_cache = DirCache(max_paths=5000)")),
        ("", ("unknown", "")),
        # It holds more than that.
        ("max_paths=2", ("unknown", "")),
    ],
)
def test_a_limit_that_it_was_made_with_may_keep_it_small(limit: str, expected: tuple[str, str], tmp_path: Path) -> None:
    assert structures_of(CACHE.replace("LIMIT", limit), tmp_path, "._cache (dict") == {expected}
