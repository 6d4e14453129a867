"""`kbstats doctor`: what is installed, which GPU, which database, what is missing and how to get it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from kbstats.analytics.output import Column, Format, emit

# What each part needs beyond the base install: the distribution, what it is for, what brings it.
_PACKAGES: tuple[tuple[str, str, str | None], ...] = (
    ("duckdb", "the warehouse", "pip install kbstats"),
    ("polars", "frames", "pip install kbstats"),
    ("altair", "charts of the site", "pip install kbstats"),
    ("torch", "`kbstats verify`", "pip install 'kbstats[verify]'"),
    ("triton", "kernels written in Triton", "comes with a CUDA build of torch"),
    ("nvidia-ml-py", "clocks beside measurements", "pip install 'kbstats[verify]'"),
)
_TOOLS: tuple[tuple[str, str, str], ...] = (
    ("nvcc", "kernels built with load_inline", "install the CUDA toolkit of your torch build"),
    ("ninja", "kernels built with load_inline", "pip install ninja"),
    ("g++", "kernels built with load_inline", "install a C++ compiler"),
    ("nvidia-smi", "the GPU's name and driver", "comes with the NVIDIA driver"),
)


def command(
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """Say what is installed, which GPU and database are there, and what brings what is missing.

    Example: kbstats doctor
    """
    records = [
        _row("python", True, platform.python_version(), ""),
        *_packages(),
        *_tools(),
        _gpu(),
        _sandbox(),
        *_database(db),
    ]
    emit(
        records,
        fmt,
        [
            Column("what", "what"),
            Column("ok", "", lambda v: "yes" if v else "no"),
            Column("found", "found"),
            Column("hint", "what brings it"),
        ],
    )


def _row(what: str, ok: bool, found: str, hint: str) -> dict[str, Any]:
    return {"what": what, "ok": ok, "found": found, "hint": "" if ok else hint}


def _packages() -> list[dict[str, Any]]:
    from kbstats.analytics.warehouse import version

    rows = [_row("kbstats", True, version(), "")]
    for name, use, hint in _PACKAGES:
        try:
            rows.append(_row(name, True, f"{metadata.version(name)} ({use})", ""))
        except metadata.PackageNotFoundError:
            rows.append(_row(name, False, f"not installed ({use})", hint or ""))
    return rows


def _tools() -> list[dict[str, Any]]:
    return [
        _row(tool, bool(found := shutil.which(tool)), f"{found or 'not on PATH'} ({use})", hint)
        for tool, use, hint in _TOOLS
    ]


def _gpu() -> dict[str, Any]:
    """The GPUs as the driver lists them; torch is not loaded for this."""
    hint = "`kbstats verify --device cpu`, or `kbstats verify plan` and run the bundle on a GPU machine"
    try:
        p = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return _row("GPU", False, "none found", hint)
    return _row("GPU", bool(p.stdout.strip()), "; ".join(p.stdout.strip().splitlines()), hint)


def _sandbox() -> dict[str, Any]:
    """Whether candidates can be locked in here; only Linux has the means."""
    if sys.platform != "linux":
        return _row("sandbox", False, f"not on {sys.platform}", "verify on Linux")
    unprivileged = Path("/proc/sys/kernel/unprivileged_userns_clone")
    root = os.geteuid() == 0
    open_ns = not unprivileged.exists() or unprivileged.read_text().strip() == "1"
    how = "namespaces as root" if root else "user namespaces" if open_ns else "Landlock only"
    return _row(
        "sandbox", root or open_ns, f"{how} (each layer is probed by `kbstats verify`)", "allow user namespaces"
    )


def _database(db: Path | None) -> list[dict[str, Any]]:
    from kbstats.analytics import warehouse
    from kbstats.ingest import scan, standing
    from kbstats.ingest.errors import KbstatsError
    from kbstats.ingest.issue_codes import CODES, STEPS

    path = db or warehouse.default_db()
    if not path.exists():
        return [_row("database", False, f"{path}: none yet", "kbstats ingest PATH")]
    try:
        con = warehouse.open_read(path)
    except KbstatsError as e:
        return [_row("database", False, f"{path}: {e.message}", e.hint or "")]
    n_runs, n_sources = con.execute("select (select count(*) from runs), (select count(*) from sources)").fetchall()[0]
    rows = [_row("database", True, f"{path}: {n_runs:,} runs from {n_sources:,} files", "")]
    issues = con.execute("select severity, code, count(*) from ingest_issues group by all order by all").fetchall()
    damaged = standing.damaged(con)
    con.close()
    for severity, code, n in issues:
        meaning = f"{n:,} ({severity}). {CODES.get(code, '')}".rstrip()
        rows.append(_row(f"issue {code}", severity != "error", meaning, STEPS.get(code, "")))
    rows += [_row(f"file {d.status}", False, f"{scan.shown(d.path)}: {d.what}", d.step) for d in damaged]
    return rows
