"""Conditions of a publication: what must hold before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from kbstats.site.context import Site
    from kbstats.site.read import Row

SHOWN = 3


def _refuse(what: str, runs: list[Row], hint: str) -> None:
    names = ", ".join(f"{r['short']} {r['model_key']} ({r['run_id']})" for r in runs[:SHOWN])
    more = f" and {len(runs) - SHOWN} more" if len(runs) > SHOWN else ""
    raise KbstatsError(f"{what}; nothing was written", location=names + more, hint=hint)


def check(site: Site) -> None:
    """Hold the database against the gates that were asked for.

    Raises:
        KbstatsError: one of them does not hold.
    """
    for code in site.options.fail_on:
        if any(f["code"] == code and f["run_id"] is None for f in site.all_findings):
            raise KbstatsError(f"finding {code} stands; nothing was written", location=code, hint="see `kbstats audit`")
        runs = [r for r in site.runs if any(f["code"] == code for f in r["findings"])]
        if runs:
            _refuse(f"{len(runs)} runs carry the finding {code}", runs, "see `kbstats audit`, or drop --fail-on")
    if site.options.require_verified:
        runs = [r for r in site.runs if r["counts"]["audited_fast"] and not r["counts"]["verified"]]
        if runs:
            _refuse(
                f"{len(runs)} speedups count that no re-run confirmed",
                runs,
                "`kbstats verify` them, or drop --require-verified",
            )
