# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Which events of a loop end its steps."""

from __future__ import annotations

import random

import pytest
from stepleak._step_cycle import StepCycle


def boundaries(events: str) -> list[int]:
    """The positions of the events that end a step."""
    cycle = StepCycle()
    return [at for at, event in enumerate(events) if cycle.ends_step(event)]


@pytest.mark.parametrize(
    ("events", "closing"),
    [
        ("AAAAAAAA", "A"),  # one optimizer
        ("DGDGDGDGDG", "G"),  # a GAN: the second ends the step
        ("DDDDDGDDDDDGDDDDDGDDDDDG", "G"),  # five steps of the critic to one of the generator
        ("CCACCACCACCA", "A"),  # a delayed policy
        ("PPPDGDGDGDG", "G"),  # a few steps of a third one before
        ("".join("abcdefghij" * 4), "j"),  # an optimizer a parameter
    ],
)
def test_the_rarest_event_of_the_shortest_pattern_ends_a_step(events: str, closing: str) -> None:
    found = boundaries(events)
    assert found
    last = found[-1]
    assert events[last] == closing
    # From where the pattern is known every closing event is a boundary, and no other.
    settled = [at for at in found if events[at] == closing]
    assert settled == [at for at in range(settled[0], len(events)) if events[at] == closing]


def test_one_event_alone_is_no_pattern() -> None:
    assert boundaries("A") == []
    assert boundaries("DG") == []


def test_another_phase_of_training_has_a_pattern_of_its_own() -> None:
    found = boundaries("A" * 20 + "B" * 40)
    assert [at for at in found if at < 20] == list(range(1, 20))
    assert [at for at in found if at >= 20][-20:] == list(range(40, 60))


def test_a_rare_other_step_does_not_stop_the_steps() -> None:
    events = "A" * 20 + "B" + "A" * 20
    assert [at for at in boundaries(events) if at > 20] == list(range(21, 41))


def test_what_follows_no_pattern_is_cut_at_the_most_frequent() -> None:
    cycle = StepCycle()
    # Three kinds at random: two of them as they come may look like a pattern for a while.
    events = random.Random(1).choices("ABC", weights=(8, 3, 1), k=400)
    for event in events:
        cycle.ends_step(event)
    assert cycle.closing == "A"
    assert not cycle.is_regular
