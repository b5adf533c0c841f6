# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""How the steps of an unchanged script are found, and when its loop is watched again."""

from __future__ import annotations

import pytest
from conftest import CommandLine

PHASES = """
import sys
import torch

model = torch.nn.Linear(8, 8)
kept = []

def phase(steps, make, keeps=False):
    optimizer = make(model.parameters(), lr=0.01)
    for _ in range(steps):
        loss = model(torch.rand(4, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if keeps:
            kept.append(loss.detach())

def pretrain():
    phase(80, lambda *a, **k: torch.optim.SGD(*a, **k))

def finetune(steps, keeps):
    phase(steps, lambda *a, **k: torch.optim.Adam(*a, **k), keeps)

def search():
    for trial in range(12):
        phase(20, torch.optim.SGD if trial % 3 else torch.optim.Adam)

if sys.argv[1] == "search":
    search()
else:
    pretrain()
    finetune(int(sys.argv[2]), sys.argv[1] == "leaks")
"""


@pytest.mark.parametrize(
    ("command", "verdict", "told"),
    [
        (["leaks", "300"], "leak", "each ended by Adam.step (phases.py:22) (leak)"),
        (["rests", "300"], "clean", "64, each ended by Adam.step (phases.py:22) (clean)"),
        (["leaks", "30"], "clean", "28, each ended by Adam.step (phases.py:22) (inconclusive)"),
    ],
    ids=["leaks", "rests", "ends too soon"],
)
def test_a_second_phase_is_watched_after_a_clean_first(
    command: list[str], verdict: str, told: str, stepleak: CommandLine
) -> None:
    stepleak.write("phases.py", PHASES)
    watched = stepleak("watch", "--json", "out.json", "phases.py", *command)
    result = stepleak.results("out.json")["phases.py"]
    assert result["verdict"] == verdict, watched.text
    steps = result["conditions"]["steps found by"]
    assert steps.startswith("64, each ended by SGD.step (phases.py:19); then "), steps
    assert told in steps, steps
    if verdict == "leak":
        assert "kept.append(loss.detach())" in result["findings"][0]["kept_by"]


def test_a_second_training_by_the_same_function_is_watched_after_a_clean_first(stepleak: CommandLine) -> None:
    stepleak.write(
        "twice.py",
        """
        import torch
        from torch import nn

        def fit(model, steps, then):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            for _ in range(steps):
                loss = model(torch.rand(4, 8)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                then(loss)

        kept = []
        model = nn.Linear(8, 1)
        fit(model, 80, lambda loss: None)
        fit(model, 300, kept.append)
        """,
    )
    watched = stepleak("watch", "--json", "out.json", "twice.py")
    result = stepleak.results("out.json")["twice.py"]
    assert result["verdict"] == "leak", watched.text
    assert "SGD.step (twice.py:6); then " in result["conditions"]["steps found by"]
    assert "SGD.step (twice.py:6, call 2) (leak)" in result["conditions"]["steps found by"]


LOOP = """
import torch
from torch import nn

model, kept = nn.Linear(8, 1), []
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def train():
    loss = model(torch.rand(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
"""
LATE = f"""{LOOP}
for step in range(600):
    loss = train()
    if step >= 200:
        kept.append(loss.detach())
"""


@pytest.mark.parametrize("more", ["", "    if len(kept) > 50:\n        kept.pop(0)\n"], ids=["keeps", "trims"])
def test_a_loop_that_goes_on_is_watched_again(more: str, stepleak: CommandLine) -> None:
    stepleak.write("late.py", LATE + more)
    watched = stepleak("watch", "--json", "out.json", "late.py")
    result = stepleak.results("out.json")["late.py"]
    steps = result["conditions"]["steps found by"]
    assert "64, each ended by SGD.step (late.py:6); then " in steps
    assert result["verdict"] == ("clean" if more else "leak"), watched.text
    assert steps.endswith("from step 128 on (clean)" if more else "from step 128 on (leak)"), steps
    if not more:
        assert "kept.append(loss.detach())" in result["findings"][0]["kept_by"]


EPOCHS = f"""{LOOP}
for epoch in range(20):
    for step in range(100):
        train()
    with torch.no_grad():
        kept.append(model(torch.rand(64, 8)))
"""


@pytest.mark.parametrize("more", ["", "    kept = kept[-1:]\n"], ids=["keeps", "of the last"])
def test_what_each_long_epoch_leaves_is_found_when_it_is_watched_again(more: str, stepleak: CommandLine) -> None:
    stepleak.write("epochs.py", EPOCHS + more)
    watched = stepleak("watch", "--json", "out.json", "epochs.py")
    result = stepleak.results("out.json")["epochs.py"]
    steps = result["conditions"]["steps found by"]
    assert steps.startswith("64, each ended by SGD.step"), steps
    assert result["verdict"] == ("clean" if more else "leak"), watched.text
    if more:
        assert "then 512 from step 512 on (clean)" in steps
    else:
        assert "kept.append(model(" in result["findings"][0]["kept_by"]


def test_a_loop_that_grew_to_its_end_when_it_was_watched_again_is_not_clean(stepleak: CommandLine) -> None:
    """The line that may empty it takes nothing out, which nobody can know."""
    keeps = "kept[step] = loss.detach()\n        kept.pop(step // 48 - 16, None)"
    late = LATE.replace("(8, 1), []", "(8, 1), {}").replace("kept.append(loss.detach())", keeps).replace("600", "700")
    stepleak.write("late.py", late)
    watched = stepleak("watch", "--exit-code", "--json", "out.json", "late.py")
    result = stepleak.results("out.json")["late.py"]
    assert (result["verdict"], watched.code) == ("inconclusive", 2), watched.text
    assert "kept.pop(step // 48 - 16, None)" in result["reason"]


PHASES_OF_280 = """
import torch
from torch import nn

model = nn.Linear(32, 32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for phase in range(7):
    outputs = []
    for _ in range(280):
        output = model(torch.rand(16, 32))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        outputs.append(output.detach())
"""


def test_a_loop_that_ends_before_it_is_judged_again_stays_clean(stepleak: CommandLine) -> None:
    """Of what takes 768 steps to be called clean, no end after 422 of the next watch says anything."""
    stepleak.write("phases.py", PHASES_OF_280)
    watched = stepleak("watch", "--exit-code", "--json", "out.json", "phases.py")
    result = stepleak.results("out.json")["phases.py"]
    assert (result["verdict"], result["steps"], watched.code) == ("clean", 768, 0), watched.text
    assert result["conditions"]["steps found by"].endswith("; then 422 from step 1536 on (inconclusive)")


def test_a_loop_is_not_watched_again_where_its_steps_are_limited(stepleak: CommandLine) -> None:
    stepleak.write("late.py", LATE)
    stepleak("watch", "--steps", "128", "--json", "out.json", "late.py")
    result = stepleak.results("out.json")["late.py"]
    assert (result["verdict"], result["conditions"]["steps found by"]) == (
        "clean",
        "64, each ended by SGD.step (late.py:6)",
    )


def test_a_script_that_makes_an_optimizer_and_never_steps_it_has_calls_for_steps(stepleak: CommandLine) -> None:
    stepleak.write(
        "ask.py",
        """
        import torch
        from torch import nn

        model, answers = nn.Linear(8, 1), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with torch.no_grad():
            for _ in range(300):
                answers.append(model(torch.rand(4, 8)))
        """,
    )
    watched = stepleak("watch", "--json", "out.json", "ask.py")
    result = stepleak.results("out.json")["ask.py"]
    assert result["verdict"] == "leak", watched.text
    assert "a call of Linear" in result["conditions"]["steps found by"]


def test_epochs_and_evaluations_of_loaders_are_marked(stepleak: CommandLine) -> None:
    stepleak.write(
        "epochs.py",
        """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batches = DataLoader(TensorDataset(torch.randn(80, 4)), batch_size=4)
        held_out = DataLoader(TensorDataset(torch.randn(8, 4)), batch_size=4)
        for epoch in range(5):
            for (x,) in batches:
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
            with torch.no_grad():
                for (x,) in held_out:
                    model(x)
        """,
    )
    assert stepleak("watch", "--device", "cpu", "--json", "r.json", "--trace", "r.trace", "epochs.py").code == 0
    told = stepleak.results("r.json")["epochs.py"]["marks"]
    marks = [(mark["step"], mark["type"]) for mark in told]
    # The first 2 steps find what a step is; an evaluation follows the 20th.
    assert marks[:4] == [(19, "evaluation"), (19, "epoch"), (39, "evaluation"), (39, "epoch")]
    assert stepleak("analyze", "r.trace", "--json", "again.json").code == 0
    assert stepleak.results("again.json")["epochs.py"]["marks"] == told


def test_one_optimizer_after_the_other_ends_steps_of_the_same_loop(stepleak: CommandLine) -> None:
    stepleak.write("phases.py", PHASES)
    watched = stepleak("watch", "--json", "out.json", "phases.py", "search")
    result = stepleak.results("out.json")["phases.py"]
    assert result["verdict"] == "clean", watched.text
    assert result["steps"] >= 64
    assert "each ended by Adam.step (phases.py:9) or SGD.step (phases.py:9)" in result["conditions"]["steps found by"]


FOR_EACH_PARAMETER = """
import random
import torch
from torch import nn

class Compared(torch.optim.SGD):
    def __eq__(self, other):
        return isinstance(other, Compared)

net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(8)))
optimizers = {}
for _ in range(100):
    chosen = random.sample(list(net), 3)
    used = [parameter for layer in chosen for parameter in layer.parameters()]
    for parameter in used:
        if parameter not in optimizers:
            optimizers[parameter] = Compared([parameter], lr=0.1)
    nn.Sequential(*chosen)(torch.randn(2, 4)).square().mean().backward()
    for parameter in used:
        optimizers[parameter].step()
        parameter.grad = None
"""


def test_optimizers_of_each_parameter_end_a_step_together(stepleak: CommandLine) -> None:
    stepleak.write("each.py", FOR_EACH_PARAMETER)
    watched = stepleak("watch", "--json", "out.json", "each.py")
    result = stepleak.results("out.json")["each.py"]
    assert result["verdict"] == "clean", watched.text
    assert 64 <= result["steps"] <= 100
    stepleak.write("each.py", FOR_EACH_PARAMETER.replace("range(100)", "range(60)"))
    assert "let it run 64" in stepleak("watch", "each.py").text


BUFFERS = """
import random
import torch

class Pool:
    def __init__(self):
        self.idle, self.lent = [], {}
    def take(self):
        buffer = self.idle.pop() if self.idle else torch.empty(64, 256)
        self.lent[id(buffer)] = buffer
        return buffer
    def give_back(self, buffer):
        self.idle.append(self.lent.pop(id(buffer)))

random.seed(7)
model = torch.nn.Linear(256, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
pool = Pool()
for step in range(1200):
    buffer = pool.take()
    if random.random() < 1 / 7:
        BROKEN
        continue
    optimizer.zero_grad()
    model(buffer).square().mean().backward()
    optimizer.step()
    pool.give_back(buffer)
"""


@pytest.mark.parametrize(("broken", "verdict"), [("pass", "leak"), ("pool.give_back(buffer)", "clean")])
def test_a_record_pass_that_the_end_of_the_script_cuts_short_hides_no_leak(
    broken: str, verdict: str, stepleak: CommandLine
) -> None:
    stepleak.write("buffers.py", BUFFERS.replace("BROKEN", broken))
    watched = stepleak("watch", "--json", "out.json", "buffers.py")
    result = stepleak.results("out.json")["buffers.py"]
    assert result["verdict"] == verdict, watched.text
    if verdict == "leak":
        assert ".lent (dict" in result["findings"][0]["holder"]


IN_THREADS = """
import sys
import threading
import torch
from concurrent.futures import ThreadPoolExecutor

model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
kept = []

def step(_=None):
    loss = model(torch.rand(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss

def steps(count):
    for _ in range(count):
        step()

warm = int(sys.argv[2])
if sys.argv[1] == "ended":
    thread = threading.Thread(target=steps, args=(warm,))
    thread.start()
    thread.join()
    other = threading.Thread(target=threading.Event().wait, daemon=True)  # may get the number of the one that ended
    other.start()
elif sys.argv[1] == "waits":
    pool = ThreadPoolExecutor(1)
    pool.submit(steps, warm).result()
elif sys.argv[1] == "each":
    for _ in range(30):
        thread = threading.Thread(target=lambda: [kept.append(step()) for _ in range(5)])
        thread.start()
        thread.join()
for _ in range(int(sys.argv[3])):
    kept.append(step())
"""


@pytest.mark.parametrize(
    ("who", "warm", "steps"),
    [("ended", 3, 150), ("ended", 70, 400), ("waits", 3, 250), ("each", 0, 0)],
    ids=["ended early", "ended after its verdict", "waits", "a thread each five steps"],
)
def test_the_thread_that_goes_on_is_watched(who: str, warm: int, steps: int, stepleak: CommandLine) -> None:
    stepleak.write("threads.py", IN_THREADS)
    watched = stepleak("watch", "--json", "out.json", "threads.py", who, str(warm), str(steps))
    assert watched.code == 0, watched.text
    assert stepleak.results("out.json")["threads.py"]["verdict"] == "leak", watched.err


def test_steps_of_threads_that_are_not_watched_are_told(stepleak: CommandLine) -> None:
    stepleak.write(
        "threads.py",
        IN_THREADS.partition("warm =")[0]
        + """
turn = [threading.Semaphore(1), threading.Semaphore(0)]

def train(number):
    own = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(own.parameters(), lr=0.01)
    for _ in range(80):
        turn[number].acquire()
        own(torch.rand(4, 8)).square().mean().backward()
        optimizer.step()
        turn[1 - number].release()

threads = [threading.Thread(target=train, args=(number,)) for number in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
    )
    watched = stepleak("watch", "threads.py")
    assert watched.code == 0, watched.text
    assert "optimizer steps of other threads that were not looked at" in watched.err
