# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that end with a call, an epoch or a phase, and the same that do not, asked while the program runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from watched_program import found_in

TRAINER = """
class ProgramTrainer:
    def __init__(self, seed=0):
        self.program_losses = []
    def fit_program(self):
        for i in range(50):
            self.program_losses.append([i])
            program_step()
"""

STATS = """
class ProgramStats:
    def __init__(self):
        self.program_losses = []
def run_program_epoch(stats):
    for i in range(50):
        stats.program_losses.append([i])
        program_step()
"""

RUNNER = """
class ProgramRunner:
    def __init__(self, *trainers):
        self.trainers = trainers
        self.first = trainers[0]
    def fit_all(self):
        for epoch in range(3):
            self.first.fit_program()
"""

# Each method has the state of the run, or of an epoch, in a variable of its own.
STATE = """
class ProgramState:
    def __init__(self):
        self.program_losses = []
class ProgramRun:
    def __init__(self):
        self.state = ProgramState()
    def begin(self):
        self.state = ProgramState()
    def fit_epoch(self):
        state = self.state
        for i in range(50):
            state.program_losses.append([i])
            program_step()
"""

# The list of a part of the trainer, in a variable of who fills it.
PART = """
class ProgramPart:
    def __init__(self):
        self.program_outputs = []
class ProgramOwner:
    def __init__(self):
        self.part = ProgramPart()
    def wipe_program(self):
        self.part.program_outputs = []
def run_program_steps(owner):
    outs = owner.part.program_outputs
    for i in range(50):
        outs.append([i])
        program_step()
def program_main():
    owner = ProgramOwner()
    for e in range(3):
        run_program_steps(owner)
        owner.wipe_program()
program_main()
"""

# Workers wait for the next job with the one that they had; one of them is at its own.
WORKERS = """
import queue, threading
program_queues, program_errors, program_rounds = [], [], 0
def fill(program_job):
    try:
        for i in range(program_rounds):
            program_job.append([i])
            program_step()
    except BaseException as error:
        program_errors.append(error)
def work(program_jobs):
    while True:
        program_job = program_jobs.get()
        if program_job is None:
            break
        fill(program_job)
        program_jobs.task_done()
def give(program_new):
    program_jobs = queue.Queue()
    program_queues.append(program_jobs)
    threading.Thread(target=work, args=(program_jobs,), daemon=True).start()
    program_jobs.put(program_new)
    del program_new
    program_jobs.join()
for number in range(OTHERS):
    give([])
program_rounds = 50
give([])
for program_jobs in program_queues:
    program_jobs.put(None)
raise program_errors[0]
"""

FITTER = """
    class ProgramModule:
        def __init__(self):
            self.program_outputs = []
        def to(self, device):
            return self
    class ProgramFitter:
        def fit(self, module):
            self.module = module.to("cpu")
            for i in range(50):
                self.module.program_outputs.append([i])
                program_step()
    def program_main():
        fitter = ProgramFitter()
"""

TRAIN = """
    import sys, torch
    class Optimizer:
        def step(self):
            program_step()
    def bfloat16(model, optimizer):
        model.bfloat16()
        program_losses = []
        for i in range(90_000):
            program_losses.append([i])
            optimizer.step()
"""

SERVE = """
    import asyncio
    class Optimizer:
        def step(self):
            program_step()
    async def run(optimizer):
        program_seen = []
        while True:
            program_seen.append([1])
            optimizer.step()
    asyncio.run(run(Optimizer()))
"""

SEARCH = """
    import itertools
    class Optimizer:
        def step(self):
            program_step()
    def find_rate(optimizer, rounds=90):
        program_rates = []
        for i in zip(range(rounds), itertools.cycle([1])):
            program_rates.append([i])
            optimizer.step()
    def program_main():
        optimizer = Optimizer()
        find_rate(optimizer)
        for i in range(100):
            optimizer.step()
    program_main()
"""

# The program calls `program_step()` after each entry.
ENDING = {
    "losses of a function that its module's name calls": TRAIN
    + "    this = sys.modules[__name__]\n    def program_main():\n        for i in range(4):\n"
    + "            this.bfloat16(torch.nn.Identity(), Optimizer())\n    program_main()\n",
    "outputs of a module that is one of several": FITTER
    + "        for i in range(4):\n            fitter.fit(ProgramModule())\n    program_main()\n",
    "outputs of a module that is one of several, and is itself what is stored": FITTER.replace('.to("cpu")', "")
    + "        for i in range(4):\n            fitter.fit(ProgramModule())\n    program_main()\n",
    "outputs of a module that has a name for a round": FITTER.replace('.to("cpu")', "")
    + "        for i in range(4):\n            module = ProgramModule()\n            fitter.fit(module)\n"
    + "    program_main()\n",
    "record of a search for a rate, which ends before the training": SEARCH,
    "rows of a warm-up that the loop of the steps draws by hand": """
        class Optimizer:
            def step(self):
                program_step()
        def program_main():
            program_rows, optimizer, rows = [], Optimizer(), iter(range(100))
            for i in range(100):
                try:
                    program_rows.append([next(rows)])
                except StopIteration:
                    pass
                optimizer.step()
        program_main()
    """,
    "state that is made anew, in a variable of who fills it": STATE
    + "def program_main():\n    run = ProgramRun()\n    for e in range(3):\n        run.begin()\n"
    + "        run.fit_epoch()\nprogram_main()\n",
    "state that is replaced under a name of the program's": STATE
    + "    def renew(self, factories={'state': ProgramState}):\n        for name, make in factories.items():\n"
    + "            setattr(self, name, make())\n"
    + "def program_main():\n    run = ProgramRun()\n    for e in range(3):\n        run.renew()\n"
    + "        run.fit_epoch()\nprogram_main()\n",
    "state that is replaced among all attributes": STATE
    + "    def renew(self):\n        vars(self).update(state=ProgramState())\n"
    + "def program_main():\n    run = ProgramRun()\n    for e in range(3):\n        run.renew()\n"
    + "        run.fit_epoch()\nprogram_main()\n",
    "state that is made by who fills it": STATE.replace("state = self.state", "state = ProgramState()")
    + "def program_main():\n    run = ProgramRun()\n    for e in range(3):\n        run.fit_epoch()\nprogram_main()\n",
    "trainer of each trial": TRAINER
    + "def program_main():\n    for seed in range(4):\n        ProgramTrainer(seed).fit_program()\nprogram_main()\n",
    "trainers in a comprehension": TRAINER + "[ProgramTrainer(seed).fit_program() for seed in range(4)]\n",
    "trainers of an inner comprehension": TRAINER
    + "[[ProgramTrainer(seed).fit_program() for seed in seeds] for seeds in [(0, 1), (2, 3)]]\n",
    "trainer in a variable of each trial": TRAINER
    + "def program_main():\n    for seed in range(4):\n"
    + "        t = ProgramTrainer(seed)\n        t.fit_program()\nprogram_main()\n",
    "trainer of a function that is called again": TRAINER
    + "def run(seed):\n    t = ProgramTrainer(seed)\n    t.fit_program()\nfor seed in range(4):\n    run(seed)\n",
    "trainer that a factory makes": TRAINER
    + "def make():\n    return ProgramTrainer()\n"
    + "def program_main():\n    while True:\n        t = make()\n        t.fit_program()\nprogram_main()\n",
    "context of a with statement": """
        class Recorder:
            def __init__(self):
                self.items = []
            def __enter__(self):
                return self
            def __exit__(self, *a):
                return False
        def train(recorder):
            for i in range(50):
                recorder.items.append([i])
                program_step()
        def program_main():
            for epoch in range(3):
                with Recorder() as recorder:
                    train(recorder)
        program_main()
    """,
    "trainer that its runner makes anew": TRAINER
    + """
class ProgramRunner:
    def fit_trials(self):
        for seed in range(4):
            self.trainer = ProgramTrainer(seed)
            self.trainer.fit_program()
def program_main():
    ProgramRunner().fit_trials()
program_main()
""",
    "trainer of a runner of each trial": TRAINER
    + RUNNER
    + "def program_main():\n    for seed in range(4):\n        ProgramRunner(ProgramTrainer(seed)).fit_all()\n"
    + "program_main()\n",
    "keyword argument made for the call": STATS
    + "def program_main():\n    for e in range(3):\n        run_program_epoch(stats=ProgramStats())\nprogram_main()\n",
    "main that a decorator runs": """
        def sweep(function):
            def run():
                for value in range(4):
                    function(value)
            return run
        @sweep
        def program_main(value):
            program_losses = []
            for i in range(50):
                program_losses.append([i])
                program_step()
        program_main()
    """,
    "main that goes by another name": """
        def program_main(value=0):
            program_losses = []
            for i in range(50):
                program_losses.append([i])
                program_step()
        run = program_main
        for value in range(4):
            run(value)
        if value > 5:
            program_main()
    """,
    "features that are extracted before the training": """
        def extract(loader):
            features = []
            for x in loader:
                features.append([x])
                program_step()
            return features
        def program_main():
            features = extract(range(100))
            for epoch in range(5):
                program_step()
        program_main()
    """,
    "calibration that is broken off": """
        def program_main():
            samples = []
            for i in range(10000):
                samples.append([i])
                program_step()
                if i == 99:
                    break
            for j in range(1000):
                program_step()
        program_main()
    """,
    "lists that setattr empties by their names": """
        class Model:
            def __init__(self):
                self.outputs = []
                self.targets = []
        class Loop:
            def reset(self, model):
                for name in ("outputs", "targets"):
                    setattr(model, name, [])
        model, loop = Model(), Loop()
        while True:
            loop.reset(model)
            for i in range(50):
                model.outputs.append([i])
                program_step()
    """,
    "list of a part, which is replaced after each call": PART,
    "list of a part, which is replaced by its name": PART.replace(
        "self.part.program_outputs = []", "[setattr(self.part, name, []) for name in vars(self.part)]"
    ),
}
LASTING = {
    "losses of a function whose name a method has, too": TRAIN + "    bfloat16(torch.nn.Identity(), Optimizer())\n",
    "requests of a function whose name a library's has, too": SERVE,
    "outputs of the module that a trainer is given": FITTER
    + "        fitter.fit(ProgramModule())\n    program_main()\n",
    "outputs of the module itself that a trainer is given": FITTER.replace('.to("cpu")', "")
    + "        fitter.fit(ProgramModule())\n    program_main()\n",
    "outputs of the module that a trainer is given time and again": FITTER.replace('.to("cpu")', "")
    + "        module = ProgramModule()\n        for i in range(4):\n            fitter.fit(module)\n"
    + "    program_main()\n",
    "record of a training that another one comes after": SEARCH.replace("rounds=90", "rounds=90_000"),
    "record of the only training": SEARCH.replace(
        "optimizer.step()\n    program_main()", "len('')\n    program_main()"
    ),
    "list of a part, in a variable of who fills it": PART.replace("self.part.program_outputs = []", "pass"),
    "list of a part with slots, in a variable of who fills it": PART.replace(
        "self.part.program_outputs = []", "pass"
    ).replace("class ProgramPart:", "class ProgramPart:\n    __slots__ = ('program_outputs',)"),
    "state of the run, which is set by its name when that is made": STATE.replace(
        "self.state = ProgramState()\n    def begin", "setattr(self, 'sta' + 'te', ProgramState())\n    def begin"
    ).replace("self.state = ProgramState()\n    def fit", "pass\n    def fit")
    + "def program_main():\n    run = ProgramRun()\n    for e in range(3):\n        run.fit_epoch()\nprogram_main()\n",
    "state of the run, in a variable of who fills it": STATE.replace(
        "self.state = ProgramState()\n    def fit", "pass\n    def fit"
    )
    + "def program_main():\n    run = ProgramRun()\n    for e in range(3):\n        run.fit_epoch()\nprogram_main()\n",
    "trainer that a comprehension goes over": TRAINER
    + "def program_main():\n    return [loss for loss in [ProgramTrainer().fit_program()]]\nprogram_main()\n",
    "list of main that a function fills which a pool runs": """
        from concurrent.futures import ThreadPoolExecutor
        def program_main():
            program_losses = []
            def train():
                for i in range(50):
                    program_losses.append([i])
                    program_step()
            pool = ThreadPoolExecutor(1)
            for _ in range(3):
                pool.submit(train).result()
        program_main()
    """,
    "list of main beside what a model calls main": """
        class ProgramModel:
            def __init__(self): self.program_main = lambda x: x
            def forward(self, x): return self.program_main(x)
        def program_main():
            model, program_losses = ProgramModel(), []
            for i in range(50):
                program_losses.append([model.forward(i)])
                program_step()
        if True:
            program_main()
    """,
    "trainer of the whole program": TRAINER
    + "def program_main():\n    t = ProgramTrainer()\n    t.fit_program()\nprogram_main()\n",
    "trainer that is made for the one call": TRAINER
    + "def program_main():\n    ProgramTrainer().fit_program()\nprogram_main()\n",
    "trainer that an attribute of its runner keeps": TRAINER
    + RUNNER
    + "def program_main():\n    ProgramRunner(ProgramTrainer()).fit_all()\nprogram_main()\n",
    "trainer that a list of its runner keeps": TRAINER
    + RUNNER.replace("self.first = trainers[0]", "self.program_kept = [trainers[0]]").replace(
        "self.first.fit", "self.program_kept[0].fit"
    )
    + "def program_main():\n    ProgramRunner(ProgramTrainer()).fit_all()\nprogram_main()\n",
    "statistics of all epochs": STATS
    + "def program_main():\n    stats = ProgramStats()\n    for e in range(3):\n        run_program_epoch(stats)\n"
    + "program_main()\n",
    "losses of the training, and an evaluation after it": """
        class Optimizer:
            def step(self):
                program_step()
        def program_main():
            program_losses, optimizer = [], Optimizer()
            for i in range(100):
                program_losses.append([i])
                optimizer.step()
            for j in range(10):
                program_step()
        program_main()
    """,
    "batches that the loop of the steps draws by hand": """
        class Optimizer:
            def step(self):
                program_step()
        def program_main():
            program_losses, optimizer, batches = [], Optimizer(), iter(range(100))
            while True:
                try:
                    batch = next(batches)
                except StopIteration:
                    break
                program_losses.append([batch])
                optimizer.step()
        program_main()
    """,
    "requests of a server": """
        def serve_program():
            seen = []
            while True:
                seen.append([1])
                program_step()
        serve_program()
        for line in range(3):
            program_step()
    """,
    "main under a decorator that calls once": """
        import torch
        @torch.no_grad()
        def program_main():
            seen = []
            for i in range(50):
                seen.append([i])
                program_step()
        program_main()
    """,
}


def kind_of(program: str, folder: Path) -> str:
    """What bounds the container that grows."""
    (holder,) = [holder for holder in found_in(program, folder)["holders"] if holder["container"] >= 0]
    kind: str = holder["structure"]["kind"]
    return kind


CALLED_AGAIN = [
    "losses of a function that its module's name calls",
    "outputs of a module that is one of several",
    "record of a search for a rate, which ends before the training",
    "trainer of each trial",
    "trainers in a comprehension",
    "trainers of an inner comprehension",
    "trainer in a variable of each trial",
    "trainer of a function that is called again",
    "trainer that its runner makes anew",
    "trainer of a runner of each trial",
    "context of a with statement",
    "keyword argument made for the call",
    "list of a part, which is replaced after each call",
]


@pytest.mark.parametrize("name", CALLED_AGAIN)
def test_what_ends_where_it_is_called_again_is_awaited(name: str, tmp_path: Path) -> None:
    assert kind_of(ENDING[name], tmp_path) == "reset"


@pytest.mark.parametrize(("others", "kind"), [(2, "reset"), (12, "unknown")])
def test_of_many_threads_none_comes_to_its_next_job_for_sure(others: int, kind: str, tmp_path: Path) -> None:
    assert kind_of(WORKERS.replace("OTHERS", str(others)), tmp_path) == kind


@pytest.mark.parametrize("name", ENDING)
def test_what_ends_with_a_call_or_a_phase_is_not_unbounded(name: str, tmp_path: Path) -> None:
    assert kind_of(ENDING[name], tmp_path) in ("reset", "conditional", "unknown")


@pytest.mark.parametrize("name", LASTING)
def test_what_lives_as_long_as_the_program_is_unbounded(name: str, tmp_path: Path) -> None:
    assert kind_of(LASTING[name], tmp_path) == "unbounded"
