"""The index of the search: names of models, problems, runs and kernels, error messages, classes and checks."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from kbstats.site import read
from kbstats.site.pages import Page, Unit, key_of
from kbstats.site.pages.boards import script
from kbstats.site.text import one_line
from kbstats.site.words import say
from kbstats.sql.catalog import sql_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

KINDS = ("model", "problem", "run", "kernel", "error", "failure class", "check", "sweep", "level", "re-run")
PATH = "search/index.js"
_KERNELS = """
with named as (
    select
        kernel_sha256,
        unnest(list_distinct(list_concat(
            regexp_extract_all(
                source_code,
                '__global__\\s+(?:__launch_bounds__\\([^)]*\\)\\s*)?(?:static\\s+)?void\\s+'
                || '(?:__launch_bounds__\\([^)]*\\)\\s*)?(\\w+)',
                1
            ),
            regexp_extract_all(source_code, '@triton[.\\w]*(?:\\([^)]*\\))?\\s+def\\s+(\\w+)', 1)
        ))) as name
    from kernels
)
select n.name, coalesce(min(s.sha), min(n.kernel_sha256)) as kernel_sha256, count(*) as n
from named as n
left join (select distinct submitted_kernel_sha256 as sha from runs) as s on n.kernel_sha256 = s.sha
group by n.name order by n desc, n.name limit 2000
"""
_ERRORS = """
select message, count(*) as n, arg_min((run_id, turn), (run_id, turn)) as place
from compile_errors
where severity like '%error%' and message is not null and toolchain <> 'ninja' and turn is not null
group by message order by n desc, message limit 600
"""


class SearchIndex(Page):
    """search/index.js."""

    order = 120

    def units(self, site: Site) -> Sequence[Unit]:
        """One."""
        return [Unit(PATH, key=key_of(site.state, sorted(site.kernel_heads), sorted(site.run_states.items())))]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Entries as [kind, text, address, note]."""
        for unit in units:
            data = {"kinds": KINDS, "entries": entries(site)}
            yield unit, {PATH: script("kbstats.index", data)}


def entries(site: Site) -> list[list[Any]]:
    """Everything that can be found, the few before the many."""
    return [
        [KINDS.index(kind), one_line(site.text(str(text)), 120), to, *([one_line(site.text(note), 80)] if note else [])]
        for kind, text, to, note in itertools.chain(_groups(site), _words(site), _texts(site), _runs(site))
    ]


Entry = tuple[str, Any, str, str]


def _groups(site: Site) -> Iterator[Entry]:
    for key, runs in sorted(site.groups("model_key").items()):
        others = sorted({r["model_raw"] for r in runs if r["model_raw"]} - {key})
        yield "model", key, site.path("models", key), ", ".join(others)
    for key, runs in site.groups("level_key").items():
        yield "level", f"{runs[0]['suite']} level {runs[0]['level']}", site.path("levels", key), ""
    for key, runs in site.groups("sweep_key").items():
        if key:
            yield "sweep", runs[0]["sweep"], site.path("sweeps", key), runs[0]["suite"] or ""
    for key, runs in site.groups("problem_key").items():
        r = runs[0]
        note = f"{r['suite']} level {r['level']} {r['variant'] or ''}".strip()
        yield "problem", r["problem_name"] or r["short"], site.path("problems", key), note


def _words(site: Site) -> Iterator[Entry]:
    for name, about in site.classes.items():
        yield "failure class", about.get("title") or name, f"methodology.html#class-{name}", name
    for f in sql_files("audits"):
        yield "check", say(f.name), f"audit.html#{f.name}", f.header.get("purpose", "")
    for v in site.verifications:
        yield "re-run", v["verdict"], site.path("verifications", v["verification_id"]), v["problem_name"] or ""


def _texts(site: Site) -> Iterator[Entry]:
    for row in read.fetch(site.con, _KERNELS):
        if to := site.kernel_path(row["kernel_sha256"]):
            yield "kernel", row["name"], to, f"in {row['n']:,} sources" if row["n"] > 1 else ""
    for row in read.fetch(site.con, _ERRORS):
        run, turn = row["place"]
        if run in site.by_id:
            note = f"{row['n']:,} times" if row["n"] > 1 else ""
            yield "error", row["message"], f"{site.path('runs', run)}#turn-{turn}", note


def _runs(site: Site) -> Iterator[Entry]:
    for r in site.runs:
        note = f"{r['problem_name'] or ''} {r['sweep'] or ''} {say(r['outcome'])}"
        yield "run", f"{r['short']} {r['model_key']}", site.path("runs", r["run_id"]), note


PAGE = SearchIndex()
