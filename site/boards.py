"""The boards as `analytics.leaderboards` ranks them: one place decides, and it is not here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

LEVELS = ("claimed", "audited", "verified")


def model_boards(con: duckdb.DuckDBPyConnection, **filters: Any) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """The model board at each level of trust, and what a reader must know before reading it.

    Args:
        con: The database.
        filters: Fields of `leaderboards.Filters`.
    """
    from kbstats.analytics import leaderboards

    found = {t: leaderboards.board(con, leaderboards.Filters(trust=t, **filters)) for t in LEVELS}
    notes = list(dict.fromkeys(n for b in found.values() for n in b.notes))
    return {t: b.rows for t, b in found.items()}, notes


def merged(boards: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One record a model in the claimed board's order: its rows at all three levels.

    Returns:
        `{"model": …, "claimed": row, "audited": row or None, "verified": row or None}` each.
    """
    by = {trust: {r["model"]: r for r in rows} for trust, rows in boards.items()}
    order = list(dict.fromkeys(r["model"] for r in boards["claimed"]))
    return [{"model": m, **{t: by[t].get(m) for t in LEVELS}} for m in order]
