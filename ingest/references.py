"""Reference problems: recognised in a prompt or a file, and whether their inputs change shape.

A reference is a module with a class `Model` and a function `get_inputs`. A run names one only where
it is certain which: a prompt that shows an example beside the task names none.
"""

from __future__ import annotations

import ast
import functools
import re
from typing import TYPE_CHECKING, Any

from kbstats.ingest import hashing
from kbstats.ingest.rows import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.ingest.batch import Batch

_BLOCK = re.compile(r"^```(?:python|py)[ \t]*\n(?P<code>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_MODEL = re.compile(r"^class Model\b", re.MULTILINE)
_INPUTS = re.compile(r"^def get_inputs\b", re.MULTILINE)

_DRAWS = re.compile(r"(?:rand(?:int|range|om)|integers|choices?|uniform|triangular|gauss|jitter\w*|sample)")
"""Functions that draw one number. Of torch's own, which make tensors, see `_is_draw`."""
_SHAPED = frozenset(
    {
        "randn", "rand", "zeros", "ones", "empty", "full", "randint", "randperm", "arange", "linspace", "eye",
        "normal", "tensor", "range", "view", "reshape", "expand", "repeat", "repeat_interleave", "broadcast_to",
        "new_zeros", "new_ones", "new_empty", "new_full",
    }
)
"""Functions whose arguments are dimensions, or decide how many elements there are."""
_VALUES: dict[str, tuple[int, int | None]] = {
    "randint": (2, None), "normal": (2, None), "full": (0, 1), "new_full": (0, 1), "tensor": (0, 0),
}
"""Which positional arguments of torch's own functions are dimensions, where not all are."""
_NO_DIMENSIONS = frozenset(
    {"fill_value", "low", "high", "mean", "std", "device", "dtype", "generator", "requires_grad"}
)


def is_reference(source: str) -> bool:
    """Whether a source is a problem's: it defines `Model` and `get_inputs`."""
    return bool(_MODEL.search(source) and _INPUTS.search(source))


@functools.lru_cache(maxsize=1024)
def in_prompt(text: str) -> str | None:
    """The reference that a prompt shows, or None where there is none, several, or one that was cut."""
    if "class Model" not in text:
        return None
    found = [m["code"] for m in _BLOCK.finditer(text) if is_reference(m["code"])]
    return found[0] if len(found) == 1 and not hashing.is_cut(found[0]) else None


def add_problem(batch: Batch, source: str, *, suite: str, **columns: Any) -> str | None:
    """Put a reference among the file's problems; its sha256, or None for a source that is cut or none."""
    if not is_reference(source) or hashing.is_cut(source):
        return None
    sha, drawn = _facts(source)
    batch.add(
        Problem(
            source_id=batch.source_id,
            suite=suite,
            source_code=source,
            source_sha256=sha,
            draws_shapes=drawn,
            **columns,
        )
    )
    return sha


@functools.lru_cache(maxsize=1024)
def _facts(source: str) -> tuple[str, bool | None]:
    return hashing.source_sha256(source), draws_shapes(source)


def draws_shapes(source: str) -> bool | None:
    """Whether `get_inputs` draws at least one dimension; None where the source does not parse.

    A drawn number (`randint`, `jitter_int` …, of torch only behind `.item()` or `int()`) counts
    where it reaches an argument that is a dimension, directly, by a name or by a helper function.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    if "get_inputs" not in functions:
        return None
    drawn = {name for name, f in functions.items() if _returns_draw(f)} - {"get_inputs"}
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            _follow(statement, drawn)
    return _feeds(functions["get_inputs"], set(drawn), functions, depth=3)


def _feeds(f: ast.FunctionDef, drawn: set[str], functions: dict[str, ast.FunctionDef], depth: int) -> bool:
    """Whether a drawn number becomes a dimension in a function, or in the helpers it calls."""
    for _ in range(2):  # twice: a name may be used in a loop above the line that sets it
        for node in ast.walk(f):
            _follow(node, drawn)
    for node in ast.walk(f):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and _tainted(node.slice, drawn):
            return True
        if not isinstance(node, ast.Call):
            continue
        name = _last(node.func)
        arguments = _dimensions(node, name)
        if (name in _SHAPED or name in functions) and any(_tainted(a, drawn) for a in arguments):
            return True
        helper = functions.get(name)
        if helper is not None and helper is not f and depth and _feeds(helper, set(drawn), functions, depth - 1):
            return True
    return False


def _dimensions(node: ast.Call, name: str) -> list[ast.AST]:
    """The arguments of a call that may be dimensions: bounds and values of what is made are none."""
    start, end = _VALUES.get(name, (0, None)) if _root(node.func) == "torch" else (0, None)
    return [*node.args[start:end], *(k.value for k in node.keywords if k.arg not in _NO_DIMENSIONS)]


def _follow(node: ast.AST, drawn: set[str]) -> None:
    """Add the names that an assignment or a loop gives a drawn value."""
    targets: list[ast.expr] = []
    value: ast.AST | None = None
    if isinstance(node, ast.Assign):
        targets, value = node.targets, node.value
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
        targets, value = [node.target], node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        targets, value = [node.target], node.iter
    if value is not None and _tainted(value, drawn):
        drawn.update(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))


def _returns_draw(f: ast.FunctionDef) -> bool:
    drawn: set[str] = set()
    for node in ast.walk(f):
        _follow(node, drawn)
    return any(
        isinstance(n, ast.Return) and n.value is not None and _tainted(n.value, drawn) for n in ast.walk(f)
    )


def _tainted(node: ast.AST, drawn: set[str]) -> bool:
    """Whether an expression holds a drawn number: not one within a tensor that it makes."""
    if isinstance(node, ast.Name):
        return node.id in drawn
    if isinstance(node, ast.Call):
        if _is_draw(node):
            return True
        name = _last(node.func)
        if name in drawn and isinstance(node.func, ast.Name):
            return True
        if name in {"item", "int", "tolist"} and any(_is_torch_draw(n) for n in ast.walk(node)):
            return True
        if name in _SHAPED and name != "range":
            return False  # a tensor: its elements are no dimensions
    return any(_tainted(child, drawn) for child in _inner(node))


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    return (c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context))


def _is_draw(node: ast.Call) -> bool:
    return bool(_DRAWS.fullmatch(_last(node.func))) and _root(node.func) != "torch"


def _is_torch_draw(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and _root(node.func) == "torch"
        and _last(node.func) in {"randint", "rand", "randperm", "randn", "multinomial"}
    )


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
