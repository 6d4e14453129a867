"""What the words mean, taken from the code and the SQL that use them: it cannot drift from what is done."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from kbstats.site import private, words
from kbstats.site.pages import SinglePage
from kbstats.sql.catalog import sql_files

if TYPE_CHECKING:
    from kbstats.site.context import Site

_MODELS = (
    "run_outcomes",
    "tool_failures",
    "audit_findings",
    "run_status",
    "run_verifications",
    "run_trust",
    "ranked_runs",
    "board",
)
"""Models a reader should know, in the order in which data flows through them."""


def _doc(obj: Any) -> str:
    return inspect.cleandoc(obj.__doc__ or "")


def models() -> list[dict[str, str]]:
    """Headers of the SQL models: purpose, grain, inputs, and the statement."""
    by = {f.name: f for f in sql_files("models")}
    order = [n for n in _MODELS if n in by] + sorted(set(by) - set(_MODELS))
    return [
        {"name": n, **{k: by[n].header.get(k, "") for k in ("purpose", "grain", "inputs")}, "sql": by[n].sql}
        for n in order
    ]


class MethodologyPage(SinglePage):
    """methodology.html."""

    order = 100
    nav = "Methodology"
    path = "methodology.html"
    template = "methodology.html"

    def context(self, site: Site) -> dict[str, Any]:
        """Definitions, each from the place that uses it."""
        from kbstats.analytics import leaderboards, stats

        return {
            "models": models(),
            "audits": [{"name": f.name, **f.header} for f in sql_files("audits")],
            "outcomes": words.OUTCOMES,
            "verdicts": words.VERDICTS,
            "states": words.STATES,
            "classes": list(site.classes.values()),
            "statistics": [
                ("board", _doc(leaderboards.board)),
                ("wilson", _doc(stats.wilson)),
                ("bootstrap", _doc(stats.bootstrap)),
            ],
            "kinds": list(dict.fromkeys(k.name for k in private.KINDS)),
        }


PAGE = MethodologyPage()
