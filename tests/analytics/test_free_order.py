"""No query leaves to the order of rows what it answers: aggregates, windows and limits say which row they mean.

`test_row_order.py` tries whole databases; this reads the queries, so that a new one is held to it before a corpus
with the right tie is thought of.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ONE = r"any_value|arbitrary|first|last|list|array_agg|string_agg|group_concat|listagg|mode|json_group_array|json_group_object"
_BEST = r"arg_max|arg_min|max_by|min_by|argmax|argmin"
_SUM = r"sum|avg|mean|fsum|favg|product|stddev\w*|var_\w+|variance|corr|geomean|geometric_mean"
_PLACE = r"row_number|first_value|last_value|nth_value|lag|lead|ntile"
_CALL = re.compile(rf"(?<![\w.$])({_ONE}|{_BEST}|{_SUM}|{_PLACE})\s*\(", re.IGNORECASE)
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")

EXACT = {
    # Sums of whole numbers are the same in any order.
    "sum(total_tokens)", "sum(p.turns_lost)", "sum(s.n)", "sum(u.n_calls)", "sum(turns_lost)", "sum(n_runs)", "sum(n)",
    "sum(recovered)", "sum(e.n_repeats)", "sum(n_calls)", "sum(n_runs_before_first_pass)", "sum(n_runs_passed)",
    "sum(tool_results)", "sum(runs_ended)", "sum(tool_results + runs_ended)", "sum(size_bytes)", "sum(hash(t, p, s.left_out, r.model, r.level, r.precision, r.speedup)::hugeint)",
    # Two addends: candidate and reference.
    "sum(variance)",
    # A set: what is changed is looked up in it.
    "list(distinct run_id)",
}  # fmt: skip


def queries():
    """(file, text) of every SQL file and of every string of the packages that is a query."""
    for path in sorted((ROOT / "sql").rglob("*.sql")):
        yield path, path.read_text(encoding="utf-8")
    for package in ("analytics", "ingest", "site", "sql", "data"):
        for path in sorted((ROOT / package).rglob("*.py")):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            parts = {id(v) for node in nodes if isinstance(node, ast.JoinedStr) for v in node.values}
            for text in ("".join(literals(node)) for node in nodes if id(node) not in parts):
                if re.search(r"\bselect\b.+\b(from|unnest)\b|^\s*from \w+", text, re.DOTALL):
                    yield path, text


def literals(node):
    """The text of a string, of an f-string with a name where a value goes in, else nothing."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        for part in node.values:
            yield part.value if isinstance(part, ast.Constant) else "x"


def bracketed(text, start):
    """What stands between the bracket at `start` and the one that closes it."""
    depth = 0
    for i in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return text[start + 1 : i]
    return text[start + 1 :]


def free(text):
    """Calls and limits of a query whose answer rests on the order of its rows."""
    bare = re.sub(r"\s+", " ", _NOISE.sub("''", text)).lower()
    for m in _CALL.finditer(bare):
        name, inner = m[1], bracketed(bare, m.end() - 1)
        call = f"{name}({inner})"
        after = bare[m.end() + len(inner) :]
        window = re.match(r"\)(?: filter \(.*?\))? over (?:\((?P<own>.*)|(?P<name>\w+))", after)
        if re.fullmatch(_PLACE, name) or window:
            if re.fullmatch(_SUM, name):  # over a frame of its own
                continue
            over = bracketed("(" + window["own"], 0) if window and window["own"] is not None else bare
            if "order by" not in over:
                yield call
        elif "order by" not in inner and call not in EXACT and not (re.fullmatch(_BEST, name) and total(inner)):
            yield call
    for m in re.finditer(r"\blimit (?!0\b)", bare):
        scope = own(bare[enclosing(bare, m.start()) : m.start()])
        if "order by" not in scope and not re.search(r"select (1|'')(?!\w)", scope):
            yield scope[-60:] + bare[m.start() : m.end() + 10]


def total(inner):
    """Whether the order of a max_by or min_by holds what is chosen: max_by(name, (value, name))."""
    if inner[: len(inner) // 2 - 1] == inner[len(inner) // 2 + 1 :]:
        return True
    chosen, _, order = inner.partition(", ")
    return order.startswith("(") and re.search(rf"(?<![\w.]){re.escape(chosen)}(?![\w.])", order) is not None


def enclosing(text, end):
    """Where the innermost bracket that is open at `end` begins."""
    depth = 0
    for i in range(end - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(text[i], 0)
        if depth < 0:
            return i
    return 0


def own(scope):
    """A scope without what stands in brackets of its own."""
    while scope != (flat := re.sub(r"(?<!^)\([^()]*\)", "", scope)):
        scope = flat
    return scope


def test_no_query_rests_on_the_order_of_rows():
    found = {(str(path.relative_to(ROOT)), what) for path, text in queries() for what in free(text)}
    print(*sorted(found), sep="\n")
    assert not found


def test_many_queries_are_read():
    read = [(path.suffix, path.parts[-2]) for path, _ in queries()]
    assert sum(suffix == ".sql" for suffix, _ in read) > 100
    assert sum(suffix == ".py" for suffix, _ in read) > 60


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("select any_value(x) from t group by k", 1),
        ("select any_value(x order by x) from t group by k", 0),
        ("select string_agg(distinct x, ', ') from t", 1),
        ("select string_agg(distinct x, ', ' order by x) from t", 0),
        ("select max_by(a, b) from t", 1),
        ("select max_by(a, (b, a)), min_by(turn, (-speedup, turn)) from t", 0),
        ("select max_by(a, (b, c)) from t", 1),
        ("select sum(cost_usd) from t", 1),
        ("select sum(cost_usd order by run_id), count(x) from t", 0),
        ("select row_number() over (partition by k) from t", 1),
        ("select row_number() over (partition by k order by f(x)) from t", 0),
        ("select first_value(x) over w from t window w as (partition by k order by x)", 0),
        ("select first_value(x) over w from t window w as (partition by k)", 1),
        ("select x from t limit 10", 1),
        ("select x from (select y from t order by y) limit 10", 1),
        ("select x from t order by x limit 10", 0),
        ("select 1 from t limit 1", 0),
        ("-- any_value(x)\nselect 'list(x)' as a from t", 0),
    ],
)
def test_what_counts_as_free(text, wrong):
    assert len(list(free(text))) == wrong
