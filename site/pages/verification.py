"""What was re-run: refusals first, claim beside measurement; each result in full on a page of its own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.site import fmt, read, words
from kbstats.site.pages import Page, Unit, key_of
from kbstats.site.read import grouped
from kbstats.site.redact import spaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

_TONES = {"refuted": 0, "verified": 1, "open": 2}


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
    return [(spaced(k), _said(v)) for k, v in sorted(value.items())]


def _said(value: Any) -> str:
    """A value of a foreign document; a fraction to four digits, the whole of it stands in the JSON below."""
    if isinstance(value, str):
        return value
    return fmt.sig(value, 4) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def _machine(value: Any) -> list[tuple[str, str]]:
    """The machine as name and value; bytes as a person says them."""
    found = value if isinstance(value, dict) else {}
    sized = {k.removesuffix("_bytes"): fmt.size(v) for k, v in found.items() if k.endswith("_bytes") and number(v)}
    return _flat(json.dumps({k: v for k, v in found.items() if k.removesuffix("_bytes") not in sized} | sized))


def ordered(site: Site) -> list[dict[str, Any]]:
    """Results, refusals first, with the runs that submitted the kernel."""
    runs = site.groups("submitted_kernel_sha256")
    rows = [{**v, "tone": words.verdict_tone(v), "runs": runs.get(v["kernel_sha256"], [])} for v in site.verifications]
    return sorted(
        rows,
        key=lambda v: (v["undecided"] != "", _TONES[v["tone"]], v["problem_name"] or "", v["verification_id"]),
    )


def of_claims(runs: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Runs claimed correct by what re-running made of them; each counts once, and the parts add up to `claimed`."""
    out = dict.fromkeys(("claimed", "wrong", "slow", "confirmed", "undecided", "waiting"), 0)
    for r in (r for r in runs if r["counts"]["claimed"]):
        out["claimed"] += 1
        if "refuted" in (r["blocks_correctness"] or ()):
            out["wrong"] += 1
        elif "refuted_speed" in (r["blocks_speed"] or ()):
            out["slow"] += 1
        elif r["counts"]["verified"]:
            out["confirmed"] += 1
        else:
            out["undecided" if r["verifications"] else "waiting"] += 1
    return out


def table_of(value: Any) -> list[dict[str, Any]]:
    """An object of objects as records with their name."""
    if not isinstance(value, dict):
        return []
    return [{"name": str(k), **v} for k, v in value.items() if isinstance(v, dict)]


def number(value: Any) -> float | None:
    """A finite positive number of a foreign document, else None."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")
    return float(value) if good else None


def dumbbells(site: Site, rows: list[dict[str, Any]], documents: dict[str, str]) -> list[dict[str, Any]]:
    """A line a result and baseline: claim, measurement with interval. A refusal has its claim alone."""
    status = {"verified": "confirmed", "refuted": "refuted", "open": "other"}
    out: list[dict[str, Any]] = []
    for v in rows:
        document = _object(documents.get(v["verification_id"]))
        measured = [b for b in table_of(document.get("baselines")) if number(b.get("speedup"))]
        if not measured and v["speedup"]:
            measured = [{"name": v["baseline"] or "", **{k: v[k] for k in ("speedup", "speedup_lo", "speedup_hi")}}]
        name = f"{v['problem_name'] or 'kernel'} · {v['kernel_sha256'][:6]}"
        base = {"claimed": number(v["claimed_speedup"]), "status": status[v["tone"]]}
        out += [
            {
                **base,
                "name": site.label(f"{name} · {b['name']}"),
                "measured": number(b["speedup"]),
                "lo": number(b.get("speedup_lo")),
                "hi": number(b.get("speedup_hi")),
            }
            for b in measured
        ]
        if not measured and base["claimed"]:
            out.append({**base, "name": site.label(f"{name} · refused" if v["tone"] == "refuted" else name)})
    return out


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class VerificationPage(Page):
    """verification.html, and verifications/….html for each result."""

    order = 90
    nav = "Verification"
    path = "verification.html"

    def units(self, site: Site) -> Sequence[Unit]:
        """The overview, and one a result."""
        rows = ordered(site)
        key = key_of(
            site.digest,
            [
                [sorted((k, x) for k, x in v.items() if k != "runs"), [site.prints[r["run_id"]] for r in v["runs"]]]
                for v in rows
            ],
            sum(r["counts"]["claimed"] for r in site.runs),
        )
        return [
            Unit(self.path, rows, key),
            *(Unit(site.path("verifications", v["verification_id"]), v, key) for v in rows),
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Overview with dumbbells, and each result in full."""
        checks = grouped(read.fetch(site.con, read.CHECKS), "verification_id")
        timings = grouped(read.fetch(site.con, read.TIMINGS), "verification_id")
        documents = {d["verification_id"]: d["document"] for d in read.fetch(site.con, read.DOCUMENTS)}
        for unit in units:
            if unit.id == self.path:
                yield unit, {self.path: self.overview(site, unit.subject, documents)}
            else:
                v = unit.subject
                vid = v["verification_id"]
                rows = Result(checks.get(vid, []), timings.get(vid, []), documents.get(vid))
                yield unit, {unit.id: self.result(site, unit.id, v, rows)}

    def overview(self, site: Site, rows: list[dict[str, Any]], documents: dict[str, str]) -> str:
        """The list, and a dumbbell a result and baseline."""
        from kbstats.site import charts

        # A result that another replaced would draw its kernel twice; where none decides, all are there is.
        points = dumbbells(site, [v for v in rows if not v["undecided"]] or rows, documents)
        chart = (
            charts.dumbbells(
                points, "Claimed and measured speedup of each re-run kernel, a line a baseline, on a log axis."
            )
            if points
            else None
        )
        idle = sum(bool(v["undecided"]) for v in rows)
        return site.page("verification.html", self.path, rows=rows, chart=chart, claims=of_claims(site.runs), idle=idle)

    def result(self, site: Site, path: str, v: dict[str, Any], rows: Result) -> str:
        """One result: gates, pairs, clocks, machine."""
        from kbstats.site import charts

        pairs = rows.timings
        dots = [
            {
                "baseline": f"against {site.label(t['baseline'])}",
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
        document = _object(rows.document)
        machine = document.get("machine")
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
            machine=_machine(machine),
            errors=table_of(document.get("errors")),
            baselines=table_of(document.get("baselines")),
            document=json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) if document else "",
        )


PAGE = VerificationPage()
