"""Mutants: a file with one token changed. A comparison, a logical word, a number, a text, an order, a join.

Python is read with the standard tokenizer, SQL with sqlglot's: most of what decides a number here is
SQL, which no mutation tool of Python sees.
"""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass

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

    def line(self, source: str) -> int:
        """The number of its line."""
        return source.count("\n", 0, self.start) + 1

    def place(self, source: str) -> tuple[int, str]:
        """The line's number and its text with the change in it."""
        begin = source.rfind("\n", 0, self.start) + 1
        end = source.find("\n", self.end)
        line = source[begin : self.start] + f"[{source[self.start : self.end]} -> {self.new}]" + source[self.end : end]
        return self.line(source), " ".join(line.split())


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
