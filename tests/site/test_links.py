"""Every address on every built file leads somewhere: pages, anchors, data files, what the scripts load."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from kbstats.site.build import build

from .conftest import KERNEL, Db

_HREF = re.compile(r"""<[a-z][^>]*?\s(?:xlink:)?(?:href|src)="([^"]*)\"""")
_ID = re.compile(r"""<[a-z][^>]*?\sid="([^"]+)\"""")


def dead(site: Path) -> list[str]:
    """Addresses that lead nowhere, each with the file it stands in."""

    @cache
    def ids(path: Path) -> frozenset[str]:
        return frozenset(html.unescape(i) for i in _ID.findall(path.read_text(encoding="utf-8")))

    def wrong(page: Path, url: str) -> bool:
        if url == "data:," or re.match(r"https?://", url):
            return not url.startswith("data:")
        path, _, fragment = url.partition("#")
        target = page.parent / unquote(path) if path else page
        if not target.is_file():
            return True
        name = unquote(fragment.partition("?")[0])
        return bool(name) and target.suffix == ".html" and name not in ids(target.resolve()) and name not in STATES

    found = []
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        found += [f"{page.relative_to(site)}: {u}" for u in map(html.unescape, _HREF.findall(text)) if wrong(page, u)]
    for path in sorted(site.rglob("*.js")):
        if path.parent.name in ("boards", "sides", "search"):  # addresses from the page that loads them, at the top
            text = path.read_text(encoding="utf-8")
            found += [
                f"{path.relative_to(site)}: {u}" for u in addresses(path.parent.name, text) if wrong(site / "x", u)
            ]
    return found


STATES = {"runs"}
"""What side.html reads from its fragment: no element."""


def addresses(kind: str, text: str) -> list[str]:
    """Addresses in a data file."""
    values = json.loads("[" + text[text.index("(") + 1 : text.rindex(")")] + "]")
    if kind == "search":
        return [e[2] for e in values[0]["entries"]]
    return [values[1]["href"]] if kind == "sides" else list(map(html.unescape, _HREF.findall(values[1]["rows"])))


@pytest.fixture(scope="module")
def long_site(tmp_path_factory) -> Path:
    """Runs whose turns stand on pages of their own, in every order of errors, repeats and missing parts."""
    folder = tmp_path_factory.mktemp("long")
    db = Db(folder / "long.duckdb")
    tail = 'load_inline(name="x", cpp_sources="", cuda_sources=SRC)\n'
    drafts = [db.kernel("# pad\n" * 400 + KERNEL.replace("{n}", str(i)) + tail) for i in range(12)]
    for run, turns in (("few", 5), ("many", 70)):
        db.run(run, problem_id=turns, kernel=drafts[0], n_turns=turns, correct=False, speedup=None)
        for t in range(turns):
            db.turn(
                run,
                t,
                ok=t % 3 == 2,
                tool="submit_kernel" if t == turns - 1 else "compile_kernel",
                kernel=drafts[t % 12] if t % 5 else None,
                result="x y\n" * 4_000,
                errors=[(8, f'identifier "x" is undefined, {i}') for i in range(6)] if t % 3 == 0 else (),
            )
    db.run("none", problem_id=9, correct=None, speedup=None, source_outcome="never heard of it", kernel="0" * 64)
    build(db.close(), folder / "out")
    return folder / "out"


def test_no_address_is_dead(full_site, wide_site, long_site):
    assert any("-turn-" in p.name for p in long_site.rglob("*.html"))
    assert any("-turns-" in p.name for p in long_site.rglob("*.html"))
    assert any(re.search(r'href="#t\d+-\d+-L\d+"', p.read_text()) for p in long_site.rglob("*-turn-*.html"))
    for site in (full_site, wide_site, long_site):
        assert dead(site) == []


def test_the_crawler_sees_a_dead_address(tmp_path):
    (tmp_path / "a.html").write_text('<a id="here" href="#here"></a><a href="b.html"></a><a href="#gone"></a>')
    assert dead(tmp_path) == ["a.html: b.html", "a.html: #gone"]
