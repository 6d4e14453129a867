"""The warehouse in a notebook: each command's answer as a polars frame.

The functions behind the commands do the work; here their records become frames, one value may stand
where the command line repeats an option, and what a board's reader must know becomes a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from kbstats.analytics import warehouse
from kbstats.ingest.errors import DatabaseError, KbstatsError, UsageError

if TYPE_CHECKING:
    from types import TracebackType

    import duckdb
    import polars as pl

Names = str | Sequence[str] | None
"""One name, several, or no filter."""
Levels = int | Sequence[int] | None


class BoardNote(UserWarning):
    """What a reader must know of a board: what it pools, what it leaves out of n, which problems differ."""


def connect(path: str | Path | None = None) -> Database:
    """Open a database for reading.

    Args:
        path: The file; default `$KBSTATS_DB`, else `kbstats.duckdb` in the working folder.

    Returns:
        A connection, to be closed or used in a `with`: while it is open, `kbstats ingest` waits.

    Raises:
        DatabaseError: missing, locked by a writer, damaged, or made by another version; its text says
            what to do.
    """
    return Database(Path(path) if path is not None else warehouse.default_db())


class Database:
    """One database file, read-only and without access to any other file.

    Every method gives a polars frame, one row as the command of that name prints one, with all columns
    of its JSON (docs/leaderboard.md, docs/tables.md). Filters take one value or several.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._con: duckdb.DuckDBPyConnection | None = warehouse.open_read(path, sealed=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._con is None:
            return f"<kbstats database {self.path}, closed>"
        runs, files = self._con.execute("select (select count(*) from runs), count(*) from sources").fetchall()[0]
        return f"<kbstats database {self.path}: {runs:,} runs from {files:,} files>"

    def close(self) -> None:
        """Let go of the file, so that others may write to it."""
        if self._con is not None:
            self._con.close()
            self._con = None

    def leaderboard(
        self,
        *,
        by: str = "model",
        trust: str = "claimed",
        level: Levels = None,
        variant: Names = None,
        suite: Names = None,
        sweep: Names = None,
        mode: Names = None,
        model: Names = None,
        hardware: Names = None,
        backend: Names = None,
        precision: Names = None,
        verified_on: str | None = None,
        baseline: str | None = None,
        sort: str | None = None,
        p: Sequence[float] = (0, 1, 2),
        k: Sequence[int] = (),
        shared: bool = False,
        min_coverage: float = 0.0,
        exclude_infra: bool = False,
    ) -> pl.DataFrame:
        """A leaderboard, best first; its columns are those of docs/leaderboard.md.

        Raises:
            UsageError: an argument names what there is not; its text says what there is.

        Warns:
            BoardNote: what the board pools or leaves out.
        """
        from kbstats.analytics import leaderboards, offers

        groupings, levels_of_trust = leaderboards.GROUPINGS, leaderboards.TRUST
        _one_of("by", by, groupings)
        _one_of("trust", trust, levels_of_trust)
        if sort is not None:
            _one_of("sort", sort, leaderboards.RUN_KEYS if by == "run" else leaderboards.sort_keys(p))
        filters = leaderboards.Filters(
            levels=_list(level), variants=_list(variant), suites=_list(suite), sweeps=_list(sweep), modes=_list(mode),
            models=_list(model), hardwares=_list(hardware), backends=_list(backend), precisions=_list(precision),
            trust=trust, verified_on=verified_on, baseline=baseline, exclude_infra=exclude_infra,
        )  # fmt: skip
        found = leaderboards.board(
            self._open(), filters, by=by, sort=sort, ps=p, ks=k, shared=shared, min_coverage=min_coverage
        )
        if not found.rows:
            _refuse(offers.missing(self._open(), filters.parameters()))
        for text in found.notes:
            warnings.warn(text, BoardNote, stacklevel=2)
        return _frame(found.rows)

    def runs(self, *, trust: str = "claimed", level: Levels = None, model: Names = None, **more: Any) -> pl.DataFrame:
        """Every attempt, fastest first; `reason` says why one does not count. Filters: those of `leaderboard`."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BoardNote)  # a list of runs pools nothing
            return self.leaderboard(by="run", trust=trust, level=level, model=model, **more)

    def failures(
        self, *, by: str = "class", level: Levels = None, model: Names = None, sweep: Names = None
    ) -> pl.DataFrame:
        """Failing tool calls and failed runs, counted by class, owner, model, problem, sweep or tool.

        `by="run"` gives one row a failed run, with the words that decided.
        """
        from kbstats.analytics import failures, offers

        _one_of("by", by, (*failures.GROUPINGS, "run"))
        asked: dict[str, Any] = {"levels": _list(level), "models": _list(model), "sweeps": _list(sweep)}
        if by == "run":
            rows = failures.failed_runs(self._open(), **asked)
        else:
            rows = failures.summary(self._open(), by=by, **asked)
        if not rows:
            _refuse(offers.missing(self._open(), asked))
        return _frame(rows)

    def audit(
        self,
        *,
        code: Names = None,
        severity: Names = None,
        level: Levels = None,
        model: Names = None,
        sweep: Names = None,
        by: str = "finding",
    ) -> pl.DataFrame:
        """What cannot be true: one row a `finding`, or counted by `code`, `run` or `model`."""
        from kbstats.analytics import audit, offers

        _one_of("by", by, ("finding", "code", "run", "model"))
        asked: dict[str, Any] = {"levels": _list(level), "models": _list(model), "sweeps": _list(sweep)}
        for s in _list(severity):
            _one_of("severity", s, ("error", "warning", "info"))
        rows = audit.findings(self._open(), wanted=_list(code), severities=_list(severity), **asked)
        if not rows:
            _refuse(offers.missing(self._open(), asked))
        return _frame(rows if by == "finding" else audit.summed(rows, by))

    def compare(
        self,
        a: str,
        b: str,
        *,
        by: str = "model",
        rows: Literal["pair", "level", "total"] = "pair",
        trust: str = "claimed",
        level: Levels = None,
        variant: Names = None,
        suite: Names = None,
    ) -> pl.DataFrame:
        """Two models (modes, sweeps) on the problems both ran: a row a `pair`, a `level`, or one for all.

        Raises:
            UsageError: one of them has no runs here, or both are the same.
        """
        from kbstats.analytics import compare, leaderboards

        _one_of("by", by, compare.SIDES)
        _one_of("trust", trust, leaderboards.TRUST)
        _one_of("rows", rows, ("pair", "level", "total"))
        filters = leaderboards.Filters(
            levels=_list(level), variants=_list(variant), suites=_list(suite), trust=trust
        )  # fmt: skip
        found = compare.compare(self._open(), a, b, filters, side=by)
        total = {k: v for k, v in found.items() if not isinstance(v, list)}
        return _frame({"pair": found["pair_rows"], "level": found["by_level"], "total": [total]}[rows])

    def run(self, words: str) -> dict[str, Any]:
        """Everything about one run, found by its id or by words: `run("gpt-5.5 L3 P11")`.

        Returns:
            `run`, `turns` with their `calls`, `metrics`, `trust`, `verifications`, `findings`,
            `annotations` and `links`, as `kbstats show --format json`.
        """
        from kbstats.analytics import runs

        return runs.load(self._open(), runs.find(self._open(), words.split()))

    def sql(self, query: str, **parameters: Any) -> pl.DataFrame:
        """One query over the tables and models of docs/tables.md; `$name` takes the argument of that name.

        Raises:
            UsageError: it does not parse, or holds several statements.
            KbstatsError: it fails; its text names the nearest tables and columns.
        """
        import duckdb
        import polars as pl

        con = self._open()
        warehouse.one_statement(con, query)
        try:
            table = con.sql(query, params=parameters or None).to_arrow_table()
        except duckdb.Error as e:
            raise KbstatsError(
                f"the query failed: {warehouse.said(e)}", hint="tables and columns: docs/tables.md"
            ) from e
        frame = pl.from_arrow(table)
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def _open(self) -> duckdb.DuckDBPyConnection:
        if self._con is None:
            raise DatabaseError("this connection is closed", location=self.path, hint="connect again")
        return self._con


def _list(value: Any) -> list[Any]:
    """One value, several, or none, as a list."""
    if value is None:
        return []
    return [value] if isinstance(value, (str, int)) else list(value)


def _one_of(name: str, value: str, there: Sequence[str]) -> None:
    if value not in there:
        raise UsageError(f"no {name}={value!r}", hint=f"there are {', '.join(there)}")


def _refuse(unmet: Sequence[str]) -> None:
    """A filter that no run fits is a slip of the pen, not an empty board.

    Raises:
        UsageError: naming what there is.
    """
    if unmet:
        raise UsageError("; ".join(unmet).replace("--", ""))


def _frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Records as a frame; a column's type is that of all its values."""
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)
