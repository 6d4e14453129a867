"""Break what decides a number, one token at a time, and see whether a test notices.

usage: python benchmarks/mutate.py [--only PART]… [--jobs N] [--sample N] [--seed N] [--list]

The files that decide a number are in `benchmarks/mutants.toml`, each with its tests. A mutant is the
file with one token changed: a comparison, a logical word, a number, a text, an order, a join. Each
one is put into a copy of the tree, and its tests run there until one fails. One that none notices
has survived: it wants a test, or an entry in `mutants.toml` that says why it changes no number.

Python is read with the standard tokenizer, SQL with sqlglot's: most of what decides here is SQL,
which no mutation tool of Python sees.

Exit status: 0 all were noticed or are answered, 1 some survived, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import tokenize
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tree import ROOT, linked

LIMIT_S = 120
"""A mutant whose tests run longer than this hangs, which a user would notice."""

BOTH = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "and": "or", "or": "and", "not": "", "min": "max", "max": "min"}
PYTHON = BOTH | {"==": "!=", "!=": "==", "True": "False", "False": "True", "break": "continue", "continue": "break"}
SQL = BOTH | {
    "=": "<>", "<>": "=", "true": "false", "false": "true", "in": "not in", "desc": "asc", "asc": "desc",
    "least": "greatest", "greatest": "least", "bool_or": "bool_and", "bool_and": "bool_or",
    "min_by": "max_by", "max_by": "min_by",
}  # fmt: skip
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*"}
CALLED = {"min", "max", "min_by", "max_by", "least", "greatest", "bool_or", "bool_and"}
"""Words that are functions only where a bracket follows."""
NO_OPERAND = {"(", ",", "=", "[", ":", "return", "select", "lambda", "else", "if", ""}
"""After these a sign or a star is no operator between two values."""


@dataclass(frozen=True)
class Token:
    """A token and where it stands, in characters."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mutant:
    """A file with one stretch of characters replaced."""

    file: str
    start: int
    end: int
    new: str

    def text(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]

    def place(self, source: str) -> tuple[int, str]:
        """The line's number and its text with the change in it."""
        begin = source.rfind("\n", 0, self.start) + 1
        end = source.find("\n", self.end)
        line = source[begin : self.start] + f"[{source[self.start : self.end]} -> {self.new}]" + source[self.end : end]
        return source.count("\n", 0, self.start) + 1, " ".join(line.split())


def sql_tokens(source: str) -> list[Token]:
    """Tokens of a statement; comments are none."""
    from sqlglot.dialects import DuckDB

    return [Token(source[t.start : t.end + 1], t.start, t.end + 1) for t in DuckDB().tokenize(source)]


def python_tokens(source: str) -> list[Token]:
    """Operators, words and numbers of a module: no docstring, comment or other text."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    kinds = {tokenize.OP, tokenize.NAME, tokenize.NUMBER}
    return [
        Token(t.string, starts[t.start[0] - 1] + t.start[1], starts[t.end[0] - 1] + t.end[1])
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type in kinds
    ]


def _number(text: str) -> str:
    """Another number: the next whole one, or a tenth more."""
    return str(int(text) + 1) if text.isdigit() else repr(round(1.1 * float(text) + 0.1, 6))


def _arithmetic(before: str, token: str, after: str) -> str | None:
    return None if before in NO_OPERAND or after in {",", ")"} else ARITHMETIC.get(token)


def in_sql(before: str, token: str, after: str) -> str | None:
    """What stands in a token's place, or None where it is left alone."""
    word, before, after = token.lower(), before.lower(), after.lower()
    if token.startswith("'"):
        new = token[:-1] + "_'" if len(token) > 2 else None
    elif word[0].isdigit():
        new = _number(word)
    elif word == "is":
        new = "is not" if after == "null" else None
    elif word == "left":
        new = "inner" if after == "join" else None
    elif word == "distinct":
        new = "" if before == "(" else None
    elif word == "or" and after == "replace":
        new = None
    else:
        new = SQL.get(word) or _arithmetic(before, word, after)
    return None if word in CALLED and after != "(" else "" if word == "not" else new


def in_python(before: str, token: str, after: str) -> str | None:
    """What stands in a token's place, or None where it is left alone."""
    if token[0].isdigit():
        new = _number(token)
    elif token == "is":
        new = None if after == "not" else "is not"
    elif token == "not":
        new = None if after == "in" else ""
    elif token in {"True", "False"} and before == "=":
        new = None  # a default: the interface, not what decides
    else:
        new = PYTHON.get(token) or _arithmetic(before, token, after)
    return None if token in CALLED and after != "(" else new


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a file, in the order of the text."""
    sql = file.endswith(".sql")
    tokens = sql_tokens(source) if sql else python_tokens(source)
    out, between, defaults = [], False, False
    for i, t in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        word = t.text.lower()
        between = between or (sql and word == "between")
        if between and word == "and":
            between = False
            continue
        # Defaults of a macro's parameters are its interface: tests of the commands see them, not these.
        defaults = sql and (defaults or before.lower() == "macro") and not (before == ")" and word == "as")
        new = None if defaults else (in_sql if sql else in_python)(before, t.text, after)
        if new is not None:
            out.append(Mutant(file, t.start, t.end, new))
    return out


def _copy(target: Path) -> None:
    """The tree as git knows it, new files included; and a folder of links to it, as it installs."""
    import subprocess

    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    linked(target)


def _tests(tree: Path, tests: list[str], *, first: bool = False) -> bool:
    """Whether the tests pass in a copy of the tree; in a process of their own.

    Only the first run leaves compiled files behind: a file changed twice within a second and by as many
    characters would be taken for the one compiled before.
    """
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    status = 1
    try:
        import pytest

        signal.alarm(LIMIT_S)
        os.chdir(tree)
        sys.path.insert(0, str(tree / "typecheck"))
        os.environ["PYTHONPATH"] = str(tree / "typecheck")
        sys.dont_write_bytecode = not first
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]))
    finally:
        os._exit(status)


def survivors(todo: list[Mutant], tests: dict[str, list[str]], jobs: int) -> list[Mutant]:
    """Those that no test notices.

    Raises:
        SystemExit: the tests fail as they are, before anything is changed.
    """
    import duckdb  # noqa: F401  loaded once, for all children
    import msgspec  # noqa: F401
    import numpy as np  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    import sqlglot  # noqa: F401

    left: list[Mutant] = []
    with tempfile.TemporaryDirectory() as scratch:
        trees: SimpleQueue[Path] = SimpleQueue()
        for n in range(jobs):
            _copy(Path(scratch) / str(n))
            trees.put(Path(scratch) / str(n))
        for file in dict.fromkeys(m.file for m in todo):
            if not all(_tests(Path(scratch) / str(n), tests[file], first=True) for n in range(jobs)):
                sys.exit(f"the tests of {file} fail before anything is changed: {' '.join(tests[file])}")

        def one(m: Mutant) -> tuple[Mutant, bool]:
            tree = trees.get()
            path = tree / m.file
            source = path.read_text(encoding="utf-8")
            try:
                path.write_text(m.text(source), encoding="utf-8")
                return m, _tests(tree, tests[m.file])
            finally:
                path.write_text(source, encoding="utf-8")
                trees.put(tree)

        sources = {m.file: (Path(scratch) / "0" / m.file).read_text(encoding="utf-8") for m in todo}
        with ThreadPoolExecutor(jobs) as pool:
            for n, (m, passed) in enumerate(pool.map(one, todo), 1):
                if passed:
                    left.append(m)
                    number, line = m.place(sources[m.file])
                    print(f"survived {m.file}:{number}: {line}", flush=True)
                if n % 50 == 0:
                    print(f"{n} of {len(todo)}, {len(left)} survived", file=sys.stderr, flush=True)
    return left


def main() -> int:
    """Mutate, print survivors and a line a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="Files whose name holds this; repeatable.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, help="Only so many mutants of each file, at random.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="Print the mutants and run nothing.")
    args = parser.parse_args()
    config = tomllib.loads((ROOT / "benchmarks" / "mutants.toml").read_text(encoding="utf-8"))
    tests = {t["file"]: t["tests"] for t in config["target"]}
    answered = {(a["file"], a["line"]) for a in config.get("answered", [])}
    todo: list[Mutant] = []
    silent: Counter[str] = Counter()
    for file in tests:
        if args.only and not any(part in file for part in args.only):
            continue
        source = (ROOT / file).read_text(encoding="utf-8")
        found = mutants(file, source)
        if args.sample and args.sample < len(found):
            found = sorted(random.Random(args.seed).sample(found, args.sample), key=lambda m: m.start)
        for m in found:
            number, line = m.place(source)
            if args.list:
                print(f"{file}:{number}: {line}")
            if (file, line) in answered:
                silent[file] += 1
            else:
                todo.append(m)
    if args.list:
        return 0
    begun = time.monotonic()
    left = Counter(m.file for m in survivors(todo, tests, max(args.jobs, 1)))
    for file, n in Counter(m.file for m in todo).items():
        counts = f"{n - left[file]:4} noticed, {left[file]:3} survived, {silent[file]:3} answered"
        print(f"{file:40} {n:4} mutants, {counts}")
    print(f"{len(todo)} mutants, {left.total()} survived, {time.monotonic() - begun:,.0f} s")
    return 1 if left.total() else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
