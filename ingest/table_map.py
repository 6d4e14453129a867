"""Mapping files: which column of a table is which column of `runs`, in which unit (docs/formats.md)."""

from __future__ import annotations

import tomllib
from typing import Any, NamedTuple

from kbstats.ingest import metrics
from kbstats.ingest.batch import columns_of
from kbstats.ingest.errors import UsageError
from kbstats.ingest.rows import Run

SCALES: dict[str, dict[str, float]] = {
    "_us": {"us": 1.0, "ms": 1e3, "s": 1e6, "ns": 1e-3},
    "_s": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "h": 3600.0},
}
"""Units a mapping may name, by the unit in the target's name."""
_OWN = frozenset({"run_id", "source_id", "format", "extra", "submitted_kernel_sha256"})
"""Columns of `runs` that are never mapped."""


class Column(NamedTuple):
    """Where a column of `runs` comes from."""

    column: str
    scale: float = 1.0
    null: tuple[str, ...] = ()
    """Cells that mean unknown, beside the empty one."""
    values: dict[str, Any] | None = None
    """Cells to be read as something else."""

    def is_null(self, raw: Any) -> bool:
        """Whether a cell says that nothing is known."""
        text = str(raw).strip()
        return text == "" or text.lower() in {"nan", "none", "null"} or text in self.null


class MetricColumn(NamedTuple):
    """A column that becomes a row of `metrics`."""

    column: str
    name: str
    unit: str | None
    subject: str
    source: str
    scale: float
    drop: tuple[str, ...]
    """Which values are sentinels: `zero`, `negative`."""

    def drops(self, value: float) -> bool:
        """Whether the value says "not measured"."""
        return (value == 0 and "zero" in self.drop) or (value < 0 and "negative" in self.drop)


class TableMap(NamedTuple):
    """A mapping."""

    name: str
    required: tuple[str, ...]
    constants: dict[str, Any]
    columns: dict[str, Column]
    metrics: tuple[MetricColumn, ...]
    kernel: str | None

    @property
    def placed(self) -> frozenset[str]:
        """Columns of the table that have a place; the rest goes to `extra`."""
        own = {c.column for c in self.columns.values()} | {m.column for m in self.metrics}
        return frozenset(own | ({self.kernel} if self.kernel else set()))


def load_map(text: str | None, where: str) -> TableMap:
    """A mapping from the text of its TOML file.

    Raises:
        UsageError: no such file (`text` is None), no TOML, or something in it is not known.
    """
    if text is None:
        raise UsageError("no such mapping file", location=where)
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise UsageError(f"the mapping is not TOML: {e}", location=where) from e
    unknown = set(found) - {"name", "description", "require", "constants", "columns", "metrics", "kernel"}
    if unknown:
        raise UsageError(
            f"unknown key {min(unknown)!r} in the mapping", location=where, hint="docs/formats.md"
        )
    if not isinstance(found.get("columns"), dict) or not found["columns"]:
        raise UsageError("the mapping has no [columns]", location=where, hint="docs/formats.md")
    targets = {column: kind for _, column, kind in columns_of(Run.table) if column not in _OWN}
    columns = {t: _column(t, c, targets, where) for t, c in found["columns"].items()}
    for target in found.get("constants", {}):
        if target not in targets:
            raise UsageError(f"[constants] names {target!r}, which is no column of runs", location=where)
    required = found.get("require") or [c.column for c in columns.values()]
    return TableMap(
        name=str(found.get("name", where)),
        required=tuple(map(str, required)),
        constants=dict(found.get("constants", {})),
        columns=columns,
        metrics=tuple(_metric(m, where) for m in found.get("metrics", ())),
        kernel=found.get("kernel"),
    )


def _column(target: str, given: Any, targets: dict[str, str], where: str) -> Column:
    if target not in targets:
        raise UsageError(
            f"[columns] names {target!r}, which is no column of runs", location=where, hint="docs/tables.md"
        )
    if isinstance(given, str):
        return Column(given)
    if not isinstance(given, dict) or not isinstance(given.get("column"), str):
        raise UsageError(f"[columns] {target} names no column", location=where)
    scale = 1.0
    if unit := given.get("unit"):
        units = next((u for suffix, u in SCALES.items() if target.endswith(suffix)), {})
        if unit not in units:
            raise UsageError(
                f"[columns] {target} cannot be given in {unit!r}",
                location=where,
                hint=f"one of {', '.join(units) or 'none: it has no unit'}",
            )
        scale = units[unit]
    return Column(given["column"], scale, tuple(map(str, given.get("null", ()))), given.get("values"))


def _metric(given: Any, where: str) -> MetricColumn:
    if (
        not isinstance(given, dict)
        or not isinstance(given.get("column"), str)
        or not isinstance(given.get("name"), str)
    ):
        raise UsageError("each of [[metrics]] needs column and name", location=where, hint="docs/formats.md")
    return MetricColumn(
        column=given["column"],
        name=given["name"],
        unit=given.get("unit"),
        subject=given.get("subject", metrics.CANDIDATE),
        source=given.get("source", "table"),
        scale=float(given.get("scale", 1.0)),
        drop=tuple(given.get("drop", ())),
    )
