"""A database of another version: an older one is set aside and its sources read again, a newer one is refused."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path


def set_aside(db: Path) -> list[Path]:
    """Move a database of older tables out of the way, after saying so.

    Args:
        db: The database file; nothing happens if it is missing, current or none of kbstats'.

    Returns:
        The sources that it was made of and that are still there, to be read into a new one.

    Raises:
        DatabaseError: a newer kbstats made it.
    """
    import duckdb
    from kbstats.analytics import warehouse
    from kbstats.ingest.archives import INSIDE
    from kbstats.ingest.errors import DatabaseError
    from kbstats.sql import catalog

    if not db.is_file():
        return []
    try:
        with contextlib.closing(duckdb.connect(str(db), read_only=True)) as con:
            found = dict(con.execute("select key, value from meta").fetchall())
            if "kbstats_version" not in found or found.get("schema_hash") == catalog.digest("schema"):
                return []
            rows = con.execute("select path from sources order by 1").fetchall()
            paths = [Path(r[0].partition(INSIDE)[0]) for r in rows]
    except duckdb.Error:
        return []  # locked, damaged or not ours: opening it says which
    made_by, own = found["kbstats_version"], warehouse.version()
    if warehouse.is_newer(made_by):
        raise DatabaseError(
            f"the database was made by kbstats {made_by}, and this is {own}",
            location=db,
            hint="update kbstats, or name another file with --db",
        )
    present = [p for p in dict.fromkeys(paths) if p.is_file()]
    names = (f"{db.name}.{made_by}{f'-{n}' if n else ''}.old" for n in range(10_000))
    kept = next(p for p in map(db.with_name, names) if not p.exists())
    db.rename(kept)
    gone = len(set(paths)) - len(present)
    sys.stderr.write(
        f"kbstats: the tables of kbstats {made_by} differ; {len(present)} sources are read again into a new "
        f"database{f', {gone} are gone' if gone else ''}; the old one is {kept.name}\n"
    )
    return present
