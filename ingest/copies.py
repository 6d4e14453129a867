"""The same run from two sources: one is the run, the others stand in `run_copies` with their whole record.

Which one is the run does not depend on the order of reading: the one with turns before the one
without, the original before a rendering of it, then the later `finished_at`, among those that have
none the one that fills more columns, then the later file, then the path that sorts first.

What a rendering alone tells exactly, the run takes from it: see `adopt`.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.ingest import changes
from kbstats.ingest.batch import json_text
from kbstats.ingest.transactions import frame

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from kbstats.ingest.decoding import Chunk

PARTS = ("turns", "messages", "tool_calls", "compile_errors", "timeouts", "metrics")
"""Tables whose rows belong to a run, as they stand in a copy's record."""

RENDERED = frozenset({"popcornbench_page"})
"""Formats that show a run which another format records."""
_OWN = ("source_id", "format")
_NEVER = datetime(1, 1, 2, tzinfo=UTC)


class _Copy(NamedTuple):
    """One reading of a run."""

    source_id: str
    mtime_us: int
    path: str
    record: dict[str, Any]

    @property
    def order(self) -> tuple[bool, bool, datetime, int, int, tuple[int, ...]]:
        """The greatest is the run."""
        run = self.record["run"]
        finished = run["finished_at"]
        filled = 0 if finished else sum(v is not None for v in run.values())
        backwards = tuple(-ord(c) for c in self.path)
        original = run["format"] not in RENDERED
        return bool(self.record["turns"]), original, finished or _NEVER, filled, self.mtime_us, backwards


def resolve(con: duckdb.DuckDBPyConnection, chunk: Chunk) -> tuple[dict[str, pa.Table], int]:
    """The chunk's tables without the runs that stand elsewhere already, and better.

    Runs on record that the chunk replaces move to `run_copies`.

    Returns:
        The tables to insert, and how many copies there are more.
    """
    tables = dict(chunk.tables)
    runs = tables.get("runs")
    if runs is None:
        return tables, 0
    con.register("incoming_runs", runs.select(["run_id"]))
    try:
        clash = [
            r[0]
            for r in con.execute(
                "select run_id from incoming_runs where run_id in (select run_id from runs)"
            ).fetchall()
        ]
    finally:
        con.unregister("incoming_runs")
    if not clash:
        return tables, 0
    sides = _on_record(con, clash), _incoming(chunk, clash)
    losers: list[str] = []
    replaced: list[str] = []
    for run_id in clash:
        old, new = (side[run_id] for side in sides)
        winner, loser = (new, old) if new.order > old.order else (old, new)
        con.execute(
            "insert into run_copies by name select ? as run_id, ? as source_id, ? as reason, "
            "?::timestamptz as finished_at, ?::json as record",
            [
                run_id,
                loser.source_id,
                reason(winner.record, loser.record),
                loser.record["run"]["finished_at"],
                json_text(_plain(loser.record)),
            ],
        )
        (replaced if loser is old else losers).append(run_id)
    if replaced:
        _remove(con, replaced)
    if losers:
        for name in (*PARTS, "runs"):
            if name in tables:
                tables[name] = _without(tables[name], losers)
    return tables, len(clash)


def _remove(con: duckdb.DuckDBPyConnection, run_ids: list[str]) -> None:
    """Take runs off the tables; they stand in `run_copies` now."""
    import pyarrow as pa

    with frame(con, "replaced", pa.table({"run_id": run_ids})):
        changes.runs(con, "select run_id from replaced", -1)
        for table in (*PARTS, "runs"):
            con.execute(f"delete from {table} where run_id in (select run_id from replaced)")  # noqa: S608  our names


def reason(run: dict[str, Any], copy: dict[str, Any]) -> str:
    """Why there are two: `identical`, `relabelled` (the same attempt, judged anew) or `rerun`."""
    if _content(run) == _content(copy):
        return "identical"
    a, b = run["run"], copy["run"]
    same_start = a["started_at"] is not None and a["started_at"] == b["started_at"]
    same_steps = bool(run["tool_calls"]) and _steps(run) == _steps(copy)
    return "relabelled" if same_steps or (same_start and len(run["turns"]) == len(copy["turns"])) else "rerun"


_PAGE = """(
    select
        run_id,
        max(try_cast(record ->> '$.run.speedup' as double)) as speedup,
        max(record ->> '$.run.reference_sha256') as reference_sha256
    from run_copies
    where source_id in (select source_id from sources where format in ('popcornbench_page', 'kbstats_export'))
        and record ->> '$.run.format' = 'popcornbench_page'
    group by run_id
) as page"""
_ADOPTED = """
select run_id, speedup, baseline, reference_sha256
from runs
where format = 'popcornbench' and contains(extra::varchar, '_from":"page"')
"""
_FORGET = """
update runs set
    speedup = if(extra ->> '$.speedup_from' is null, speedup, try_cast(extra ->> '$.speedup_own' as double)),
    baseline = if(extra ->> '$.speedup_from' is not null and extra ->> '$.speedup_own' is null, null, baseline),
    reference_sha256 = if(extra ->> '$.reference_from' is null, reference_sha256, null),
    extra = json_merge_patch(
        extra, '{"speedup_from": null, "speedup_own": null, "reference_from": null}'::json
    )
where format = 'popcornbench' and contains(extra::varchar, '_from":"page"')
"""
_ADOPT_SPEEDUP = """
update runs set
    extra = json_merge_patch(
        coalesce(extra, '{}'::json), json_object('speedup_from', 'page', 'speedup_own', runs.speedup)
    ),
    speedup = page.speedup,
    baseline = coalesce(baseline, 'eager')
from PAGE
where runs.run_id = page.run_id and runs.format = 'popcornbench' and page.speedup is not null
    -- the cell has two decimals; runtimes have three significant figures, unless something rounded them
    and coalesce(abs(runs.speedup - page.speedup) > 0.005 + 0.01 * page.speedup, true)
"""
_ADOPT_REFERENCE = """
update runs set
    reference_sha256 = page.reference_sha256,
    extra = json_merge_patch(coalesce(extra, '{}'::json), json_object('reference_from', 'page'))
from PAGE
where runs.run_id = page.run_id and runs.reference_sha256 is null and page.reference_sha256 is not null
"""


def adopt(con: duckdb.DuckDBPyConnection) -> None:
    """Let trajectories take from their pages what only the page tells exactly, and say so in `extra`.

    The page's speedup cell was computed before anything was rounded. Where a trajectory's own
    runtimes contradict it by more than the cell's two decimals explain, the cell is the speedup
    (`speedup_from`, `speedup_own`). The page also shows the reference (`reference_from`).
    """
    pages = con.execute(
        "select count(*) from run_copies where source_id in "
        "(select source_id from sources where format in ('popcornbench_page', 'kbstats_export'))"
    ).fetchall()[0][0]
    con.execute(f"create or replace temp table adopted as {_ADOPTED}")
    if not pages and not con.execute("select 1 from adopted limit 1").fetchall():
        con.execute("drop table adopted")
        return
    con.execute(_FORGET)
    if pages:
        con.execute(_ADOPT_SPEEDUP.replace("PAGE", _PAGE))
        con.execute(_ADOPT_REFERENCE.replace("PAGE", _PAGE))
    differs = f"(from adopted except all {_ADOPTED}) union all ({_ADOPTED} except all from adopted)"
    changes.runs(con, f"select run_id from ({differs})", 0)  # noqa: S608  our names
    con.execute("drop table adopted")


def _steps(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (c["turn"], c["seq"], c["tool"], c["kernel_sha256"], c["result_text"]) for c in record["tool_calls"]
    ]


def _content(record: dict[str, Any]) -> dict[str, Any]:
    run = {k: v for k, v in record["run"].items() if k not in _OWN}
    return {**record, "run": run}


def _on_record(con: duckdb.DuckDBPyConnection, run_ids: list[str]) -> dict[str, _Copy]:
    import pyarrow as pa

    con.register("clash", pa.table({"run_id": run_ids}))
    try:
        tables = {
            name: con.sql(f"select * from {name} where run_id in (select run_id from clash)").to_arrow_table()  # noqa: S608
            for name in ("runs", *PARTS)
        }
        files = con.execute(
            "select r.run_id, epoch_us(s.mtime), s.path from runs as r join sources as s using (source_id) "
            "where r.run_id in (select run_id from clash)"
        ).fetchall()
    finally:
        con.unregister("clash")
    where = {r[0]: (r[1] or 0, r[2]) for r in files}
    return {
        run_id: _Copy(record["run"]["source_id"], *where.get(run_id, (0, "")), record)
        for run_id, record in _records(tables, run_ids).items()
    }


def _incoming(chunk: Chunk, run_ids: list[str]) -> dict[str, _Copy]:
    tables = {n: _only(chunk.tables[n], run_ids) for n in ("runs", *PARTS) if n in chunk.tables}
    where = {f.task.source_id: (f.task.mtime_us, f.task.path_text) for f in chunk.files}
    return {
        run_id: _Copy(record["run"]["source_id"], *where[record["run"]["source_id"]], record)
        for run_id, record in _records(tables, run_ids).items()
    }


def _records(tables: dict[str, pa.Table], run_ids: list[str]) -> dict[str, dict[str, Any]]:
    """Rows of several tables, gathered by run; the two sides come out comparable."""
    out: dict[str, dict[str, Any]] = {run_id: {"run": {}, **{p: [] for p in PARTS}} for run_id in run_ids}
    for row in tables["runs"].to_pylist():
        out[row["run_id"]]["run"] = row
    for name in PARTS:
        grouped: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in tables[name].to_pylist() if name in tables else ():
            run_id = row.pop("run_id")
            grouped[run_id].append(row)
        for run_id, rows in grouped.items():
            out[run_id][name] = sorted(rows, key=lambda r: repr(sorted(r.items())))
    return out


def _mask(table: pa.Table, run_ids: list[str]) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.is_in(table["run_id"], value_set=pa.array(run_ids))


def _only(table: pa.Table, run_ids: list[str]) -> pa.Table:
    return table.filter(_mask(table, run_ids))


def _without(table: pa.Table, run_ids: list[str]) -> pa.Table:
    import pyarrow.compute as pc

    return table.filter(pc.invert(_mask(table, run_ids)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value.isoformat() if isinstance(value, datetime) else value
