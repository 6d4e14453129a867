"""A database in memory with the schema, the taxonomy and all models, filled row by row."""

from __future__ import annotations

import functools
import json
import re
from typing import Any
from unittest import mock

WORD = re.compile(r"[a-z_][a-z0-9_]*")

DEFAULTS: dict[str, dict[str, Any]] = {
    "runs": {"source_id": "s", "format": "popcornbench", "suite": "kb", "level": 1, "problem_id": 1, "problem_name": "1_A.py"},
    "tool_calls": {"turn": 0, "seq": 0, "tool": "submit_kernel"},
    "turns": {"turn": 0},
    "metrics": {"subject": "candidate", "source": "harness"},
    "verifications": {
        "source_id": "v", "kernel_sha256": "k", "suite": "kb", "level": 1, "problem_name": "1_A.py", "precision": "fp32",
        "verdict": "CONFIRMED", "correctness": "passed", "speed": "faster", "device": "cuda", "gpu_model": "NVIDIA H200",
        "sandbox_ok": True, "protocol": "1", "verified_at": "2026-01-01 00:00:00+00", "speedup": 2.0, "claimed_speedup": 2.0,
    },
    "kernels": {"source_code": "x", "n_lines": 40, "n_chars": 1},
    "timeouts": {"scope": "work_item"},
    "baselines": {"source_id": "s"},
}  # fmt: skip


def connect() -> Any:
    """A connection with everything installed; made once, since that takes most of a test's time."""
    import duckdb
    from kbstats.analytics import taxonomy
    from kbstats.sql import catalog

    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    catalog.create_schema(con)
    taxonomy.load(con)
    catalog.install_models(con)
    return con


@functools.cache
def _reads() -> dict[str, set[str]]:
    from kbstats.sql import catalog

    names = {f.name for f in catalog.models()}
    return {f.name: names & set(WORD.findall(f.sql)) for f in catalog.models()}


def upstream(sql: str) -> set[str]:
    """Models whose rows a statement can see: those it names, what these read, and so on."""
    found: set[str] = set()
    todo = set(WORD.findall(sql)) & _reads().keys()
    while todo:
        name = todo.pop()
        found.add(name)
        todo |= _reads()[name] - found
    return found


class Inline:
    """The tables as keyword arguments: `db.add("runs", run_id="a")`, then `db.rows("select …")`."""

    def __init__(self, con: Any) -> None:
        from kbstats.sql import catalog

        self.con = con
        self.current = {f.name for f in catalog.models() if f.stored}

    def add(self, table: str, **values: Any) -> None:
        row = {**DEFAULTS.get(table, {}), **values}
        if table == "verifications" and row["speedup"] is not None:  # a measured speedup comes with its interval
            row = {"speedup_lo": row["speedup"] * 0.99, "speedup_hi": row["speedup"] * 1.01, **row}
        row = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in row.items()}
        names = ", ".join(row)
        marks = ", ".join("?" for _ in row)
        self.con.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))
        self.current.clear()

    def story(self, run_id: str, *steps: str) -> None:
        """One run, one turn a step: W wrong, B does not build, R right."""
        calls = {
            "W": (False, "Output mismatch"),
            "B": (False, 'kernel did not compile.\nk.cu(3): error: expected a ";"'),
            "R": (True, "PASSED"),
        }
        right = steps[-1] == "R"
        outcome = "correct" if right else "incorrect"
        self.add("runs", run_id=run_id, model="M", source_outcome=outcome, correct=right, sample_id=ord(run_id))
        for turn, step in enumerate(steps):
            ok, text = calls[step]
            tool = "run_correctness" if turn < len(steps) - 1 else "submit_kernel"
            self.add("turns", run_id=run_id, turn=turn)
            self.add(
                "tool_calls",
                run_id=run_id,
                turn=turn,
                tool=tool,
                ok=ok,
                result_text=text,
                kernel_sha256=f"{run_id}{step}",
            )

    def fresh(self, sql: str | None = None) -> Any:
        """The connection, with stored models up to date: those that a statement reads, else all."""
        from kbstats.sql import catalog, refresh

        wanted = [f for f in catalog.models() if f.stored and f.name not in self.current]
        if sql is not None:
            read = upstream(sql)
            wanted = [f for f in wanted if f.name in read]
        if wanted:
            with mock.patch.object(catalog, "models", return_value=wanted):
                refresh.refresh_stored(self.con)
            self.current |= {f.name for f in wanted}
        return self.con

    def rows(self, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
        return self.fresh(sql).execute(sql, parameters).fetchall()

    def one(self, sql: str) -> Any:
        found = self.rows(sql)
        assert len(found) == 1, found
        return found[0][0] if len(found[0]) == 1 else found[0]

    def findings(self, code: str) -> dict[str, float | None]:
        """Run and value of an audit's findings; what its header says it needs must not hide one."""
        from kbstats.sql import catalog

        found = dict(self.rows("select run_id, value from audit_findings where code = ?", [code]))
        (select,) = (catalog.select_of(a) for a in catalog.sql_files("audits") if a.name == code)
        assert found == dict(self.rows(f"select run_id, value from ({select})")), "its header's `needs` is wrong"
        return found
