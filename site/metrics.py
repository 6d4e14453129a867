"""Metrics as tables: grouped by the first part of their name, so that a new one appears by itself."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from kbstats.site.redact import capital, parted, spaced

Row = dict[str, Any]

GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Timing", "As the harness measured it.", ("runtime", "timing", "speedup")),
    ("Numerical precision", "Against the reference's output.", ("error", "precision")),
    ("GPU memory", "Peak allocation while it ran.", ("memory",)),
    ("Launches and fusion", "Kernel launches of one forward call.", ("kernels", "cuda_time", "fusion", "launch")),
    ("Speed of light", "How near to what the hardware can do.", ("sol",)),
    (
        "Roofline and occupancy",
        "Hardware counters.",
        (
            "dram",
            "compute",
            "occupancy",
            "roofline",
            "l1",
            "l2",
            "ld",
            "st",
            "load",
            "store",
            "eligible_warps",
            "shared_memory_per_block",
            "grid_size",
            "gpu_time",
            "tensor",
            "fp32",
            "fp16",
            "peak",
            "arithmetic_intensity",
            "ridge_point",
            "registers",
            "registers_per_thread",
            "shared_memory",
            "shared_mem_per_block",
            "shared_mem",
            "block_size",
            "block",
            "dominant_pipe",
            "sm",
            "bandwidth",
        ),
    ),
    ("Warp stalls", "Share of warp cycles by reason.", ("warp_stall", "warp_stalls", "stall")),
    ("Energy", "Power sampled while it ran.", ("power", "energy")),
)
"""Title, a sentence, and the prefixes of names that belong to it, in page order."""

SUBJECTS = ("candidate", "reference", "ratio")

_GROUP_OF = {prefix: i for i, (_, _, prefixes) in enumerate(GROUPS) for prefix in prefixes}


@dataclass
class Line:
    """One metric: its name, unit, measurer and the values of the subjects."""

    name: str
    unit: str | None
    source: str | None
    values: dict[str, float] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The name as a person would say it."""
        return spaced(self.name, "._")


@dataclass
class Group:
    """A table of metrics."""

    title: str
    about: str
    lines: list[Line]

    @property
    def subjects(self) -> tuple[str, ...]:
        """Columns that hold a value."""
        return tuple(s for s in SUBJECTS if any(s in line.values for line in self.lines))

    @property
    def sources(self) -> str:
        """Who measured, where it is the same for all."""
        found = sorted({line.source for line in self.lines if line.source})
        return ", ".join(found)


def groups(rows: list[Row]) -> list[Group]:
    """Group metric rows (`subject, name, value, unit, source`) for display.

    Rows of one name, unit and source share a line; a second value for the same subject gets a line of
    its own, since nothing may be lost.
    """
    lines: dict[tuple[int, str], list[Line]] = defaultdict(list)
    for r in rows:
        prefix = parted(r["name"], ".")[0]
        at = (_GROUP_OF.get(prefix, len(GROUPS)), prefix if prefix not in _GROUP_OF else "")
        unit = r["unit"]
        for line in lines[at]:
            same = line.name == r["name"] and line.source == r["source"]
            # A ratio has no unit of its own and stands in the line of what it compares.
            if (
                same
                and r["subject"] not in line.values
                and (line.unit == unit or "ratio" in (r["subject"], *line.values))
            ):
                line.values[r["subject"]] = r["value"]
                if r["subject"] != "ratio":
                    line.unit = unit
                break
        else:
            lines[at].append(Line(r["name"], unit, r["source"], {r["subject"]: r["value"]}))
    out = []
    for i, prefix in sorted(lines):
        title, about = GROUPS[i][:2] if i < len(GROUPS) else (capital(spaced(prefix)), "")
        out.append(Group(title, about, lines[i, prefix]))
    return out
