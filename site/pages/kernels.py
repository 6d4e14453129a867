"""A page a kernel: its source once, however often it was sent, and who sent it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.site import read
from kbstats.site.pages import Page, Unit, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

BATCH = 200


class KernelPage(Page):
    """kernels/….html."""

    order = 60

    def units(self, site: Site) -> Sequence[Unit]:
        """One a kernel; its key covers who sent it and what became of those runs."""
        submitted = site.groups("submitted_kernel_sha256")
        out = []
        for sha, head in site.kernel_heads.items():
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
            verified = [v for v in site.verifications if v["kernel_sha256"] == sha]
            key = key_of(site.digest, sorted(head.items()), sends, states, [sorted(v.items()) for v in verified])
            out.append(Unit(str(site.kernel_path(sha)), (sha, sends, runs, verified), key))
        return out

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Source and senders; only submitted kernels are worth the time to colour them."""
        for i in range(0, len(units), BATCH):
            batch = units[i : i + BATCH]
            sources = read.kernels(site.con, [u.subject[0] for u in batch])
            for unit in batch:
                sha, sends, runs, verified = unit.subject
                language = sources[sha]["language"] if runs else "plain"
                context = {
                    "k": sources[sha],
                    "language": language,
                    "sends": sends,
                    "submitted": runs,
                    "verified": verified,
                }
                yield unit, {unit.id: site.page("kernel.html", unit.id, **context)}


PAGE = KernelPage()
