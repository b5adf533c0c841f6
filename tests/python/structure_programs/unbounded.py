# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""Containers that nothing bounds."""

# ruff: noqa: E501 - a table: each program stands on the line of what is expected of it

from __future__ import annotations

from structure_programs import TASKS, Case, appending, in_context, in_threads, jobs, keeper, method, owned, registering

COUNT = "def add(self, x):\n    self.count += 1\n    key = self.count % 7, self.count\n    "

MOVING = "def add(self, x):\n    self.waiting.pop()\n    self.kept.append(x)"
POOL = "self.kept = []; self.waiting = list(range(50))"
LOGGING = (
    "def add(self, x): self.kept.append(x)" + method("log", "self.add([1])") + method("work", "if TEST: self.log()")
)

REGISTRY = "kept = []\nclass Metric:\n    def __init__(self): kept.append(self)\n"
OF_THE_CLASS = "class Metric:\n    kept = []\n    def __init__(self): self.kept.append([1])\n"

PARTS = """
class Part(list):
    ndim, is_new, grad = 2, True, None
    def dim(self): return 2
class Keeper:
    def __init__(self): self.kept, self.mean, self.todo = [], 0, [Part()]
    def named_parameters(self): return {"weight": Part()}.items()
    def add(self):
        for name, part in self.named_parameters():
            if TEST: self.kept.append([part])
keeper = Keeper()
def step():
    keeper.add()
"""


def _tested(test: str, more: str = "") -> str:
    """Methods that fill a container below a test."""
    return f"def add(self, x):\n    self.count += 1\n    if {test}:\n        self.kept.append(x)\n" + more


_OWN = "self.kept, self.is_turn = [], True"
COMING_AGAIN = {
    "of a flag that is turned": (_tested("self.is_turn", "    self.is_turn = not self.is_turn\n"), _OWN),
    "of a function": (_tested("self.is_due()", "def is_due(self): return self.count % 1 == 0\n"), _OWN),
    "of a function from a count on": (_tested("self.is_due()", "def is_due(self): return self.count > 1\n"), _OWN),
}
_OF_DEQUE = "global random\nimport random\nself.kept = collections.deque()"


def _mixed(change: str, back: str = "collections.deque(mixed)") -> str:
    return f"mixed = list(self.kept)\n{change}\nself.kept = {back}"


CEASING = {
    "of a flag that is turned in another test": (
        _tested("self.is_turn", "    if self.count > 90: self.is_turn = not self.is_turn\n"),
        _OWN,
    ),
    "of a flag that is set": (
        _tested("self.is_turn", "    self.is_turn = not self.is_turn\n    if self.count > 0: self.is_turn = True\n"),
        _OWN,
    ),
    "of a function of two values": (
        _tested(
            "self.is_due()",
            "def is_due(self):\n    if sum(map(len, self.kept)) == 90: return False\n    return self.count % 1 == 0\n",
        ),
        _OWN,
    ),
}

UNBOUNDED = [
    Case("objects of each step register themselves", REGISTRY + "def step(): Metric()\n", "kept", "unbounded"),
    Case(
        "objects of each step register themselves, by their name",
        REGISTRY.replace("[]", "{'Metric': []}").replace(
            "kept.append", "kept.setdefault(type(self).__name__, []).append"
        )
        + "def step(): Metric()\n",
        "kept['Metric']",
        "unbounded",
    ),
    Case(
        "objects of each step fill what their class has",
        OF_THE_CLASS + "def step(): Metric()\n",
        "Metric.kept",
        "unbounded",
    ),
    Case(
        "what each step makes registers the parts that it makes",
        REGISTRY + "class Metrics:\n    def __init__(self): self.metric = Metric()\ndef step(): Metrics()\n",
        "kept",
        "unbounded",
    ),
    Case(
        "shown under its name",
        keeper(
            "def add(self, x): self.kept['loss'].append(x)"
            + method("show", "return {name: sum(values) / 9 for name, values in self.kept.items()}")
            + method(
                "tell", "for i, (name, values) in enumerate(sorted(self.kept.items())): print(i, name, values[-5:])"
            ),
            "self.kept = {'loss': [], 'rate': []}",
        ),
        "keeper.kept['loss']",
        "unbounded",
    ),
    Case(
        "a share of it is shown",
        keeper(
            appending()
            + method("share", "return len(self.kept) / max(1, self.capacity)")
            + method("show", "print(f'{self.share():.1%}')")
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "an average of it is shown",
        keeper(
            appending()
            + method("mean", "return sum(self.kept) / len(self.kept)")
            + method("show", "print(self.mean(), sum(self.kept) / max(1, len(self.kept)))")
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "a class of another file that has its name is emptied",
        keeper("def add(self, x): self.kept.append(x)"),
        "keeper.kept",
        "unbounded",
        other="class Keeper:\n    def __init__(self): self.kept = []\n    def finish(self): self.kept.clear()\n",
    ),
    Case(
        "moved from a pool that is filled again",
        keeper(MOVING + method("fill", "self.waiting.append(1)"), POOL, "keeper.add([1]); keeper.fill()"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "something else is taken from what is made in each step",
        keeper("def add(self, x):\n    parts = [1, 2]\n    parts.pop()\n    self.kept.append(x)"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "two calls below a test of a setting that is on",
        keeper(LOGGING.replace("TEST", "self.verbose"), "self.kept, self.verbose = [], True", "keeper.work()"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "length tested for something",
        keeper(appending("if len(self.kept) > 1000:\n    print('long')")),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "read where there are enough",
        keeper(
            appending("self.learn()") + method("learn", "if len(self.kept) < 64:\n    return\nsum(map(len, self.kept))")
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict asked by get for a count that never came before",
        keeper(COUNT + "if self.kept.get(key) is None:\n        self.kept[key] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "what get answered for a count is tested",
        keeper(COUNT + "old = self.kept.get(key)\n    if old is None:\n        self.kept[key] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "setdefault for a count",
        keeper(COUNT + "self.kept.setdefault(key, []).append(x)", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "defaultdict for a count",
        keeper(COUNT + "self.kept[key].append(x)", "self.kept = collections.defaultdict(list)"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "a count that raises KeyError",
        keeper(
            COUNT + "try:\n        return self.kept[key]\n    except KeyError:\n        self.kept[key] = [x]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "attribute of a threading.local",
        "import threading\nlocal = threading.local()\nlocal.kept = []\ndef step():\n    local.kept.append([1])\n",
        "local.kept",
        "unbounded",
    ),
    Case(
        "attribute of a class that is local to threads",
        """
import threading
class Store(threading.local):
    def __init__(self, name): self.kept = []
    def add(self, x): self.kept.append(x)
store = Store(name="spans")
def step(): store.add([1])
""",
        "store.kept",
        "unbounded",
    ),
    Case(
        "attribute of a class that is local to threads, of which there are several",
        in_threads("store.add([1])"),
        "store.kept",
        "unbounded",
    ),
    *(
        Case(f"mixed, and put back, {name}", keeper(appending(_mixed(change)), _OF_DEQUE), "keeper.kept", "unbounded")
        for name, change in {
            "as it is": "pass",
            "shuffled": "random.shuffle(mixed)",
            "longer": "mixed.append(1)",
        }.items()
    ),
    Case("value of a context variable", in_context("var.get().append([1])"), "var.get()", "unbounded"),
    Case(
        "value of a context variable, made when first wanted",
        in_context("if var.get() is None: var.set([])\nvar.get().append([1])", ""),
        "var.get()",
        "unbounded",
    ),
    Case(
        "dict in a context variable, under another name",
        in_context("kept = var.get()\nkept[len(kept)] = [1]", "var.set({})"),
        "var.get()",
        "unbounded",
    ),
    Case(
        "once enough others are there",
        keeper(
            appending(before="self.pool.append(1)\nif len(self.pool) < 3:\n    return"),
            "self.kept = []\nself.pool = collections.deque(maxlen=8)",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "while few others are there",
        keeper(
            appending(before="self.pool.append(1)\nif len(self.pool) > 5:\n    return"),
            "self.kept = []\nself.pool = collections.deque(maxlen=8)",
        ),
        "keeper.kept",
        "unknown",
    ),
    Case(
        "whenever a batch is full",
        "kept, batch = [], []\ndef step():\n    global batch\n    batch.append(1)\n    if len(batch) == 2:\n"
        "        kept.append(batch)\n        batch = []\n",
        "kept",
        "unbounded",
    ),
    Case(
        "when a batch is full for the first time",
        "kept, batch = [], []\ndef step():\n    batch.append(1)\n    if len(batch) == 2:\n        kept.append(batch)\n",
        "kept",
        "unknown",
    ),
    Case(
        "after a number of steps",
        keeper(appending(before="self.count += 1\nif self.count <= 2:\n    return")),
        "keeper.kept",
        "unbounded",
    ),
    Case("list in an attribute", keeper(appending()), "keeper.kept", "unbounded"),
    Case(
        "method of that name of another object",
        keeper(appending(), after="def pairs_of(other):\n    return [pair for pair in other.kept()]"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "list that can be called",
        keeper(
            appending() + "\ndef flush(self): self.kept()",
            "class Called(list):\n    def __call__(self): del self[:]\nself.kept = Called()",
        ),
        "keeper.kept",
        "reset",
    ),
    Case(
        "read in many ways",
        keeper(
            appending(
                "mean = len(self.kept), list(self.kept), self.kept[-1], self.kept[-3:]\nprint(f'{len(self.kept)} {max(self.kept)}')\nlast = [x for x in self.kept]\nif self.kept:\n    mean = None"
            )
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case("extended", keeper("def add(self, x): self.kept.extend([x])"), "keeper.kept", "unbounded"),
    Case("added in place", keeper("def add(self, x): self.kept += [x]"), "keeper.kept", "unbounded"),
    Case("added anew", keeper("def add(self, x): self.kept = self.kept + [x]"), "keeper.kept", "unbounded"),
    Case(
        "dict by a global step",
        "kept = {}\nglobal_step = 0\ndef step():\n    global global_step\n    global_step += 1\n    kept[global_step] = [1]\n",
        "kept",
        "unbounded",
    ),
    Case(
        "keys by the number of entries",
        keeper("def add(self, x): self.kept[len(self.kept)] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by a counter",
        keeper("def add(self, x):\n    self.count += 1\n    self.kept[f'step {self.count}'] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    *(
        Case(
            f"dict by a counter, {name}",
            keeper(f"def add(self, x):\n    self.count += 1\n    self.kept[{key}] = [x]", "self.kept = {}"),
            "keeper.kept",
            "unbounded",
        )
        for name, key in [
            ("divided", "self.count // 2"),
            ("divided by a setting", "(self.count // self.capacity, self.count // CAPACITY, 'x', self.count // 2)"),
            ("and a setting", "self.count + self.capacity"),
        ]
    ),
    Case(
        "dict by a counter that is divided, asked by in",
        keeper(
            "def add(self, x):\n    self.count += 1\n    key = self.count // 2\n"
            "    if key not in self.kept:\n        self.kept[key] = [x]",
            "self.kept = {}",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case("by the number of a job that is made for it", jobs(), "service.kept", "unbounded"),
    Case(
        "a ring whose head never goes round",
        keeper(
            "def add(self, x):\n    self.kept[self.head] = x\n    self.head += 1"
            + method("draw", "newest = min(len(self.kept), self.capacity)\nprint(len(self.kept) - newest)")
            + method("__len__", "return min(len(self.kept), self.capacity)"),
            "self.kept, self.head = {}, 0",
            "keeper.add([1])\nif len(keeper) > 8:\n    print(keeper.draw())\nlast = len(keeper)\nprint(last)",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "how many are missing is shown",
        keeper(appending("print(f'{self.capacity - len(self.kept)} to go', 9 - len(self.kept))")),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by the time",
        keeper("def add(self, x): self.kept[time.time()] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by its length",
        keeper("def add(self, x): self.kept[len(self.kept)] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "set of new ids",
        keeper("def add(self, x): self.kept.add(uuid.uuid4())", "self.kept = set()"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by parts of new ids",
        keeper("def add(self, x): self.kept[uuid.uuid4().hex, str(uuid.uuid4())[:8]] = [x]", "self.kept = {}"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "dict by an id that a long-lived object has",
        keeper(
            "def add(self, x): self.kept[self.hex] = [x]\ndef part(self, x): self.kept[self.hex[:8]] = [x]",
            "self.kept = {}\nself.hex = uuid.uuid4().hex",
            "keeper.add(1)\nkeeper.part(1)",
        ),
        "keeper.kept",
        "keyed",
    ),
    Case(
        "in an object that takes a number from the one before it",
        owned("Epoch(self.epoch.number + 1)"),
        "keeper.epoch.kept",
        "reset",
        -1,
        "Epoch(self.epoch.number + 1)",
    ),
    Case(
        "in an object that is given the one before it", owned("Epoch(1, self.epoch)"), "keeper.epoch.kept", "unbounded"
    ),
    Case(
        "in an object that is given what the one before it kept",
        owned("Epoch(1, self.epoch.kept)"),
        "keeper.epoch.kept",
        "unbounded",
    ),
    Case(
        "in what an object that is made anew is given",
        """
class Bus:
    def __init__(self): self.kept = []
class Probe:
    def __init__(self, bus, x):
        self.bus = bus
        bus.kept.append(x)
bus = Bus()
def step():
    global probe
    probe = Probe(bus, [1])
""",
        "probe.bus.kept",
        "unbounded",
    ),
    Case(
        "in an object that the one before it makes", owned("self.epoch.following()"), "keeper.epoch.kept", "unbounded"
    ),
    *(
        Case(
            f"in an object that takes the place of one by {following}",
            "import copy, dataclasses\n" + owned(following) + more,
            "keeper.epoch.kept",
            kind,
            line=following if kind in ("reset", "conditional") else "",
        )
        for following, more, kind in (
            ("type(self.epoch)(1)", "", "reset"),
            ("after(self.epoch)", "def after(old): return Epoch(old.number + 1)", "reset"),
            ("after(old=self.epoch)", "def after(old): return Epoch(old.number + 1)", "reset"),
            ("after(self.epoch)", "def after(old): return Epoch(old.number + 1, old)", "conditional"),
            ("after(self.epoch)", "def after(old): return old", "unbounded"),
            ("after(self.epoch)", "def after(old): return copy.copy(old)", "unbounded"),
            ("self.epoch.another()", "Epoch.another = lambda old: Epoch(1)", "conditional"),
            ("copy.copy(self.epoch)", "", "unbounded"),
            ("dataclasses.replace(self.epoch, number=1)", "", "unbounded"),
            ("dataclasses.replace(self.epoch, kept=[])", "", "reset"),
            ("dataclasses.replace(self.epoch, kept=self.epoch.kept)", "", "unknown"),
            ("dataclasses.replace(self.epoch, kept=self.epoch.kept[-9:])", "", "conditional"),
            ("Epoch(len(self.epoch.kept))", "", "reset"),
        )
    ),
    *(
        Case(
            f"in an object that is kept {how}",
            "import weakref\nclass Key: pass\nclass Part:\n    def __init__(self): self.kept = []\n"
            f"key, parts = Key(), {table}\nparts[key] = Part()\n"
            "def step(): parts[key].kept.append([1])\n",
            "parts[key].kept",
            kind,
        )
        for how, table, kind in (
            ("by a key", "{}", "unbounded"),
            ("for as long as its key", "weakref.WeakKeyDictionary()", "unknown"),
        )
    ),
    Case(
        "set of tasks",
        TASKS.replace("DROPPED", ""),
        "background",
        "unbounded",
    ),
    Case(
        "list in a closure",
        "def make():\n    losses = []\n    def step():\n        losses.append([1])\n    return step\nstep = make()\n",
        "step.__closure__[0].cell_contents",
        "unbounded",
    ),
    Case(
        "list of a function that a decorator makes",
        "def traced(function):\n    def wrapper(*a):\n        wrapper.calls.append(a)\n        return function(*a)\n"
        "    wrapper.calls = []\n    return wrapper\n@traced\ndef add(x): return x\ndef step(): add([1])\n",
        "add.calls",
        "unbounded",
    ),
    Case("global list", "losses = []\ndef step():\n    losses.append([1])\n", "losses", "unbounded"),
    Case(
        "class attribute",
        "class Keeper:\n    kept = []\n    def add(self):\n        self.kept.append([1])\nkeeper = Keeper()\ndef step():\n    keeper.add()\n",
        "Keeper.kept",
        "unbounded",
    ),
    Case(
        "dataclass",
        "import dataclasses\n@dataclasses.dataclass\nclass Keeper:\n    kept: list = dataclasses.field(default_factory=list)\nkeeper = Keeper()\ndef step():\n    keeper.kept.append([1])\n",
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "namespace",
        "import types\nkeeper = types.SimpleNamespace(kept=[])\ndef step():\n    keeper.kept.append([1])\n",
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "slots",
        "class Keeper:\n    __slots__ = ('kept',)\n    def __init__(self):\n        self.kept = []\nkeeper = Keeper()\ndef step():\n    keeper.kept.append([1])\n",
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "subclass of list",
        "class Log(list):\n    def note(self, x):\n        self.append(x)\nlog = Log()\ndef step():\n    log.note([1])\n",
        "log",
        "unbounded",
    ),
    Case(
        "attribute of an attribute",
        "class Logger:\n    def __init__(self):\n        self.history = []\nclass Trainer:\n    def __init__(self):\n        self.logger = Logger()\n    def train_step(self):\n        self.logger.history.append([1])\ntrainer = Trainer()\ndef step():\n    trainer.train_step()\n",
        "trainer.logger.history",
        "unbounded",
    ),
    Case(
        "dict of lists",
        "metrics = {'loss': [], 'accuracy': []}\ndef step():\n    metrics['loss'].append([1])\n    metrics['accuracy'].clear()\n",
        "metrics['loss']",
        "unbounded",
    ),
    Case(
        "dict of lists in an attribute",
        keeper("def add(self, x): self.kept['loss'].append(x)", "self.kept = {'loss': []}"),
        "keeper.kept['loss']",
        "unbounded",
    ),
    Case("default of a parameter", "def step(kept=[]):\n    kept.append([1])\n", "step.__defaults__[0]", "unbounded"),
    Case(
        "attribute of a function", "def step():\n    step.kept.append([1])\nstep.kept = []\n", "step.kept", "unbounded"
    ),
    Case(
        "cleared in __del__ only",
        keeper(appending() + method("__del__", "self.kept.clear()")),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "cleared at exit only",
        keeper(appending() + method("finish", "self.kept.clear()"), "self.kept = []\natexit.register(self.finish)"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "lazily made",
        keeper(
            "def add(self, x):\n    if self.kept is None:\n        self.kept = []\n    self.kept.append(x)",
            "self.kept = None",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "another class clears its own",
        keeper(
            appending(),
            after="class Other:\n    def __init__(self):\n        self.kept = []\n    def flush(self):\n        self.kept.clear()",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "made by a method of init",
        keeper(appending() + method("build", "self.kept = []"), "self.build()"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "through a helper",
        keeper("def add(self, x): note(self.kept, x)", after="def note(items, x):\n    items.append(x)"),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "syntax of 3.11", keeper(appending("try:\n    pass\nexcept* ValueError:\n    pass")), "keeper.kept", "unbounded"
    ),
    Case("every tenth step", keeper(appending(before="if self.count % 1 == 0:\n    pass")), "keeper.kept", "unbounded"),
    Case("local of no name", "kept = []\nstep = lambda: kept.append([1])\n", "kept", "unbounded"),
    Case(
        "another local is emptied",
        "kept = []\ndef step():\n    kept.append([1])\ndef other():\n    kept = [1]\n    kept.clear()\n",
        "kept",
        "unbounded",
    ),
    Case(
        "every tenth step once it is warm",
        keeper(
            "def add(self, x):\n    self.count += 1\n"
            "    if self.count % 1 == 0 and self.count > 1:\n        self.kept.append([x])",
            "self.kept = []",
        ),
        "keeper.kept",
        "unbounded",
    ),
    Case(
        "written from where the last time ended",
        keeper(
            appending("if len(self.kept) - self.written >= 2:\n    self.write()")
            + method("write", "for x in self.kept[self.written:]: print(x)\nself.written = len(self.kept)"),
            "self.kept, self.written = [], 0",
        ),
        "keeper.kept",
        "unbounded",
    ),
    *(
        Case(f"of some parts, {test}", PARTS.replace("TEST", test), "keeper.kept", "unbounded")
        for test in (
            "part.dim() == 2",
            "'weight' in name",
            "isinstance(part, list)",
            "name.endswith('t') and part.ndim > 1",
        )
    ),
    *(
        Case(
            f"emptied by another step, {name}",
            keeper(appending() + method("other", "self.kept[:] = [1]"), after=after),
            "keeper.kept",
            "uncalled",
            line="self.kept[:] = [1]",
        )
        for name, after in {
            "of a variable": "other_step = keeper.other",
            "of a function": "def make():\n    return keeper.other",
        }.items()
    ),
    *(
        Case(name, registering(key), "kept", "unbounded")
        for name, key in [
            ("number that its object was just given", "self.number"),
            ("name with the number that its object was just given", "f'job {self.number}'"),
        ]
    ),
    *(
        Case(f"below a test that comes again, {name}", keeper(methods, init), "keeper.kept", "unbounded")
        for name, (methods, init) in COMING_AGAIN.items()
    ),
]
