# SPDX-FileCopyrightText: The stepleak authors
# SPDX-License-Identifier: Apache-2.0
"""The user's own source files among the modules that are loaded, parsed when a name in them is asked for."""

from __future__ import annotations

import ast
import gc
import re
import sys
import types
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from stepleak._folders import installed_folders, is_typed_in, is_user_file, real, runtime_folders
from stepleak._frames import ReadLocals, frames_of_this_thread, name_in, running_frames
from stepleak._limit import TimeLimit
from stepleak._objects import all_classes_of, class_namespace_of, is_a, module_namespace, mro_of, name_of
from stepleak._source_text import cells, text_of, without_replaced
from stepleak._syntax import FUNCTIONS, LOOPS, Function, Module, first_line, last_name

_BRANCHING = (ast.If, *LOOPS, ast.ExceptHandler, ast.match_case)
_MOST_FILES = 400
_MOST_CHARACTERS = 4_000_000
_INNER = {"<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}


class UserCode:
    """Sources of one search: what was read or parsed once is kept.

    `folders`: of the package of the step, where that is installed among libraries. `files`: further ones to read.
    `modules`: by name; those that are loaded, where none are given. `entry`: of a step that we repeat. `apart`: files
    of modules that are loaded beside the step's, and matter only where a file that does names them. `read_locals`: of
    a running function; by default nothing is known of these.
    """

    def __init__(
        self,
        folders: list[str],
        files: Iterable[str] = (),
        modules: dict[str, types.ModuleType] | None = None,
        entry: types.CodeType | None = None,
        limit: TimeLimit | None = None,
        apart: Collection[str] = (),
        read_locals: ReadLocals = lambda _: [],
    ) -> None:
        self._limit = limit
        self._read_locals = read_locals
        self._apart = {real(file) for file in apart}
        self._step = None if entry is None else place_of(entry)
        self._waiting: dict[tuple[str, str, int], set[int]] = {}
        for frame in frames_of_this_thread() if entry is not None else ():
            self._waiting.setdefault(place_of(frame.f_code), set()).add(frame.f_lineno)
        self._running: dict[tuple[str, str, int], set[int]] = {}
        for frame in running_frames():
            self._running.setdefault(place_of(frame.f_code), set()).add(frame.f_lineno)
        self._entered = {self._step, *self._running}
        self._living: dict[str, list[type]] | None = None
        self.is_incomplete = False
        """Whether some of the user's code cannot be read at all: too much of it, or typed in."""
        self._texts: dict[str, str | None] = {}
        self._shown: dict[str, str] = {}
        self._namespaces: dict[str, dict[str, Any]] = {}
        self._modules: dict[str, Module | None] = {}
        self._loaded = sys.modules if modules is None else modules
        self._folders = folders
        self._runtime = runtime_folders()
        self._installed = installed_folders()
        self._characters = 0
        self._mentioning: dict[str, tuple[list[Module], bool]] = {}
        self._is_read = False
        self._files = list(files)

    def mentioning(self, word: str) -> tuple[list[Module], bool]:
        """The files with this word in them; and whether all that may matter could be read and parsed."""
        if word not in self._mentioning:
            self._mentioning[word] = self._find_mentioning(word)
        return self._mentioning[word]

    def _find_mentioning(self, word: str) -> tuple[list[Module], bool]:
        self._read_all()
        is_whole = not self.is_incomplete
        found = []
        for file, text in self._texts.items():
            if text is None:
                is_whole = False
            elif word in text:
                module = self._module(file)
                if module is None:
                    is_whole = False
                else:
                    found.append(module)
        return found, is_whole

    def file(self, name: str) -> Module | None:
        self._read_all()
        name = real(name)
        return self._module(name) if self._texts.get(name) is not None else None

    def namespaces(self) -> list[dict[str, Any]]:
        """Of the user's modules that are loaded."""
        self._read_all()
        return list({id(namespace): namespace for namespace in self._namespaces.values() if namespace}.values())

    def sharing(self, namespace: dict[str, Any], name: str) -> list[Module]:
        """The files with this name in them that run in one namespace: a module's own, or all cells of a notebook."""
        return [module for module in self.mentioning(name)[0] if module.namespace is namespace]

    def is_entry(self, module: Module, function: Function) -> bool:
        """Whether it is the function that is called as the step, or runs now."""
        return place_in(module, function) in self._entered

    def is_over(self, module: Module, node: ast.AST) -> bool:
        """Whether it is on the way of a function, or a file, that waits for the end of a run that repeats a step.

        It has run before, or will when all is over. What stands in another branch than the call that waits, or in a
        loop without it, may be what the user's program does where it repeats nothing.
        """
        branches: list[list[ast.stmt]] = []
        for outer, name in module.around(node) if self._waiting else ():
            if name == "body" and isinstance(outer, (*FUNCTIONS, ast.Lambda, ast.Module)):
                lines = set() if isinstance(outer, ast.Lambda) else self._waiting.get(place_in(module, outer), set())
                return any(all(_has_line(branch, line) for branch in branches) for line in lines)
            if isinstance(outer, _BRANCHING) and name in ("body", "orelse"):
                branches.append(getattr(outer, name))
        return False

    def is_before_running_loop(self, module: Module, node: ast.AST) -> bool:
        """Whether it stands in a function that runs, before the outermost loop that it is in."""
        loops = self._running_loops(module, node)
        return bool(loops) and all(node.lineno < loop.lineno for loop in loops)  # type: ignore[attr-defined]

    def is_behind_running_loop(self, module: Module, node: ast.AST) -> bool:
        """The same, where it comes once that loop has ended."""
        loops = self._running_loops(module, node)
        return bool(loops) and all(node.lineno > (loop.end_lineno or 0) for loop in loops)  # type: ignore[attr-defined]

    def _running_loops(self, module: Module, node: ast.AST) -> list[ast.stmt]:
        """The outermost loop in which each call of its function is that runs; empty where one is in none."""
        function = module.function(node)
        lines = self._running.get(place_in(module, function), ()) if function is not None else ()
        loops = [_loop_around(module, function, line) for line in lines]  # type: ignore[arg-type]
        return [] if None in loops else [loop for loop in loops if loop is not None]

    def is_step(self, module: Module, function: ast.AST) -> bool:
        """Whether it is the function that is called as the step."""
        return isinstance(function, FUNCTIONS) and place_in(module, function) == self._step

    def is_run_through(self, module: Module) -> bool:
        """Whether a file has run to its end, so that the loops that stand in none of its functions are over. What a
        notebook's cell runs as begins with "<", too."""
        own = [name for file, name, _ in self._running if file == real(module.file)]
        return not any(name.startswith("<") and name not in _INNER for name in own)

    def is_running(self, module: Module, function: Function) -> bool:
        """Whether it is called now, and goes on when the step is over."""
        return place_in(module, function) in self._running

    def running_values(self, module: Module, function: Function, name: str) -> list[Any]:
        """What a variable is now in each call of a function that runs."""
        place = place_in(module, function)
        if place not in self._entered:
            return []
        return [
            value
            for frame in running_frames()
            if place_of(frame.f_code) == place
            for variable, value in self._read_locals(frame)
            if variable == name
        ]

    def variable_in(self, frame: types.FrameType, value: Any) -> str | None:
        """The variable of a frame that holds a value."""
        return name_in(frame, value, self._read_locals)

    def is_waiting(self, frame: types.FrameType) -> bool:
        """Whether a frame waits for the end of a run that repeats a step."""
        return place_of(frame.f_code) in self._waiting

    def living_classes(self, name: str) -> list[type]:
        """The classes of this name that objects, or their classes' subclasses, have now."""
        if self._living is None:
            self._living = {}
            for base in {base for kind in {type(item) for item in gc.get_objects()} for base in mro_of(kind)}:
                self._living.setdefault(name_of(base), []).append(base)
        return self._living.get(name, [])

    def is_declared_by_library(self, owner: ast.ClassDef, method: str) -> bool:
        """Whether a base that is not the user's has this method too; or that cannot be told."""
        if all(self.classes(last_name(base)) for base in owner.bases):
            return False
        bases = [base for kind in self.living_classes(owner.name) for base in mro_of(kind)]
        return not bases or any(method in class_namespace_of(b) and not self.classes(name_of(b)) for b in bases)

    def functions(self, name: str) -> list[tuple[Module, Function]]:
        """Functions and methods of this name."""
        modules, _ = self.mentioning(name)
        return [(m, n) for m in modules for n in m.functions.get(name, ())]

    def classes(self, name: str) -> list[tuple[Module, ast.ClassDef]]:
        modules, _ = self.mentioning(name)
        return [(m, n) for m in modules for n in m.classes.get(name, ())]

    def definitions(self, kind: type) -> list[tuple[Module, ast.ClassDef]]:
        """Where the sources define a class, or may: two files may each have one of its name, and a library another.

        Which of them it is their modules say, where one of them is known to be the class's own.
        """
        found = self.classes(name_of(kind))
        home = class_namespace_of(kind).get("__module__")
        own = [(module, definition) for module, definition in found if module.namespace.get("__name__") == home]
        return own or ([] if self._is_library(home) else found)

    def defines_class_of(self, item: Any) -> bool:
        """Whether the sources define one of an object's classes, or may."""
        return any(self.definitions(kind) for kind in all_classes_of(item))

    def _is_library(self, name: Any) -> bool:
        loaded = dict.get(self._loaded, name) if type(name) is str else None
        file = module_namespace(loaded).get("__file__")
        return type(file) is str and real(file) not in self._texts

    def is_of_library(self, module: Module, call: ast.Call) -> bool:
        """Whether what is called is an imported module's that is not the user's: `random.sample` is no `sample` of
        theirs."""
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if not isinstance(owner, ast.Name) or module.resolve(owner, owner.id) is not module.tree:
            return False
        imported = dict.get(module.namespace, owner.id)
        file = module_namespace(imported).get("__file__")
        return is_a(imported, types.ModuleType) and (type(file) is not str or self.file(file) is None)

    def calls(self, name: str) -> list[tuple[Module, ast.Call]]:
        """Calls of whatever has this name."""
        modules, _ = self.mentioning(name)
        return [(m, n) for m in modules for n in m.calls.get(name, ())]

    def _read_all(self) -> None:
        if self._is_read:
            return
        self._is_read = True
        for file in self._files:
            self._read(file, {})
        for name, module in list(dict.items(self._loaded)):
            if not is_a(module, types.ModuleType):
                continue
            namespace = module_namespace(module)
            source = dict.get(namespace, "__file__")
            if type(source) is str:
                self._read(source, namespace)
            if name == "__main__":
                self._read_cells(namespace)
                is_any_unread = any(self._is_unread(v, namespace) for v in list(dict.values(namespace)))
                self.is_incomplete = self.is_incomplete or (type(source) is not str and is_any_unread)
        self._leave_out_apart()

    def _read_cells(self, main: dict[str, Any]) -> None:
        """Of a notebook, whose variables are all of one module."""
        for file, text in without_replaced(dict(cells()), main).items():
            self._read(file, main, text)

    def _is_unread(self, value: Any, main: dict[str, Any]) -> bool:
        """Whether a program without a file, as a notebook or `python -c`, defines it itself, instead of importing it,
        where no source is held."""
        if is_a(value, type):
            is_own = class_namespace_of(value).get("__module__") == "__main__"
            return is_own and not any(name_of(value) in (text or "") for text in self._texts_of(main))
        return type(value) is types.FunctionType and value.__globals__ is main and not self._is_read_from(value)

    def _texts_of(self, namespace: dict[str, Any]) -> list[str | None]:
        return [self._texts[file] for file, own in self._namespaces.items() if own is namespace and file in self._texts]

    def _is_read_from(self, function: types.FunctionType) -> bool:
        return self._texts.get(real(function.__code__.co_filename)) is not None

    def _leave_out_apart(self) -> None:
        """What stands apart, and is named by no file that does not, nor by one that such a file names."""
        apart = self._apart & self._texts.keys() - {real(file) for file in self._files}
        texts = [text for file, text in self._texts.items() if file not in apart]
        while texts:
            text = texts.pop() or ""
            named = {file for file in apart if re.search(rf"\b{re.escape(Path(file).stem)}\b", text)}
            texts += [self._texts[file] for file in named]
            apart -= named
        for file in apart:
            del self._texts[file], self._namespaces[file]

    def _read(self, file: str, namespace: dict[str, Any], text: str | None = None) -> None:
        """`text`: of one that is no file."""
        is_python = file.endswith(".py") or is_typed_in(file) or self._is_script(file)
        if not is_python or not is_user_file(file, self._folders, self._runtime, self._installed):
            return
        # A file may be loaded through a link, and twice; it is shown as it was loaded.
        shown, file = file, real(file)
        self._shown.setdefault(file, shown)
        if namespace or file not in self._namespaces:
            self._namespaces[file] = namespace
        if text is not None:
            self._texts.pop(file, None)
        if file in self._texts:
            return
        if len(self._texts) >= _MOST_FILES or self._characters > _MOST_CHARACTERS:
            self.is_incomplete = True
            return
        self._texts[file] = text_of(shown) if text is None else text
        self._characters += len(self._texts[file] or "")

    def _is_script(self, file: str) -> bool:
        """Whether it is what Python was started with, whatever its name ends in."""
        main = dict.get(self._loaded, "__main__")
        return is_a(main, types.ModuleType) and module_namespace(main).get("__file__") == file

    def _module(self, file: str) -> Module | None:
        if file not in self._modules:
            if self._limit is not None:
                self._limit.check()
            try:
                self._modules[file] = Module(self._shown[file], self._texts[file] or "", self._namespaces[file])
            except (SyntaxError, ValueError, RecursionError):
                self._modules[file] = None
        return self._modules[file]


def place_in(module: Module, scope: Function | ast.Module) -> tuple[str, str, int]:
    """As `place_of` has it of the code of a function or a file."""
    name, line = ("<module>", 1) if isinstance(scope, ast.Module) else (scope.name, first_line(scope))
    return real(module.file), name, line


def place_of(code: types.CodeType) -> tuple[str, str, int]:
    return real(code.co_filename), code.co_name, code.co_firstlineno


def _has_line(statements: list[ast.stmt], line: int) -> bool:
    return statements[0].lineno <= line <= (statements[-1].end_lineno or 0)


def _loop_around(module: Module, function: Function, line: int) -> ast.stmt | None:
    """The outermost loop of a function around a line."""
    loops = [node for node in ast.walk(function) if isinstance(node, LOOPS) and module.function(node) is function]
    around = [loop for loop in loops if loop.lineno <= line <= (loop.end_lineno or 0)]
    return min(around, key=lambda loop: loop.lineno, default=None)


class OwnerClasses:
    """The classes of an object that has an attribute, in the sources; none where there is no such object."""

    def __init__(self, code: UserCode, owner: Any = None) -> None:
        kinds = [] if owner is None else all_classes_of(owner)
        self._known = {definition for kind in kinds for _, definition in code.definitions(kind)}

    def has(self, definition: ast.ClassDef) -> bool:
        """Whether a class of the sources is, or may be, one of them."""
        return definition in self._known
