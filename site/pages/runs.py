"""A page a run: what it claims and what became of it, the turns, every metric, the kernel, the reference.

The pages of the kernels that runs sent are rendered along with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site import fmt, read, run_view, words
from kbstats.site.pages import Page, Unit, kernels, key_of
from kbstats.site.pages.boards import script

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

BATCH = 96
"""Runs and kernels read at a time: bounds the memory, and saves queries."""
INLINE = 40_000
"""Characters of turns that stand on the page itself; further ones move to pages of their own."""
INLINE_TURN = 20_000
"""A single turn longer than this moves in any case."""
PART = 100_000
"""Characters of turns on one such page."""
NODES = 300
"""Elements of turns' bodies on the page itself."""
TURNS = 24
"""Turns on one page; a longer run goes on over further pages."""
COLOURED = 220
"""Coloured words of a source on a run's page; one with more stays black here, and is coloured on its own page."""


class RunPage(Page):
    """runs/….html, with parts runs/…-turn-N.html where a trace is long, and kernels/….html."""

    order = 50
    batch = BATCH

    def units(self, site: Site) -> Sequence[Unit]:
        """One unit a run, and one a kernel; a run's key covers every row the page shows."""
        states = site.run_states
        around = neighbours(site)
        found = [
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
                    sorted(site.failing_classes),
                ),
            )
            for r in site.runs
        ]
        return [*found, *kernels.units(site)]

    def arranged(self, site: Site, units: Sequence[Unit]) -> Sequence[Unit]:
        """As their turns stand in the tables; a kernel behind the first run that sent it."""
        places = site.run_places if len(units) > BATCH else {}
        last = len(places) + max(places.values(), default=0)

        def place(unit: Unit) -> tuple[int, int, str]:
            if isinstance(unit.subject[0], dict):
                return places.get(unit.subject[0]["run_id"], last), 0, unit.id
            _, sends, runs, *_ = unit.subject
            return min((places.get(x["run_id"], last) for x in (*sends, *runs)), default=last), 1, unit.id

        return sorted(units, key=place)

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Read and render the runs and kernels a batch at a time."""
        units = self.arranged(site, units)
        for i in range(0, len(units), BATCH):
            batch = units[i : i + BATCH]
            runs = [u.subject[0] for u in batch if isinstance(u.subject[0], dict)]
            detail = read.details(site.con, [r["run_id"] for r in runs], site.redact.scan) if runs else {}
            wanted = {c["kernel_sha256"] for rows in detail.values() for c in rows["calls"]}
            wanted |= {r["submitted_kernel_sha256"] for r in runs}
            wanted |= {u.subject[0] for u in batch if not isinstance(u.subject[0], dict)}
            sources = read.kernels(site.con, wanted - {None}, site.redact.scan, site.kernel_places)
            for unit in batch:
                if isinstance(unit.subject[0], dict):
                    run, around = unit.subject
                    yield unit, self.files(site, run, around, detail.pop(run["run_id"]), sources)
                else:
                    yield unit, kernels.files(site, unit, sources[unit.subject[0]])

    def files(
        self,
        site: Site,
        run: dict[str, Any],
        around: dict[str, Any],
        rows: dict[str, list[dict[str, Any]]],
        sources: dict[str, Any],
    ) -> dict[str, str]:
        """The page of one run, and its parts."""
        run_id = run["run_id"]
        view = run_view.view(
            run,
            rows,
            site.failures_of(run_id),
            sources,
            site.reference_of(run),
            shown=site.source,
            judged=site.turn_states.get(run_id, []),
        )
        path = site.path("runs", run_id)
        out: dict[str, str] = {}
        bodies = self.bodies(site, view, path, out)
        stem = path.removesuffix(".html")
        further = []
        for i in range(TURNS, len(view.turns), TURNS):
            turns = view.turns[i : i + TURNS]
            page = f"{stem}-turns-{turns[0].number}.html"
            for t in turns:
                t.page = page
            out[page] = site.page("turns_page.html", page, v=view, turns=turns, run_path=path)
            further.append((turns[0].number, turns[-1].number, page))
        source = site.source(view.kernel) if view.kernel else ""
        context = {
            "v": view,
            "r": run,
            "bodies": bodies,
            "run_path": path,
            "shown_turns": view.turns[:TURNS],
            "further": further,
            "around": around,
            "strip": run_view.strip(view.turns),
            "lines": words.verdict_line(run),
            "said": site.said_of(run),
            "links": site.links_of(run["run_id"]),
            "source": source,
            "source_colour": self.colour(site, source, view.kernel["language"] if view.kernel else None),
            "reference_colour": self.colour(site, (view.reference or {}).get("source_code") or "", "python"),
        }
        out[path] = site.page("run.html", path, **context)
        name = path.removeprefix("runs/").removesuffix(".html")
        out[f"sides/{name}.js"] = script("kbstats.side", name, side(site, view, path, source))
        return out

    @staticmethod
    def bodies(site: Site, view: run_view.RunView, path: str, out: dict[str, str]) -> dict[int, Any]:
        """Bodies of the turns that stand on the run's page; the others become pages of their own, into `out`."""
        found: dict[int, Any] = {}
        chars, nodes = INLINE, NODES
        part: list[tuple[Any, Any]] = []

        def close() -> None:
            if part:
                name = f"{path.removesuffix('.html')}-turn-{part[0][0].number}.html"
                for t, _ in part:
                    t.part = name
                    for c in t.calls:
                        c.part = name
                out[name] = site.page("turn_page.html", name, v=view, parts=part, run_path=path)
                part.clear()

        for i, t in enumerate(view.turns):
            body = site.macro("turn.html", "turn_body", run_path=path)(view, t, "../").strip()
            elements = body.count("</")
            if i >= TURNS or len(body) > min(chars, INLINE_TURN) or elements > nodes:
                if part and sum(len(b) for _, b in part) + len(body) > PART:
                    close()
                part.append((t, body))
            elif body:
                found[t.number] = body
                chars -= len(body)
                nodes -= elements
        close()
        return found

    @staticmethod
    def colour(site: Site, source: str, language: str | None) -> str | None:
        """The language to colour a source in on a run's page: `plain` where that would take too many nodes."""
        if not source or len(source) > site.ATTACH:
            return language
        return language if site.highlighted(source, language).count("<span") <= COLOURED else "plain"


def side(site: Site, view: run_view.RunView, path: str, source: str) -> dict[str, Any]:
    """What a run shows beside another: text alone, all of it fit to be shown."""
    run = view.run
    shown = {
        "problem": run["problem_name"],
        "sweep": run["sweep"],
        "mode": run["mode"],
        "hardware": run["hardware"],
        "outcome": words.say(run["outcome"]),
        "failure class": run["failure_class"],
        "claimed speedup": fmt.times(run["speedup"]) if run["speedup"] is not None else None,
        "after the audit": fmt.times(run["speedup"]) if run["counts"]["audited_fast"] else None,
        "re-run": "; ".join(f"{v['verdict']} {words.interval(v)}" for v in run["verifications"]),
        "findings": ", ".join(words.say(f["code"]) for f in run["findings_shown"]),
        "turns": run["n_turns"],
        "states of the turns": ", ".join(words.STATES[t.state] for t in view.turns[:60]),
        "wall clock": fmt.seconds(run["wall_s"]) if run["wall_s"] is not None else None,
        "tokens": fmt.count(run["total_tokens"]) if run["total_tokens"] else None,
        "cost": fmt.usd(run["cost_usd"]) if run["cost_usd"] is not None else None,
        "kernel": f"{view.kernel['n_lines']} lines" if view.kernel else None,
    }
    measured = [
        [f"{line.words} ({subject})", fmt.times(v) if subject == "ratio" else fmt.metric(v, line.unit)]
        for group in view.final_metrics
        for line in group.lines
        for subject, v in line.values.items()
    ]
    return {
        "title": site.text(f"{run['model_key']} · {run['short']}"),
        "href": path,
        "lines": [[tone, site.text(text)] for tone, text in words.verdict_line(run)],
        "facts": [[k, site.text(str(v))] for k, v in shown.items() if v not in (None, "")],
        "metrics": [[site.text(k), site.text(v)] for k, v in measured],
        "kernel": source if len(source) <= site.ATTACH else "",
    }


def neighbours(site: Site) -> dict[str, dict[str, str | None]]:
    """Previous and next run of the same problem."""
    out: dict[str, dict[str, str | None]] = {}
    for group in site.groups("problem_key").values():
        ids = [r["run_id"] for r in group]
        for i, run in enumerate(ids):
            out[run] = {"prev": ids[i - 1] if i else None, "next": ids[i + 1] if i + 1 < len(ids) else None}
    return out


PAGE = RunPage()
