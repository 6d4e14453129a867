"""What a filter could have asked for: the names on offer, where one matches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics.board_notes import listed
from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

# One select a filter: what it may be, as text, once each.
_VALUES = {
    "levels": "select level::varchar as v from runs",
    "variants": "select variant_key(variant) as v from runs",
    "suites": "select suite as v from runs",
    "sweeps": "select sweep as v from runs",
    "modes": "select mode as v from runs",
    "models": "select unnest([model, model_raw]) as v from runs",
    "hardwares": "select unnest([upper(hardware), gpu_key(hardware)]) as v from runs",
    "backends": "select backend as v from runs",
    "precisions": "select precision as v from runs",
}
_BASELINES = """
select baseline as v from baselines
union select baseline from runs
union select name[12:] from metrics where starts_with(name, 'speedup.vs_')
"""
_VERIFIED = "select distinct gpu_model, gpu_key(gpu_model) from run_verifications where gpu_model is not null"


def _values(con: duckdb.DuckDBPyConnection, sql: str) -> list[str]:
    return sorted({r[0] for r in con.execute(sql).fetchall() if r[0] is not None})


def missing(con: duckdb.DuckDBPyConnection, filters: Mapping[str, Any]) -> list[str]:
    """A line for each filter that no run fits, with what there is; of a database without runs, what fills it.

    Args:
        con: A connection.
        filters: The macros' names of filters (`levels`, `models` ...) and the values asked for.
    """
    if not con.execute("select 1 from runs limit 1").fetchall():
        return ["the database holds no runs: `kbstats ingest PATH` reads traces into it"]
    out = []
    for name, sql in _VALUES.items():
        asked: Sequence[Any] = filters.get(name) or ()
        if not asked:
            continue
        there = _values(con, sql)
        fold = str.upper if name == "hardwares" else str
        wanted = {"original" if name == "variants" and v == "default" else fold(str(v)) for v in asked}
        if not wanted & set(there):
            option = "hardware" if name == "hardwares" else name.removesuffix("s")
            out.append(f"no run has --{option} {listed(sorted(wanted))}: there are {listed(there) or 'none'}")
    return out


def check_baseline(con: duckdb.DuckDBPyConnection, baseline: str | None) -> None:
    """Refuse a baseline that nothing was timed against.

    Raises:
        UsageError: naming those there are.
    """
    if baseline is not None and baseline not in (there := _values(con, _BASELINES)):
        raise UsageError(f"no baseline {baseline!r}", hint=f"there are {listed(there) or 'none'}; or name a file")


def verified_on(con: duckdb.DuckDBPyConnection, gpu: str | None) -> str | None:
    """The GPU model asked for as its results name it: `H100` where one model of that name has some.

    Raises:
        UsageError: none has, or several; naming those there are.
    """
    if gpu is None:
        return None
    there = dict(con.execute(_VERIFIED).fetchall())
    fits = [gpu] if gpu in there else sorted(name for name, key in there.items() if key == gpu.upper())
    if len(fits) != 1:
        what = f"several GPU models are called {gpu!r}" if fits else f"nothing was re-run on {gpu!r}"
        raise UsageError(what, hint=f"there are results of {listed(sorted(there)) or 'no GPU'}")
    return fits[0]
