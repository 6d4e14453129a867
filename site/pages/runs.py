"""A page a run: what it claims and what became of it, the turns, every metric, the kernel, the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site import read, run_view, words
from kbstats.site.pages import Page, Unit, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

BATCH = 24
"""Runs read at a time: bounds the memory, and saves queries."""
INLINE = 60_000
"""Characters of turns that stand on the page itself; further ones move to pages of their own."""
INLINE_TURN = 24_000
"""A single turn longer than this moves in any case."""


class RunPage(Page):
    """runs/….html, with parts runs/…-turn-N.html where a trace is long."""

    order = 50

    def units(self, site: Site) -> Sequence[Unit]:
        """One unit a run; its key covers every row the page shows."""
        states = read.states(site.con)
        around = neighbours(site)
        return [
            Unit(
                site.path("runs", r["run_id"]),
                (r, around[r["run_id"]]),
                key_of(
                    site.digest,
                    sorted((k, repr(v)) for k, v in r.items()),
                    states.get(r["run_id"]),
                    around[r["run_id"]],
                    [sorted(f.items(), key=repr) for f in site.failures_of(r["run_id"])],
                    (site.reference_of(r) or {}).get("source_sha256"),
                    site.said_of(r),
                    site.addresses_of(r),
                ),
            )
            for r in site.runs
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Read and render the runs a batch at a time."""
        for i in range(0, len(units), BATCH):
            batch = units[i : i + BATCH]
            detail = read.details(site.con, [u.subject[0]["run_id"] for u in batch])
            wanted = {c["kernel_sha256"] for rows in detail.values() for c in rows["calls"]}
            wanted |= {u.subject[0]["submitted_kernel_sha256"] for u in batch}
            kernels = read.kernels(site.con, sorted(wanted - {None}))
            for unit in batch:
                run, around = unit.subject
                yield unit, self.files(site, run, around, detail.pop(run["run_id"]), kernels)

    def files(
        self,
        site: Site,
        run: dict[str, Any],
        around: dict[str, Any],
        rows: dict[str, list[dict[str, Any]]],
        kernels: dict[str, Any],
    ) -> dict[str, str]:
        """The page of one run, and its parts."""
        view = run_view.view(run, rows, site.failures_of(run["run_id"]), kernels, site.reference_of(run))
        path = site.path("runs", run["run_id"])
        out: dict[str, str] = {}
        left = INLINE
        bodies: dict[int, Any] = {}
        turn_body = site.macro("turn.html", "turn_body")
        for t in view.turns:
            body = turn_body(view, t, "../")
            if len(body) > min(left, INLINE_TURN):
                t.part = f"{path.removesuffix('.html')}-turn-{t.number}.html"
                out[t.part] = site.page("turn_page.html", t.part, v=view, t=t, body=body, run_path=path)
            else:
                bodies[t.number] = body
                left -= len(body)
        context = {
            "v": view,
            "r": run,
            "bodies": bodies,
            "around": around,
            "strip": run_view.strip(view.turns),
            "lines": words.verdict_line(run),
            "said": site.said_of(run),
            "links": site.links_of(run["run_id"]),
        }
        out[path] = site.page("run.html", path, **context)
        return out


def neighbours(site: Site) -> dict[str, dict[str, str | None]]:
    """Previous and next run of the same problem."""
    out: dict[str, dict[str, str | None]] = {}
    for group in site.groups("problem_key").values():
        ids = [r["run_id"] for r in group]
        for i, run in enumerate(ids):
            out[run] = {"prev": ids[i - 1] if i else None, "next": ids[i + 1] if i + 1 < len(ids) else None}
    return out


PAGE = RunPage()
