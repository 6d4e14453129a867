"""A page a kernel: its source once, however often it was sent, and who sent it.

A draft that one run sent and nobody submitted, verified or complained about stands in its turn alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.site import read
from kbstats.site.pages import Page, Unit, key_of
from kbstats.site.read import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

BATCH = 200


class KernelPage(Page):
    """kernels/….html."""

    order = 60
    batch = BATCH

    def units(self, site: Site) -> Sequence[Unit]:
        """One a kernel; its key covers who sent it and what became of those runs."""
        submitted = site.groups("submitted_kernel_sha256")
        erring = site.erring
        results = grouped(site.verifications, "kernel_sha256")
        out = []
        for sha in sorted(site.paged_kernels):
            head = site.kernel_heads[sha]
            sends = [s for s in site.sends.get(sha, []) if s["run_id"] in site.by_id]
            runs = submitted.get(sha, [])
            people = sorted({s["run_id"] for s in sends} | {r["run_id"] for r in runs})
            states = [
                (
                    i,
                    site.by_id[i]["model_key"],
                    site.by_id[i]["short"],
                    site.by_id[i]["outcome"],
                    site.by_id[i]["standing"],
                )
                for i in people
            ]
            verified = results.get(sha, [])
            key = key_of(
                site.digest, sorted(head.items()), sends, states, [sorted(v.items()) for v in verified], sha in erring
            )
            out.append(Unit(str(site.kernel_path(sha)), (sha, sends, runs, verified, sha in erring), key))
        return out

    def arranged(self, site: Site, units: Sequence[Unit]) -> Sequence[Unit]:
        """As they stand in the table."""
        return sorted(units, key=lambda u: site.kernel_places[u.subject[0]])

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Source and senders."""
        units = self.arranged(site, units)
        for i in range(0, len(units), BATCH):
            batch = units[i : i + BATCH]
            sources = read.kernels(site.con, [u.subject[0] for u in batch], site.redact.scan, site.kernel_places)
            for unit in batch:
                sha, sends, runs, verified, erring = unit.subject
                source = site.source(sources[sha])
                context = {
                    "k": sources[sha],
                    "source": source,
                    # Colour where somebody looks: at what was submitted, and where an error points.
                    "language": sources[sha]["language"] if runs or erring else "plain",
                    "sends": sends,
                    "submitted": runs,
                    "verified": verified,
                }
                yield unit, {unit.id: site.page("kernel.html", unit.id, **context)}


PAGE = KernelPage()
