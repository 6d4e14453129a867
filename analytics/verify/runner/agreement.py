"""What a results file says of its devices: how busy each was, and whether they measure the same.

GPU models are never pooled: a kernel measured on two models makes two rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


MEASURED = ("verdict", "speedup", "speedup_lo", "speedup_hi", "speed")


def of(results: Path) -> dict[str, Any]:
    """Gather the documents that several devices left.

    Returns:
        `wall_s`, from the first kernel begun to the last one done; `devices`, for each the number of
        results and the seconds it was held, with their share of `wall_s`; `kernels`, for each kernel
        and GPU model the speedups by device, and whether all intervals have a point in common.
    """
    lines = [line for line in results.read_text(encoding="utf-8").splitlines() if line.strip()]
    documents = [d for d in map(json.loads, lines) if "schedule" in d]
    begun = min((d["schedule"]["begun_at"] for d in documents), default=0.0)
    ended = max((d["schedule"]["held_at"] + d["schedule"]["held_s"] for d in documents), default=0.0)
    wall_s = ended - begun
    devices: dict[str, dict[str, Any]] = {}
    kernels: dict[tuple[Any, ...], dict[str, Any]] = {}
    for d in documents:
        told = d["schedule"]
        one = devices.setdefault(
            told["device"], {"gpu_model": d["gpu_model"], "results": 0, "held_s": 0.0, "build_s": 0.0, "waited_s": 0.0}
        )
        one["results"] += 1
        for name in ("held_s", "build_s", "waited_s"):
            one[name] += told[name]
        key = (d["kernel_sha256"], d["reference_sha256"], d["precision"], d["gpu_model"])
        row = kernels.setdefault(
            key,
            {"kernel": d["kernel_sha256"], "problem": d["problem_name"], "gpu_model": d["gpu_model"], "by_device": {}},
        )
        row["by_device"][told["device"]] = {k: d[k] for k in MEASURED}
    for one in devices.values():
        one["share"] = one["held_s"] / wall_s if wall_s else None
    for row in kernels.values():
        measured = [m for m in row["by_device"].values() if m["speedup"] is not None]
        row["agree"] = row["ratio"] = None
        if len(measured) > 1:
            row["agree"] = max(m["speedup_lo"] for m in measured) <= min(m["speedup_hi"] for m in measured)
            row["ratio"] = max(m["speedup"] for m in measured) / min(m["speedup"] for m in measured)
    return {"wall_s": wall_s, "results": len(documents), "devices": devices, "kernels": list(kernels.values())}


def text(found: dict[str, Any]) -> str:
    """The same for a person."""
    lines = [f"{found['results']} results in {found['wall_s']:.1f} s"]
    for name, one in sorted(found["devices"].items()):
        lines.append(
            f"device {name} ({one['gpu_model'] or 'CPU'}): {one['results']} results, held {one['held_s']:.1f} s "
            f"({100 * (one['share'] or 0):.1f} % of the time), built ahead {one['build_s']:.1f} s, "
            f"waited {one['waited_s']:.1f} s"
        )
    compared = [row for row in found["kernels"] if row["agree"] is not None]
    if compared:
        agree = sum(row["agree"] for row in compared)
        lines.append(f"{agree} of {len(compared)} kernels agree between devices within their intervals")
    for row in found["kernels"]:
        told = "; ".join(
            f"{name}: "
            + (
                f"{m['speedup']:.4f} [{m['speedup_lo']:.4f}, {m['speedup_hi']:.4f}] {m['speed']}"
                if m["speedup"] is not None
                else m["verdict"]
            )
            for name, m in sorted(row["by_device"].items())
        )
        mark = "" if row["agree"] is None else " agree" if row["agree"] else " DIFFER"
        lines.append(f"{row['kernel'][:12]} {row['problem'] or ''}{mark}: {told}")
    return "\n".join(lines)
