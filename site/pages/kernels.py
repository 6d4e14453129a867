"""A page a kernel: its source once, however often it was sent, and who sent it.

A draft that one run sent and nobody submitted, verified or spoke of stands in its turn alone. These
pages are rendered among the runs' (`pages.runs`): a source is read, cleaned and coloured once for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site.pages import Unit, key_of
from kbstats.site.read import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.site.context import Site


def units(site: Site) -> Iterator[Unit]:
    """One a kernel; its key covers who sent it and what became of those runs."""
    submitted = site.groups("submitted_kernel_sha256")
    results = grouped(site.verifications, "kernel_sha256")
    said = {r["run_id"]: [r[k] for k in ("model_key", "short", "outcome", "standing")] for r in site.runs}
    for sha in sorted(site.paged_kernels):
        head = site.kernel_heads[sha]
        sends = [s for s in site.sends.get(sha, []) if s["run_id"] in site.by_id]
        runs = submitted.get(sha, [])
        people = sorted({s["run_id"] for s in sends} | {r["run_id"] for r in runs})
        verified = results.get(sha, [])
        key = key_of(
            site.digest,
            sorted(head.items()),
            sends,
            [(i, said[i], site.path("runs", i)) for i in people],
            [sorted(v.items()) for v in verified],
        )
        yield Unit(str(site.kernel_path(sha)), (sha, sends, runs, verified), key)


def files(site: Site, unit: Unit, row: dict[str, Any]) -> dict[str, str]:
    """Source and senders."""
    _, sends, runs, verified = unit.subject
    context = {
        "k": row,
        "source": site.source(row),
        # Colour where somebody looks: at what was submitted or re-run.
        "language": row["language"] if runs or verified else "plain",
        "sends": sends,
        "submitted": runs,
        "verified": verified,
    }
    return {unit.id: site.page("kernel.html", unit.id, **context)}
