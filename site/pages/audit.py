"""What the audit found: each check with its threshold, and every run it speaks of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site.pages import SinglePage
from kbstats.site.read import grouped
from kbstats.sql.catalog import sql_files

if TYPE_CHECKING:
    from kbstats.site.context import Site

SHOWN = 200
"""Findings listed for one check; the rest is a number and stands on the runs' own pages."""

_ORDER = {"correctness": 0, "speed": 1, "identity": 2}
_SEVERITY = {"error": 0, "warning": 1, "info": 2}


def checks(site: Site) -> list[dict[str, Any]]:
    """Each audit with its header and findings: blocking ones first."""
    found = grouped(site.all_findings, "code")
    out: list[dict[str, Any]] = []
    for f in sql_files("audits"):
        rows = sorted(found.get(f.name, []), key=lambda x: (-abs(x["value"] or 0), x["run_id"] or ""))
        out.append(
            {
                "code": f.name,
                "purpose": f.header.get("purpose", ""),
                "severity": f.header.get("severity", ""),
                "blocks": f.header.get("blocks", ""),
                "threshold": "" if f.header.get("threshold") == "none" else f.header.get("threshold", ""),
                "runs": len({x["run_id"] for x in rows}),
                "findings": rows[:SHOWN],
                "more": max(0, len(rows) - SHOWN),
            }
        )
    out.sort(
        key=lambda c: (
            not c["runs"],
            _ORDER.get(c["blocks"], 3),
            _SEVERITY.get(c["severity"], 3),
            -c["runs"],
            c["code"],
        )
    )
    return out


class AuditPage(SinglePage):
    """audit.html."""

    order = 80
    nav = "Audit"
    path = "audit.html"
    template = "audit.html"

    def context(self, site: Site) -> dict[str, Any]:
        """Checks, and how many runs each gate takes out."""
        gates = {g: sum(1 for r in site.runs if g in r["blocks"] and r["counts"]["claimed"]) for g in _ORDER}
        withdrawn = sum(1 for r in site.runs if r["counts"]["claimed"] and r["blocks"])
        return {
            "checks": checks(site),
            "gates": gates,
            "withdrawn": withdrawn,
            "claimed": sum(r["counts"]["claimed"] for r in site.runs),
        }


PAGE = AuditPage()
