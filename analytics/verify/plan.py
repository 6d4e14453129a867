"""Choosing kernels and writing them, with all that a GPU box needs to run them, as a bundle."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.analytics.verify import problems, shims
from kbstats.analytics.verify.runner import BUNDLE_SCHEMA, PROTOCOL
from kbstats.analytics.verify.runner.items import CASTS, Item, source_sha256
from kbstats.ingest.errors import KbstatsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

RUN_PY = '''"""Verify the kernels of this bundle: python run.py -o results.jsonl [--device cuda|cpu]. Needs torch alone."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

if __name__ == "__main__":
    from pathlib import Path

    from runner.cli import main

    sys.exit(main(Path(HERE)))
'''  # noqa: E501  one line for a person


PRECISIONS = {*CASTS, "fp32", "float32"}
"""What `--precision` takes; fp32 leaves model and inputs as they are."""


@dataclass(frozen=True)
class Selection:
    """Which runs to choose. Empty lists mean no filter."""

    top: int = 10
    levels: Sequence[int] = ()
    models: Sequence[str] = ()
    sweeps: Sequence[str] = ()
    variants: Sequence[str] = ()
    suites: Sequence[str] = ()
    runs: Sequence[str] = ()
    modes: Sequence[str] = ()
    hardwares: Sequence[str] = ()
    """GPUs of the claims."""
    backends: Sequence[str] = ()
    precisions: Sequence[str] = ()
    """Precisions of the claims, whatever they are run in."""
    flagged: bool = False
    """Only runs with an audit finding that blocks something."""
    sample: int | None = None
    """This many at random instead of the best claims, for an error rate that stands for the whole board."""
    seed: int = 0


@dataclass
class Plan:
    """What will be verified, and what cannot be with the reason."""

    items: list[Item] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


FILTERS = ("levels", "models", "sweeps", "variants", "suites", "modes", "hardwares", "backends", "precisions")
"""The filters of a board, all of which choose here too."""


def filters_of(chosen: Selection) -> dict[str, Any]:
    """Return the board's filters as the macros take them, None for those that are not set."""
    return {name: list(getattr(chosen, name)) or None for name in FILTERS}


def candidates(con: duckdb.DuckDBPyConnection, chosen: Selection) -> list[dict[str, Any]]:
    """Return the rows of the macro `verify_candidates`, best claim first."""
    query = """
        from verify_candidates(levels := $levels, models := $models, sweeps := $sweeps, variants := $variants,
            suites := $suites, modes := $modes, hardwares := $hardwares, backends := $backends,
            precisions := $precisions, run_ids := $runs, flagged := $flagged)
    """
    given = filters_of(chosen) | {"runs": list(chosen.runs) or None, "flagged": chosen.flagged}
    result = con.execute(query, given)
    columns = [d[0] for d in result.description]
    return [dict(zip(columns, row, strict=True)) for row in result.fetchall()]


def check_precision(name: str | None) -> None:
    """Refuse a precision that no kernel could be run in.

    Raises:
        UsageError: naming those there are.
    """
    if name is not None and name.lower() not in PRECISIONS:
        raise UsageError(f"no such precision: {name}", hint=f"--precision {', '.join(sorted(PRECISIONS))}")


def make(
    con: duckdb.DuckDBPyConnection,
    chosen: Selection,
    folder: Path,
    *,
    shim: Sequence[Path],
    precision: str | None,
    version: str,
) -> Plan:
    """Choose the top claims and find their references.

    Two runs with one kernel on one problem become one item. A run without a stored kernel or without
    a reference under `folder` is left out with a line that says so, and the next claim takes its place.

    Raises:
        UsageError: if a run asked for by id is not in the database.
    """
    check_precision(precision)
    plan = Plan()
    items: dict[tuple, Item] = {}
    rows = candidates(con, chosen)
    missing = [run for run in chosen.runs if run not in {r["run_id"] for r in rows}]
    if missing:
        raise UsageError(
            "no such run in the database", location=missing[0], hint="kbstats leaderboard --by run lists them"
        )
    top = chosen.top
    if chosen.sample is not None:
        # Also runs that cannot be re-run: leaving them out before drawing would bias the rate.
        rows = random.Random(chosen.seed).sample(rows, min(chosen.sample, len(rows)))  # noqa: S311  no secret
        top = chosen.sample
    for row in rows:
        name = f"{row['problem_name'] or 'problem ' + str(row['problem_id'])} of {row['model'] or 'unknown model'} (run {row['run_id'][:12]})"  # noqa: E501  one line for a person
        asked = precision or row["precision"]
        key = (row["kernel_sha256"], row["suite"], row["level"], row["variant"], row["problem_name"], asked)
        if key in items and row["kernel"] is not None:
            old = items[key]
            items[key] = Item(**{**vars(old), "run_ids": (*old.run_ids, row["run_id"])})
            continue
        if len(items) >= top and not chosen.runs:
            break
        if row["kernel"] is None:
            plan.left_out.append(f"{name}: its source stands in no ingested file, so it cannot be re-run")
            continue
        try:
            items[key] = _item(row, folder, shim, asked, version)
        except KbstatsError as error:
            plan.left_out.append(f"{name}: {error}")
    plan.items = list(items.values())
    return plan


def _item(row: dict[str, Any], folder: Path, shim: Sequence[Path], precision: str | None, version: str) -> Item:
    place = (row["level"], row["variant"], row["problem_name"])
    file = problems.find_reference(folder, *place)
    if file is None:
        raise KbstatsError("no reference", location=problems.expected_place(folder, *place))
    reference = read_source(file)
    given = shims.shims_for(reference, shim)
    provided = {"kernelbench.distributed_collectives", "kernelbench"} if given else set()
    return Item(
        kernel=row["kernel"],
        reference=reference,
        kernel_sha256=row["kernel_sha256"],
        reference_sha256=source_sha256(reference),
        shims=tuple(given),
        helpers=problems.helpers(reference, file, folder, provided),
        suite=row["suite"],
        level=row["level"],
        variant=row["variant"],
        problem_name=row["problem_name"],
        precision=precision,
        claimed_speedup=row["claimed_speedup"],
        claimed_baseline=row["claimed_baseline"],
        claimed_gpu=row["claimed_gpu"],
        run_ids=(row["run_id"],),
        kbstats_version=version,
    )


def read_source(path: Path) -> str:
    """Return a source file's text.

    Raises:
        KbstatsError: if it cannot be read as UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise KbstatsError(f"cannot read the file ({error})", location=path) from error


def from_files(
    kernel: Path, reference: Path, *, claim: float | None, shim: Sequence[Path], precision: str | None, version: str
) -> Item:
    """Return the item for one kernel file and its reference, without a database."""
    check_precision(precision)
    k, r = read_source(kernel), read_source(reference)
    given = shims.shims_for(r, shim)
    found = problems.helpers(
        r, reference, reference.parent, {"kernelbench.distributed_collectives", "kernelbench"} if given else set()
    )
    # The kernel itself may stand beside its reference.
    found = {name: text for name, text in found.items() if source_sha256(text) != source_sha256(k)}
    return Item(
        kernel=k,
        reference=r,
        kernel_sha256=source_sha256(k),
        reference_sha256=source_sha256(r),
        shims=tuple(given),
        helpers=found,
        precision=precision,
        problem_name=reference.name,
        claimed_speedup=claim,
        kbstats_version=version,
    )


def write_bundle(plan: Plan, target: Path, *, version: str) -> None:
    """Write `run.py`, `runner/`, the sources by hash and `bundle.json`; an older bundle there is replaced.

    Raises:
        UsageError: if `target` holds something that is no bundle.
    """
    if target.exists() and any(target.iterdir()) and not (target / "bundle.json").exists():
        raise UsageError("the folder holds other files", location=target, hint="name an empty or new folder with -o")
    for name in ("runner", "kernels", "references", "shims", "helpers"):
        shutil.rmtree(target / name, ignore_errors=True)
    source = Path(__file__).parent / "runner"
    shutil.copytree(source, target / "runner", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    (target / "run.py").write_text(RUN_PY, encoding="utf-8")
    entries = [_write_item(item, target) for item in plan.items]
    document = {"schema": BUNDLE_SCHEMA, "protocol": PROTOCOL, "kbstats_version": version, "items": entries}
    (target / "bundle.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _put(target: Path, name: str, text: str) -> str:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return name


def _write_item(item: Item, target: Path) -> dict[str, Any]:
    entry = {
        "kernel_sha256": item.kernel_sha256,
        "reference_sha256": item.reference_sha256,
        "kernel": _put(target, f"kernels/{item.kernel_sha256}.py", item.kernel),
        "reference": _put(target, f"references/{item.reference_sha256}.py", item.reference),
        "helpers": {
            name: _put(target, f"helpers/{source_sha256(text)}.py", text) for name, text in item.helpers.items()
        },
        "shims": [_put(target, f"shims/{source_sha256(text)}.py", text) for text in item.shims],
    }
    names = (
        "suite",
        "level",
        "variant",
        "problem_name",
        "precision",
        "claimed_speedup",
        "claimed_baseline",
        "claimed_gpu",
    )
    return {**entry, **{n: getattr(item, n) for n in names}, "run_ids": list(item.run_ids)}
