"""What was re-run: refusals first, claim beside measurement; each result in full on a page of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.site import read, words
from kbstats.site.pages import Page, Unit
from kbstats.site.read import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

_TONES = {"refuted": 0, "open": 1, "verified": 2}


class Result(NamedTuple):
    """A result's rows: its gates, its pairs, and its whole document as JSON."""

    checks: list[dict[str, Any]]
    timings: list[dict[str, Any]]
    document: str | None


def _flat(text: str | None) -> list[tuple[str, str]]:
    """A JSON object as name and value, one level deep."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return [("detail", text or "")]
    if not isinstance(value, dict):
        return [("detail", json.dumps(value, ensure_ascii=False))]
    return [
        (k.replace("_", " "), v if isinstance(v, str) else json.dumps(v, ensure_ascii=False))
        for k, v in sorted(value.items())
    ]


def ordered(site: Site) -> list[dict[str, Any]]:
    """Results, refusals first, with the runs that submitted the kernel."""
    runs = site.groups("submitted_kernel_sha256")
    rows = [
        {**v, "tone": words.verdict_tone(v["verdict"]), "runs": runs.get(v["kernel_sha256"], [])}
        for v in site.verifications
    ]
    return sorted(rows, key=lambda v: (_TONES[v["tone"]], v["problem_name"] or "", v["verification_id"]))


class VerificationPage(Page):
    """verification.html, and verifications/….html for each result."""

    order = 90
    nav = "Verification"
    path = "verification.html"

    def units(self, site: Site) -> Sequence[Unit]:
        """The overview, and one a result."""
        rows = ordered(site)
        return [
            Unit(self.path, rows, site.state),
            *(Unit(site.path("verifications", v["verification_id"]), v, site.state) for v in rows),
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Overview with dumbbells, and each result in full."""
        checks = grouped(read.fetch(site.con, read.CHECKS), "verification_id")
        timings = grouped(read.fetch(site.con, read.TIMINGS), "verification_id")
        documents = {d["verification_id"]: d["document"] for d in read.fetch(site.con, read.DOCUMENTS)}
        for unit in units:
            if unit.id == self.path:
                yield unit, {self.path: self.overview(site, unit.subject)}
            else:
                v = unit.subject
                vid = v["verification_id"]
                rows = Result(checks.get(vid, []), timings.get(vid, []), documents.get(vid))
                yield unit, {unit.id: self.result(site, unit.id, v, rows)}

    def overview(self, site: Site, rows: list[dict[str, Any]]) -> str:
        """The list."""
        from kbstats.site import charts

        status = {"verified": "confirmed", "refuted": "refuted", "open": "other"}
        points = [
            {
                "name": site.label(f"{v['problem_name'] or v['kernel_sha256'][:8]} · {v['verification_id'][:6]}"),
                "claimed": v["claimed_speedup"],
                "measured": v["speedup"],
                "lo": v["speedup_lo"],
                "hi": v["speedup_hi"],
                "status": status[v["tone"]],
            }
            for v in rows
            if v["claimed_speedup"] and v["speedup"] and v["speedup_lo"] and v["speedup_hi"]
        ]
        chart = (
            charts.dumbbells(points, "Claimed and measured speedup of each re-run kernel on a log axis.")
            if points
            else None
        )
        tones = {t: sum(v["tone"] == t for v in rows) for t in _TONES}
        claimed = sum(r["counts"]["claimed"] for r in site.runs)
        return site.page("verification.html", self.path, rows=rows, chart=chart, tones=tones, claimed=claimed)

    def result(self, site: Site, path: str, v: dict[str, Any], rows: Result) -> str:
        """One result: gates, pairs, clocks, machine."""
        from kbstats.site import charts

        pairs = rows.timings
        dots = [
            {
                "baseline": site.label(t["baseline"]),
                "pair": t["pair"],
                "ratio": t["ref_us"] / t["cand_us"],
                "status": "dropped" if t["kept"] is False else "kept",
            }
            for t in pairs
            if t["ref_us"] and t["cand_us"]
        ]
        clocks = [
            {"baseline": site.label(t["baseline"]), "pair": t["pair"], "clock_mhz": t["clock_mhz"]}
            for t in pairs
            if t["clock_mhz"]
        ]
        document = json.loads(rows.document) if rows.document else {}
        machine = document.get("machine") if isinstance(document, dict) else None
        return site.page(
            "verification_result.html",
            path,
            v=v,
            checks=[{**c, "detail": _flat(c["detail"])} for c in rows.checks],
            pairs=grouped(pairs, "baseline"),
            pair_chart=charts.pairs(dots, "Speedup of each timed pair in order of time, one band a baseline.")
            if dots
            else None,
            clock_chart=charts.clocks(clocks, "The GPU's clock during the pairs.") if clocks else None,
            machine=_flat(json.dumps(machine or {})),
            document=json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) if document else "",
        )


PAGE = VerificationPage()
