"""Everything the site asks of the database: fixed statements, sorted, one list of records each.

What ranks at a level of trust, what an outcome is and what a finding blocks is decided by the models in
`sql/`; nothing here computes a rank.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kbstats.analytics.output import rows_of
from kbstats.site.text import Clean
from kbstats.sql.catalog import sql_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

Row = dict[str, Any]

RUNS = """
select r.* exclude (extra), cast(r.extra as varchar) as extra,
    o.outcome, o.failure_class, o.evidence, o.decided_by, o.decided_turn, o.label_conflict,
    t.owner, t.claims_correct, t.attempted, t.richer_run_id, t.is_infra, t.flagged, t.verified, t.refuted,
    gpu_key(r.hardware) as gpu, variant_key(r.variant) as variant_key,
    t.blocks_speed, t.blocks_correctness, t.blocks_identity,
    s.path as source_path, s.root as source_root,
    p.problem_key
from runs as r
left join run_problems as p using (run_id)
left join run_outcomes as o using (run_id)
left join run_status as t using (run_id)
left join sources as s using (source_id)
order by r.suite, r.level, r.variant, r.problem_id, r.problem_name, r.model, r.sweep, r.sample_id, r.run_id
"""

FINDINGS = "select * from audit_findings order by code, run_id, message, value"
TRUST = """
select run_id, trust, verified_on, reduced_to, counts_correct, speedup, reason
from run_trust order by run_id, trust, counts_correct desc, verified_on
"""
FAILURES = "select * from tool_failures order by run_id, turn, seq"
CLASSES = "select * from failure_classes order by class"
ANNOTATIONS = "select * from annotations order by run_id, kernel_sha256, author, verdict, text"
VERIFICATIONS = """
select v.* exclude (document, witness), cast(v.witness as varchar) as witness,
    d.verification_id is not null as decides,
    if(
        d.verification_id is null,
        coalesce(
            undecided_because(v.verdict, v.device, v.gpu_model, v.sandbox_ok, v.speedup, v.speedup_lo, v.speedup_hi),
            'replaced by another result of this kernel'
        ),
        ''
    ) as undecided,
    s.n_runs, s.ranks, s.refutes
from verifications as v
left join deciding_verifications as d on v.verification_id = d.verification_id
left join (
    select verification_id, count(*) as n_runs, bool_or(ranks) as ranks, bool_or(refutes) as refutes
    from run_verifications group by verification_id
) as s on v.verification_id = s.verification_id
order by v.suite, v.level, v.problem_name, v.kernel_sha256, v.verified_at, v.verification_id
"""
CHECKS = """
select c.verification_id, c.gate, c.passed, c.n, cast(c.detail as varchar) as detail
from verification_checks as c order by c.verification_id, c.gate
"""
TIMINGS = """
select t.verification_id, t.baseline, t.pair, t.ref_us, t.cand_us, t.kept, t.clock_mhz
from verification_timings as t order by t.verification_id, t.baseline, t.pair
"""
DOCUMENTS = (
    "select verification_id, cast(document as varchar) as document from verifications where document is not null"
)
PROBLEMS = """
select * from problems
order by suite, level, variant, problem_name, source_sha256, source_id
"""
ISSUES = """
select i.severity, i.code, i.message, i.location, i.run_id, i.path, s.root, s.status, s.format
from ingest_issues as i left join sources as s using (source_id)
order by i.severity, i.code, i.path, i.location, i.message
"""
SOURCES = """
select format, status, count(*) as n, sum(n_runs) as n_runs, sum(size_bytes) as size_bytes
from sources group by all order by all
"""
ROOTS = "select distinct root from sources where root is not null order by root"
TOTALS = """
select (select count(*) from runs) as runs, (select count(*) from turns) as turns,
    (select count(*) from tool_calls) as tool_calls, (select count(*) from kernels) as kernels,
    (select count(*) from sources) as sources, (select count(*) from ingest_issues) as issues,
    (select count(*) from run_copies) as copies, (select count(*) from run_links) as links
"""
SENDS = """
select kernel_sha256, run_id, turn, seq, tool, ok from tool_calls
where kernel_sha256 is not null order by kernel_sha256, run_id, turn, seq
"""
TURN_STATES = "select run_id, turn, state from run_states where state is not null order by run_id, turn"
KERNEL_HEADS = "select kernel_sha256, language, n_lines, n_chars from kernels order by kernel_sha256"
LINKS = "select * from run_links order by run_id, linked_run_id"

# What a run's page shows, for a list of runs at a time: a query a run would cost more than its page.
DETAILS: dict[str, str] = {
    "turns": "select * from turns where run_id in (select unnest($runs)) order by run_id, turn",
    "messages": """
        select *, not regexp_matches(text, $scan) as text_clean
        from messages where run_id in (select unnest($runs)) order by run_id, turn, seq""",
    "calls": """
        select run_id, turn, seq, tool, ok, outcome, kernel_sha256, cast(args as varchar) as args,
            result_text, not regexp_matches(result_text, $scan) as result_text_clean, duration_s
        from tool_calls where run_id in (select unnest($runs)) order by run_id, turn, seq""",
    "errors": "select * from compile_errors where run_id in (select unnest($runs)) order by run_id, turn, seq, ordinal",
    "timeouts": """
        select * from timeouts where run_id in (select unnest($runs))
        order by run_id, turn, seq, scope, message""",
    "metrics": """
        select * from metrics where run_id in (select unnest($runs))
        order by run_id, turn, seq, name, subject, source, value""",
    "copies": """
        select c.run_id, c.reason, c.finished_at, s.path as source_path, s.root as source_root
        from run_copies as c left join sources as s using (source_id)
        where c.run_id in (select unnest($runs)) order by c.run_id, c.reason, c.finished_at, s.path""",
}

# A hash over a run's rows in every table: tells whether its page can differ from the last build's.
STATES = tuple(
    f"select run_id, cast(bit_xor(hash(t)) as varchar) from {table} as t where run_id is not null group by run_id"  # noqa: S608  names below
    for table in ("turns", "messages", "tool_calls", "compile_errors", "timeouts", "metrics", "run_copies")
)


def fetch(con: duckdb.DuckDBPyConnection, sql: str, params: Any = None) -> list[Row]:
    """The rows of a statement as records."""
    return rows_of(con.execute(sql, params) if params is not None else con.execute(sql))


def details(con: duckdb.DuckDBPyConnection, runs: list[str], scan: str) -> dict[str, dict[str, list[Row]]]:
    """Everything below some runs: `{run_id: {"turns": […], "messages": […], …}}`.

    Args:
        con: The database.
        runs: Which.
        scan: An expression that finds text to look at twice (`Redactor.scan`).
    """
    out: dict[str, dict[str, list[Row]]] = {run: {k: [] for k in DETAILS} for run in runs}
    for name, sql in DETAILS.items():
        params = {"runs": runs, "scan": scan} if "$scan" in sql else {"runs": runs}
        for row in fetch(con, sql, params):
            out[row["run_id"]][name].append(_marked(row))
    return out


def kernels(con: duckdb.DuckDBPyConnection, hashes: Iterable[str], scan: str, places: dict[str, int]) -> dict[str, Row]:
    """Kernels with their source, by hash.

    Args:
        con: The database.
        hashes: Which.
        scan: An expression that finds text to look at twice (`Redactor.scan`).
        places: Row numbers of all kernels: kernels of one batch stand together, and the rest is not unpacked.
    """
    wanted = [h for h in hashes if h in places]
    if not wanted:
        return {}
    rows = [places[h] for h in wanted]
    near = "rowid between $first and $last and" if any(rows) else ""
    sql = f"""
    select *, not regexp_matches(source_code, $scan) as source_code_clean from kernels
    where {near} kernel_sha256 in (select unnest($hashes))"""  # noqa: S608  our own words
    params = {"hashes": wanted, "scan": scan} | ({"first": min(rows), "last": max(rows)} if near else {})
    return {r["kernel_sha256"]: _marked(r) for r in fetch(con, sql, params)}


def _marked(row: Row) -> Row:
    """Text that the scan found clean says so by its type."""
    for column in ("text", "result_text", "source_code"):
        if row.pop(f"{column}_clean", False) and row[column] is not None:
            row[column] = Clean(row[column])
    return row


def places(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Where a run's rows begin: runs read in this order are read from one end of the tables to the other.

    In the files of a lake rows stand by run already, and have no numbers.
    """
    if not _is_table(con, "turns"):
        return {}
    return dict(con.execute("select run_id, min(rowid) from turns group by run_id").fetchall())


def kernel_places(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Row numbers of all kernels; 0 where they stand in a lake."""
    place = "rowid" if _is_table(con, "kernels") else "0"
    return dict(con.execute(f"select kernel_sha256, {place} from kernels").fetchall())  # noqa: S608  our own words


def _is_table(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    sql = "select 1 from duckdb_tables() where table_name = $1 and schema_name = 'main'"
    return bool(con.execute(sql, [name]).fetchall())


def states(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Each run's hash over its rows in the detail tables."""
    out: dict[str, list[str]] = defaultdict(list)
    for i, sql in enumerate(STATES):
        for run, h in con.execute(sql).fetchall():
            out[run].append(f"{i}:{h}")
    return {run: " ".join(parts) for run, parts in out.items()}


def said(con: duckdb.DuckDBPyConnection, names: list[str]) -> list[str]:
    """Which of some words any text of the database holds: only those can change what is published."""
    if not names:
        return []
    found: set[str] = set()
    columns: dict[str, list[str]] = defaultdict(list)
    for table, column, kind in con.execute(
        "select table_name, column_name, data_type from information_schema.columns"
        " join information_schema.tables using (table_schema, table_name)"
        # a database over a lake has views in the place of some tables, and parts of those in a schema beside
        " where table_schema = 'main' and (table_type = 'BASE TABLE' or list_contains($tables, table_name))"
        " and (data_type in ('VARCHAR', 'JSON') or data_type like '%[]')",
        {"tables": [f.name for f in sql_files("schema")]},
    ).fetchall():
        text = f'"{column}"' if kind == "VARCHAR" else f'cast("{column}" as varchar)'
        columns[table].append(f"contains({text}, $name)")
    for table, tests in sorted(columns.items()):
        for name in sorted(set(names) - found):
            sql = f'select 1 from "{table}" where {" or ".join(tests)} limit 1'  # noqa: S608  names of the catalogue
            if con.execute(sql, {"name": name}).fetchone():
                found.add(name)
    return sorted(found)


def grouped(rows: list[Row], key: str) -> dict[Any, list[Row]]:
    """Rows by one column, in order."""
    out: dict[Any, list[Row]] = defaultdict(list)
    for r in rows:
        out[r[key]].append(r)
    return dict(out)
