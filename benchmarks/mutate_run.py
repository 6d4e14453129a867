"""The tests of one file, collected once, and run against each of its mutants in a forked child.

What takes the time of a mutation run is starting: the interpreter, the imports, the collection of the
tests, a database with the schema and a hundred models. All of it is done once here, and each mutant is
a child that inherits it, changes one thing in memory and runs tests until one fails:

* a function of Python gets the code of the changed file in place of its own, so that whoever imported
  it sees the change. Its tests are those that reached the line, which coverage.py noted once;
* a model is installed anew in the database that stands open, and read so by whatever opens another;
* what is fixed when a module is imported (a constant, a default, a class) cannot be changed afterwards:
  such a mutant is a process that has imported nothing of kbstats yet (`afresh`).

DuckDB and numpy keep threads, which no child inherits: connections are opened with one thread.
"""

from __future__ import annotations

import ast
import gc
import importlib.abc
import importlib.machinery
import inspect
import os
import re
import resource
import signal
import sys
import time
from collections import Counter
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest
    from mutants import Mutant

LEAST_S = 20
"""Processor time that a mutant's tests have at least, and ten times what they took: a change that loops is noticed."""

SURVIVED, NOTICED, ASTRAY = 0, 1, 3
OUTCOMES = {SURVIVED: "survived", NOTICED: "noticed", -signal.SIGXCPU: "time limit"}


def words(text: str) -> set[str]:
    """Words of a statement or a test: names, and what stands in texts."""
    return set(re.findall(r"[a-z_]{3,}", text.lower()))


def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object and all that stand in it, in the order of the text."""
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from codes(const)


def module_path(tree: Path, file: str) -> Path:
    """Where a file of the tree is imported from: the folder of links."""
    return tree / "typecheck" / "kbstats" / file


class Lines:
    """Which lines of a module are run by which tests, and which are run when it is imported."""

    def __init__(self, source: str) -> None:
        self.tests: dict[int, set[int]] = {}
        self.spans: list[range] = []
        self.inside: set[int] = set()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.stmt):
                body = getattr(node, "body", None)
                last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
                self.spans.append(range(node.lineno, max(last, node.lineno) + 1))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.inside.update(range(node.body[0].lineno, (node.end_lineno or 0) + 1))

    def reached(self, line: int) -> set[int]:
        """Numbers of the tests that run the statement on a line: its head alone where it has a body."""
        around = min((s for s in self.spans if line in s), key=len, default=range(line, line + 1))
        return set().union(*(self.tests.get(n, set()) for n in around))


class Warm:
    """A pytest plug-in whose loop over the tests is a loop over mutants."""

    def __init__(
        self, tree: Path, file: str, todo: list[Mutant], jobs: int, told: Callable[[Mutant, str], None]
    ) -> None:
        self.path = module_path(tree, file)
        self.source = self.path.read_text(encoding="utf-8")
        self.todo, self.jobs, self.told = todo, jobs, told
        self.sql = file.endswith(".sql")
        self.lines = None if self.sql else Lines(self.source)
        self.took: dict[int, float] = {}
        self.killers: Counter[int] = Counter()
        self.words: list[set[str]] = []
        self.last = 0
        self.connections: list[Any] = []
        self.late: list[Mutant] = []
        self.failure = self.wrong = "they were not collected"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = session.items
        self.words = [words(inspect.getsource(i.function) + i.name) for i in self.items]
        self.common = Counter(w for found in self.words for w in found)
        # A session's fixtures are set up here, once: a child that made them would lose them again.
        shared = next((n for n, i in enumerate(self.items) if "installed" in i.fixturenames), None)
        if shared is not None:
            self._passes(shared)
        self.wrong = self._before()
        if not self.wrong:
            self._all()
        return True

    def _passes(self, n: int, after: int | None = None) -> bool:
        """Run a test; what it shares with the one after it stays set up, and what the session shares always."""
        from _pytest.runner import runtestprotocol

        item = self.items[n]
        following: Any = item.session if after is None else self.items[after]
        failed = [r for r in runtestprotocol(item, nextitem=following, log=False) if r.failed]
        self.failure = f"{failed[0].nodeid}: {str(failed[0].longrepr).splitlines()[-1]}" if failed else ""
        return not failed

    def _before(self) -> str:
        """Run all tests unchanged, in a child: how long each takes and which lines it reaches; what fails."""
        import pickle

        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(read)
            with os.fdopen(write, "wb") as out:
                pickle.dump(self._measured(), out)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as told:
            text = told.read()
        os.waitpid(pid, 0)
        if not text:
            return "the child that ran them died"
        failure, self.took, reached = pickle.loads(text)
        if self.lines:
            self.lines.tests = reached
        return failure

    def _measured(self) -> tuple[str, dict[int, float], dict[int, set[int]]]:
        import coverage

        real = str(self.path.resolve())  # coverage follows links
        cov = None if self.sql else coverage.Coverage(data_file=None, include=[real], config_file=False)
        took: dict[int, float] = {}
        if cov:
            cov.start()
        for n in range(len(self.items)):
            forget()
            if cov:
                cov.switch_context(str(n))
            begun = time.process_time()
            if not self._passes(n, n + 1 if n + 1 < len(self.items) else None):
                return self.failure, took, {}
            took[n] = time.process_time() - begun
        reached: dict[int, set[int]] = {}
        if cov:
            cov.stop()
            by_line = cov.get_data().contexts_by_lineno(real)
            reached = {line: {int(c) for c in found if c} for line, found in by_line.items()}
        return "", took, reached

    def _all(self) -> None:
        running: dict[int, tuple[Mutant, int]] = {}
        for m in self.todo:
            if self.lines and m.line(self.source) not in self.lines.inside:
                self.late.append(m)
                continue
            if len(running) >= self.jobs:
                self._ended(running)
            read, write = os.pipe()
            pid = os.fork()
            if not pid:
                os.close(read)
                os._exit(self._one(m, write))
            os.close(write)
            running[pid] = m, read
        while running:
            self._ended(running)

    def _ended(self, running: dict[int, tuple[Mutant, int]]) -> None:
        pid, status = os.wait()
        m, read = running.pop(pid)
        with os.fdopen(read, "r") as told:
            for killer in told.read().split():
                self.killers[int(killer)] += 1
                self.last = int(killer)
        code = os.waitstatus_to_exitcode(status)
        self.told(m, OUTCOMES.get(code, "astray"))

    def _order(self, m: Mutant) -> list[int]:
        """The test that noticed the mutant before, then those that speak of the same things, then the short ones.

        A model has no coverage to go by; but a line about `work_item` is noticed by a test in which that
        word stands, and more so the fewer tests it stands in.
        """
        some = set(range(len(self.items))) if self.lines is None else self.lines.reached(m.line(self.source))
        near = self._likely(m)
        return sorted(some, key=lambda n: (-near[n] if self.sql else n != self.last, -self.killers[n], self.took[n]))

    def _likely(self, m: Mutant) -> list[float]:
        lines = self.source.splitlines()
        at = m.line(self.source) - 1
        here = words(self.source[m.start : m.end]), words(lines[at]), words(" ".join(lines[max(0, at - 2) : at + 3]))
        known = [w for w in here[2] if self.common[w]]
        weights = Counter({w: (4 * (w in here[0]) + 2 * (w in here[1]) + 1) / self.common[w] for w in known})
        return [sum(weights[w] for w in found) for found in self.words]

    def _one(self, m: Mutant, write: int) -> int:
        """In the child: change, and run tests until one fails."""
        order = self._order(m)
        if not order:
            return SURVIVED
        limit(10 * sum(self.took[n] for n in order))
        forget()
        try:
            (self._into_database if self.sql else self._into_functions)(m.text(self.source))
        except Exception:  # noqa: BLE001 - whatever it is, a user would see it
            return NOTICED
        for n, after in zip(order, [*order[1:], None], strict=True):
            if not self._passes(n, after):
                os.write(write, f"{n} ".encode())
                return NOTICED
        return SURVIVED

    def _into_functions(self, text: str) -> None:
        old = list(codes(compile(self.source, str(self.path), "exec", dont_inherit=True)))
        new = list(codes(compile(text, str(self.path), "exec", dont_inherit=True)))
        if len(old) != len(new):
            raise ValueError("not the same functions")
        functions = [o for o in gc.get_objects() if isinstance(o, FunctionType)]
        mine = [f for f in functions if f.__code__.co_filename == str(self.path)]
        if not mine:
            os._exit(ASTRAY)
        for f in mine:
            f.__code__ = new[old.index(f.__code__)]

    def _into_database(self, text: str) -> None:
        from kbstats.sql import catalog

        kind, name = self.path.parent.name, self.path.stem
        parse = catalog._parse  # noqa: SLF001  where every file of SQL is read
        catalog._parse = lambda k, n, t: parse(k, n, text if (k, n) == (kind, name) else t)  # noqa: SLF001
        model = parse(kind, name, text)
        statement = catalog._as_source(model) if model.stored else model.sql  # noqa: SLF001
        for con in self.connections:
            con.execute(statement)


def limit(seconds: float) -> None:
    """End this process after so much of its own time: however busy the machine is, it is the tests that are slow."""
    most = int(max(LEAST_S, seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))


def forget() -> None:
    """Empty every cache of kbstats: what was computed before a change hides it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("kbstats"):
            for value in list(vars(module).values()):
                if callable(getattr(value, "cache_clear", None)) and hasattr(value, "__wrapped__"):
                    value.cache_clear()


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a text."""

    def __init__(self, module: str, path: Path, text: str) -> None:
        self.module, self.path, self.text = module, path, text

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Found here, and nowhere else."""
        if fullname != self.module:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self.path))

    def create_module(self, _: importlib.machinery.ModuleSpec) -> None:
        """As any other is made."""

    def exec_module(self, module: Any) -> None:
        """Run the text."""
        module.__file__ = str(self.path)
        exec(compile(self.text, str(self.path), "exec", dont_inherit=True), module.__dict__)


def settle(tree: Path) -> list[Any]:
    """In a child: the tree's packages before any other, silence, one thread a database. Those opened from now on."""
    import duckdb

    opened: list[Any] = []
    os.chdir(tree)
    sys.path.insert(0, str(tree / "typecheck"))
    os.environ["PYTHONPATH"] = str(tree / "typecheck")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    connect = duckdb.connect

    def one_thread(database: Any = ":memory:", *args: Any, **more: Any) -> Any:
        con = connect(database, *args, **more)
        con.execute("set threads = 1")
        con.execute("pragma disable_optimizer")  # a handful of rows: planning is what takes the time
        opened.append(con)
        return con

    duckdb.connect = one_thread
    return opened


OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "timeout=0"]


def afresh(tree: Path, m: Mutant, tests: list[str], limit_s: float) -> str:
    """What becomes of a mutant in a process that imports it."""
    import pytest

    pid = os.fork()
    if not pid:
        status = 1
        try:
            limit(limit_s)
            settle(tree)
            package = "kbstats." + m.file.removesuffix(".py").replace("/", ".")
            source = (tree / m.file).read_text(encoding="utf-8")
            sys.meta_path.insert(0, Changed(package, module_path(tree, m.file), m.text(source)))
            status = int(pytest.main(["-x", *OPTIONS, *tests]))
        finally:
            os._exit(NOTICED if status else SURVIVED)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return OUTCOMES.get(code, "noticed")


def run(tree: Path, file: str, todo: list[Mutant], tests: list[str], jobs: int) -> dict[Mutant, str]:
    """What becomes of each mutant of a file: `noticed`, `time limit` or `survived`.

    Raises:
        ValueError: the tests fail as they are, before anything is changed.
    """
    import pytest

    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(read)
            opened = settle(tree)

            def told(m: Mutant, outcome: str) -> None:
                os.write(write, f"{todo.index(m)} {outcome}\n".encode())

            plugin = Warm(tree, file, todo, jobs, told)
            plugin.connections = opened
            pytest.main([*OPTIONS, *tests], plugins=[plugin])
            for m in plugin.late:
                told(m, "late")
            took = f"{sum(plugin.took.values()):.0f}"
            os.write(write, (f"wrong {plugin.wrong}\n" if plugin.wrong else f"fine {took}\n").encode())
        finally:
            os._exit(0)
    os.close(write)
    said: list[list[str]] = []
    with os.fdopen(read, encoding="utf-8") as lines:
        for line in lines:
            said.append(line.strip().split(" ", 1))
            if len(said) % 50 == 0:
                print(f"{file}: {len(said)} of {len(todo)}", file=sys.stderr, flush=True)
    os.waitpid(pid, 0)
    last, what = said.pop() if said else ("wrong", "the process that runs them died")
    if last != "fine":
        raise ValueError(f"the tests of {file} fail before anything is changed: {what}")
    took = int(what)
    found = {todo[int(k)]: v for k, v in said}
    if len(found) < len(todo) or "astray" in found.values():
        raise ValueError(f"{file}: a mutant went astray: its module is not loaded by the tests, or a child died")
    for m in [m for m, outcome in found.items() if outcome == "late"]:
        found[m] = afresh(tree, m, tests, 3 * LEAST_S + 10 * took)
    return found
