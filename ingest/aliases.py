"""Which names in the sources mean one model: data/models.toml, and the user's own file.

Nothing is merged unless it is listed. A file named by `$KBSTATS_MODELS` adds to the built-in list
and overrides it; a change of either reaches the runs on record with the next ingest.
"""

from __future__ import annotations

import functools
import json
import os
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    import duckdb

OWN = "KBSTATS_MODELS"
"""The environment variable that names the user's own file."""
_KEY = "model_aliases"


def aliases() -> dict[str, str]:
    """Name in a source -> model.

    Raises:
        UsageError: the user's file is missing, or no list of aliases.
    """
    return _aliases(os.environ.get(OWN) or None)


@functools.lru_cache(maxsize=4)
def _aliases(own: str | None) -> dict[str, str]:
    try:
        text = files("kbstats.data").joinpath("models.toml").read_text(encoding="utf-8")
    except (OSError, ModuleNotFoundError):
        text = ""
    found = _entries(tomllib.loads(text))
    if own is not None:
        try:
            found |= _entries(tomllib.loads(Path(own).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as e:
            raise UsageError(
                f"the model aliases cannot be read ({type(e).__name__}: {str(e)[:100]})",
                location=own,
                hint="data/models.toml shows the form",
            ) from e
    return found


def _entries(document: dict[str, Any]) -> dict[str, str]:
    return {str(a["raw"]).strip(): str(a["model"]).strip() for a in document.get("alias", ())}


def model_of(raw: str | None) -> str | None:
    """The model's name with its alias applied."""
    return None if raw is None else aliases().get(raw.strip(), raw)


def apply(con: duckdb.DuckDBPyConnection) -> bool:
    """Bring the runs on record up to the aliases as they are now; whether anything was to be done."""
    now = aliases()
    rows = con.execute("select value from meta where key = ?", [_KEY]).fetchall()
    before: dict[str, str] = json.loads(rows[0][0]) if rows else {}
    if before == now:
        return False
    con.execute("begin")
    try:
        for raw, model in (before.items() - now.items()) if before else ():
            con.execute("update runs set model = model_raw where trim(model_raw) = ? and model = ?", [raw, model])
        for raw, model in now.items() - before.items():
            con.execute("update runs set model = ? where trim(model_raw) = ?", [model, raw])
        con.execute("insert or replace into meta values (?, ?)", [_KEY, json.dumps(now, sort_keys=True)])
        con.execute("insert or replace into meta values ('derived', 'stale')")
        con.execute("commit")
    except BaseException:
        con.execute("rollback")
        raise
    return True
