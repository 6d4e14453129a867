"""What to do next, given what lies in the folder: what `kbstats` says when it is asked nothing.

A look, not a search: some hundred names, two folders deep, nothing decoded. An error is never raised:
whatever is wrong here is what the next step is about.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

DEPTH = 8
MOST_NAMES = 3000
"""Names looked at before the look ends."""
MOST_ASKED = 200
"""Files whose beginning is read to find their format."""
MOST_SOURCES = 20_000
"""Sources that are looked for on disk."""
WIDEST = 44
"""Longer commands stand on a line of their own."""
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "venv"}
_MANIFEST = "kbstats-site.json"


class Step(NamedTuple):
    """A command and what it does."""

    command: str
    text: str


class Advice(NamedTuple):
    """What stands here, one line each, and what to do about it."""

    facts: list[str]
    steps: list[Step]


class Here(NamedTuple):
    """What a look into a folder found."""

    formats: Counter[str]
    databases: list[Path]
    sites: list[Path]
    cut: bool


def walk(folder: Path) -> Iterator[Path]:
    """Files below a folder, nearest first, without hidden folders, links to folders and other people's packages."""
    level = [folder]
    for _ in range(DEPTH):
        below: list[Path] = []
        for place in level:
            with contextlib.suppress(OSError), os.scandir(place) as found:
                for entry in sorted(found, key=lambda e: e.name):
                    if entry.name.startswith(".") or entry.name in _SKIPPED:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        below.append(Path(entry.path))
                    elif entry.is_file():
                        yield Path(entry.path)
        level = below


def look(folder: Path) -> Here:
    """Count what the formats would claim, and find databases and built sites."""
    from kbstats.ingest import registry

    formats: Counter[str] = Counter()
    databases: list[Path] = []
    sites: list[Path] = []
    asked = 0
    for n, path in enumerate(walk(folder)):
        if n >= MOST_NAMES or asked >= MOST_ASKED:
            return Here(formats, databases, sites, cut=True)
        if path.suffix == ".duckdb":
            databases.append(path)
        elif path.name == _MANIFEST:
            sites.append(path.parent)
        elif not any(parent in sites for parent in path.parents):
            asked += 1
            with contextlib.suppress(OSError):
                if fmt := registry.sniff(path):
                    formats[fmt.name] += 1
    return Here(formats, databases, sites, cut=False)


def elsewhere(path: Path) -> Path | None:
    """A database of that name in a folder above or just below, for who stands in the wrong one."""
    with contextlib.suppress(OSError):
        folder = path.absolute().parent
        above = [p / path.name for p in list(folder.parents)[:4]]
        below = sorted(folder.glob(f"*/{path.name}")) if folder.is_dir() else []
        for found in (*below[:1], *above):
            if found.is_file():
                return Path(os.path.relpath(found))
    return None


def advise(db: Path) -> Advice:
    """What to do next.

    Args:
        db: Where the database is, or would be.
    """
    here = look(Path())
    if not db.exists():
        return _without(db, here)
    from kbstats.analytics import warehouse
    from kbstats.ingest.errors import KbstatsError

    try:
        con = warehouse.open_read(db)
    except KbstatsError as e:
        return Advice([f"{db}: {e.message}", *([f"what to do: {e.hint}"] if e.hint else [])], [_DOCTOR])
    with contextlib.closing(con):
        return _with(con, db, here)


_DOCTOR = Step("kbstats doctor", "what is here, what is missing")


def _traces(here: Here) -> str:
    kinds = ", ".join(f"{name} {n}" for name, n in here.formats.most_common(4))
    return f"{here.formats.total()}{' or more' if here.cut else ''} files here can be read ({kinds})"


def _without(db: Path, here: Here) -> Advice:
    facts = [f"No database here yet ({db})."]
    steps = []
    found = [p for p in (elsewhere(db), *here.databases) if p is not None]
    if found:
        facts.append(f"There is one at {found[0]}.")
        steps.append(Step(f"kbstats leaderboard --db {found[0]}", "use it (or set KBSTATS_DB)"))
    if here.formats:
        facts.append(_traces(here) + ".")
        steps.append(Step("kbstats ingest .", "read them into a database"))
    else:
        facts.append("No traces here either.")
        steps += [
            Step("kbstats ingest PATH", "read a folder of traces into a database"),
            Step("kbstats demo", "try it all on samples"),
            Step("kbstats samples", "copy the samples here, to try one command after the other"),
        ]
    return Advice(facts, steps)


def _with(con: duckdb.DuckDBPyConnection, db: Path, here: Here) -> Advice:
    runs, models, files, last = con.execute(
        "select (select count(*) from runs), (select count(distinct coalesce(model, model_raw)) from runs), "
        "count(*), strftime(max(ingested_at), '%Y-%m-%d %H:%M') from sources"
    ).fetchall()[0]
    if not runs:
        source = "." if here.formats else "PATH"
        text = "read them into it" if here.formats else "read a folder of traces into it"
        facts = [f"{db} holds no runs.", *([_traces(here) + "."] if here.formats else [])]
        return Advice(facts, [Step(f"kbstats ingest {source}", text), _DOCTOR])
    facts = [f"{db}: {runs:,} runs of {models:,} models from {files:,} files, read {last} UTC."]
    steps = _reread(con, facts)
    steps += [
        Step("kbstats leaderboard --trust audited", "who is how good"),
        Step("kbstats failures", "why the rest failed"),
    ]
    doubts, wrong, slow = con.execute(
        "select count(distinct run_id) filter (where severity = 'error'), "
        "count(distinct run_id) filter (where code = 'refuted'), "
        "count(distinct run_id) filter (where code = 'refuted_speed') from audit_findings"
    ).fetchall()[0]
    if doubts:
        # In the audit's own words and numbers, so that the next command shows the same.
        refuted = ", ".join(f"{n:,} {word}" for n, word in ((wrong, "refuted"), (slow, "refuted_speed")) if n)
        among = f", among them {refuted}" if refuted else ""
        facts.append(f"{doubts:,} runs carry a finding of severity error{among}.")
        steps.append(Step("kbstats audit", "what cannot be true"))
    ((verified,),) = con.execute("select count(*) from verifications").fetchall()
    if not verified:
        facts.append("No kernel was run again yet.")
        steps.append(Step("kbstats verify --top 10 --problems DIR", "re-run the best, on a GPU"))
    if here.sites:
        site = here.sites[0]
        steps.append(Step(f"kbstats site build -o {site}", "bring the site up to date"))
        steps.append(Step(f"kbstats site serve {site}", "look at it"))
    else:
        steps.append(Step("kbstats site build -o board/", "publish a static site"))
    return Advice(facts, steps)


def _reread(con: duckdb.DuckDBPyConnection, facts: list[str]) -> list[Step]:
    """Sources that changed or went since they were read; what lay in an archive goes with the archive."""
    from kbstats.ingest.archives import INSIDE

    rows = con.execute(
        "select path, root, epoch_us(mtime) from sources where mtime is not null order by path limit ?", [MOST_SOURCES]
    ).fetchall()
    changed: Counter[str] = Counter()
    gone = 0
    for path, root, mtime_us in rows:
        outer, inside, _ = path.partition(INSIDE)
        try:
            now = Path(outer).stat().st_mtime_ns // 1000
        except (OSError, ValueError):
            gone += 1
            continue
        if now > mtime_us and not inside:
            changed[root or path] += 1
    if changed:
        facts.append(f"{changed.total():,} of its files changed since.")
        return [Step(f"kbstats ingest {_shown(root)}", "read what changed") for root, _ in changed.most_common(1)]
    if gone:
        facts.append(f"{gone:,} of its files are gone (`kbstats ingest PATH --prune` forgets them).")
    return []


def _shown(path: str) -> str:
    """A path as short as it can be typed, quoted where a shell would split it."""
    import shlex

    relative = os.path.relpath(path)
    return shlex.quote(relative if len(relative) < len(path) else path)


def lines(advice: Advice) -> list[str]:
    """What is printed."""
    from kbstats.analytics.output import folded, plain, width

    size = max(len(s.command) for s in advice.steps)
    apart = "  " if size <= WIDEST else "\n      "
    steps = [f"  {s.command:<{size if size <= WIDEST else 0}}{apart}{s.text}" for s in advice.steps]
    end = "Every command: kbstats --help; with an example: kbstats COMMAND --help"
    texts = [*advice.facts, "", "Next:", *steps, "", end]
    return [line for t in texts for line in folded(plain(t), max(width(), 60))]
