"""What pages ask of the tables in memory, each answer worked out once a build."""

from __future__ import annotations

import functools
import hashlib
from typing import TYPE_CHECKING, Any

from kbstats.site import read
from kbstats.site.read import Row, grouped

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    import duckdb
    from kbstats.site.boards import Selection


class Queries:
    """The small tables, as `Site` loaded them, and what follows from them."""

    con: duckdb.DuckDBPyConnection
    runs: list[Row]
    by_id: dict[str, Row]
    all_findings: list[Row]
    tool_failures: list[Row]
    verifications: list[Row]
    annotations: list[Row]
    problems: list[Row]
    links: list[Row]
    totals: Row
    classes: dict[str, Row]
    board_cache: dict[str, tuple[dict[str, list[Row]], list[str]]]

    @functools.cached_property
    def digest(self) -> str:
        """A hash of everything besides the rows that a page depends on."""
        raise NotImplementedError  # `Site` computes it, from rows that this mix-in does not hold

    @functools.cached_property
    def boards(self) -> dict[str, list[Row]]:
        """Model boards by level of trust, as `analytics.leaderboards` ranks them."""
        return self._boards[0]

    @functools.cached_property
    def board_notes(self) -> list[str]:
        """What a reader must know before reading the boards."""
        return self._boards[1]

    @functools.cached_property
    def _boards(self) -> tuple[dict[str, list[Row]], list[str]]:
        return self.boards_of("\0".join(r["run_id"] for r in self.runs if r["attempted"]))

    def boards_of(self, key: str, **filters: Any) -> tuple[dict[str, list[Row]], list[str]]:
        """Boards of a selection of runs and their notes; selections of the same runs share them."""
        if key not in self.board_cache:
            from kbstats.site.boards import model_boards

            self.board_cache[key] = model_boards(self.con, **filters)
        return self.board_cache[key]

    @functools.cached_property
    def selections(self) -> list[Selection]:
        """Selections of runs that the front page offers."""
        from kbstats.site.boards import selections

        return selections(self.runs)

    @functools.cached_property
    def prints(self) -> dict[str, str]:
        """A hash of each run's row with all that hangs on it: what a page over some runs depends on."""
        return {
            r["run_id"]: hashlib.sha256(
                repr(sorted(r.items(), key=lambda i: i[0])).encode("utf-8", "surrogatepass")
            ).hexdigest()[:16]
            for r in self.runs
        }

    @functools.cached_property
    def all_runs(self) -> str:
        """A hash of all runs' rows: what a rank depends on."""
        return hashlib.sha256(repr(sorted(self.prints.items())).encode()).hexdigest()[:16]

    def key_of_runs(self, runs: Iterable[Row], *more: Any) -> str:
        """A unit's key that covers some runs and whatever else is named."""
        parts = repr((self.digest, [self.prints[r["run_id"]] for r in runs], more))
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @functools.cached_property
    def state(self) -> str:
        """A hash over all small tables: pages that count over many runs depend on it."""
        tables = (
            self.runs,
            self.all_findings,
            self.tool_failures,
            self.verifications,
            self.annotations,
            self.problems,
            self.links,
            self.totals,
            sorted(self.classes.items()),
        )
        h = hashlib.sha256(self.digest.encode())
        for rows in tables:
            h.update(repr(rows).encode("utf-8", "surrogatepass"))
        return h.hexdigest()[:16]

    @functools.cached_property
    def turn_states(self) -> dict[str, list[tuple[int, str]]]:
        """Turns of each run that were judged, with their state."""
        out: dict[str, list[tuple[int, str]]] = {}
        for row in read.fetch(self.con, read.TURN_STATES):
            out.setdefault(row["run_id"], []).append((row["turn"], row["state"]))
        return out

    @functools.cached_property
    def run_states(self) -> dict[str, str]:
        """Each run's hash over its rows in the detail tables."""
        return read.states(self.con)

    @functools.cached_property
    def newest(self) -> datetime | None:
        """The latest time that any run names."""
        return max((d for r in self.runs for d in (r["finished_at"], r["started_at"]) if d is not None), default=None)

    def groups(self, key: str) -> dict[str, list[Row]]:
        """Runs by one of their keys, in page order."""
        return grouped(self.runs, key)

    @functools.cached_property
    def _failures_by_run(self) -> dict[str, list[Row]]:
        return grouped(self.tool_failures, "run_id")

    @functools.cached_property
    def failing_classes(self) -> set[str]:
        """Failure classes that runs ended with or tool calls met: those with a section among the failures."""
        ended = {r["failure_class"] for r in self.runs if r["attempted"] and r["outcome"] not in ("correct", None)}
        return (ended | {f["failure_class"] for f in self.tool_failures}) - {None}

    def facets(self, runs: list[Row]) -> list[tuple[str, bool]]:
        """What a table of runs can be filtered by besides outcome and standing: columns with a few values."""
        return [(k, 2 <= len({r[k] for r in runs}) <= 12) for k in ("level", "variant", "mode", "gpu", "sweep")]

    def failures_of(self, run_id: str) -> list[Row]:
        """Failing tool results of a run, classified."""
        return self._failures_by_run.get(run_id, [])

    @functools.cached_property
    def _references(self) -> dict[str, list[Row]]:
        out: dict[str, list[Row]] = {}
        for p in self.problems:
            if p["source_code"]:
                variant = None if p["variant"] in ("original", "default") else p["variant"]
                out.setdefault(
                    "\0".join(str(x) for x in (p["suite"], p["level"], variant, p["problem_name"])), []
                ).append(p)
        return out

    def reference_of(self, run: Row) -> Row | None:
        """The problem's source: the one whose hash the run names, else the first known."""
        variant = None if run["variant"] in ("original", "default") else run["variant"]
        found = self._references.get(
            "\0".join(str(x) for x in (run["suite"], run["level"], variant, run["problem_name"])), []
        )
        return next((p for p in found if p["source_sha256"] == run["reference_sha256"]), found[0] if found else None)

    def said_of(self, run: Row) -> list[Row]:
        """Annotations on a run or on the kernel it submitted."""
        sha = run["submitted_kernel_sha256"]
        return [a for a in self.annotations if a["run_id"] == run["run_id"] or (sha and a["kernel_sha256"] == sha)]

    def links_of(self, run_id: str) -> list[dict[str, str]]:
        """The same run in another format: where, and what agreed."""
        out = []
        for link in self.links:
            for own, other, how in (
                ("run_id", "linked_run_id", "that one does not rank"),
                ("linked_run_id", "run_id", "that one ranks"),
            ):
                if link[own] == run_id and link[other] in self.by_id:
                    out.append({"other": link[other], "how": how, "matched_on": link["matched_on"]})
        return out

    @functools.cached_property
    def sends(self) -> dict[str, list[Row]]:
        """Tool calls that carried a kernel, by kernel."""
        return grouped(read.fetch(self.con, read.SENDS), "kernel_sha256")

    @functools.cached_property
    def run_places(self) -> dict[str, int]:
        """Where each run's turns begin in their table."""
        return read.places(self.con)

    @functools.cached_property
    def paged_kernels(self) -> set[str]:
        """Kernels with a page of their own: submitted, verified, spoken of, or sent by several runs."""
        known = self.kernel_heads
        found = {r["submitted_kernel_sha256"] for r in self.runs} | {v["kernel_sha256"] for v in self.verifications}
        found |= {a["kernel_sha256"] for a in self.annotations}
        found |= {sha for sha, sends in self.sends.items() if len({s["run_id"] for s in sends}) > 1}
        sent = self.sends.keys()
        return {sha for sha in known if sha in found or sha not in sent}

    @functools.cached_property
    def kernel_places(self) -> dict[str, int]:
        """Row numbers of the kernels."""
        return read.kernel_places(self.con)

    @functools.cached_property
    def kernel_heads(self) -> dict[str, Row]:
        """Kernels without their source."""
        return {k["kernel_sha256"]: k for k in read.fetch(self.con, read.KERNEL_HEADS)}
