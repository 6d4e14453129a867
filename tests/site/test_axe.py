"""Accessibility: axe finds nothing on any page kind, in either theme; and a picture of each is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .browsing import Watched, kinds
from .test_links import long_site  # noqa: F401  a fixture

pytestmark = pytest.mark.browser

AXE = Path(__file__).with_name("vendor") / "axe.min.js"
"""axe-core 4.14.1, Mozilla Public License 2.0 (vendor/axe.LICENSE); used by this test alone."""
PICTURES = Path(__file__).resolve().parents[2] / "test-artifacts" / "site"
"""Ignored by git; a CI run keeps it."""


def violations(page) -> list[str]:
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
    return [f"{v['id']}: {n['target']} {n['failureSummary']}" for v in found for n in v["nodes"][:3]]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_violations(browser, full_site, theme):
    w = Watched(browser, viewport={"width": 1440, "height": 900}, color_scheme=theme)
    wrong: dict[str, list[str]] = {}
    PICTURES.mkdir(parents=True, exist_ok=True)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    for name, path in kinds(full_site).items():
        fragment = "#turn-0" if name == "runs" else "#runs?a=x&b=y" if name == "side" else ""
        page = w.open(path, fragment)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        if found := violations(page):
            wrong[name] = found
        part = PICTURES / f"{name}-{theme}.{worker or 'main'}.part.png"
        page.screenshot(path=part, full_page=True, clip={"x": 0, "y": 0, "width": 1440, "height": 1800})
        part.replace(PICTURES / f"{name}-{theme}.png")
    w.context.close()
    assert wrong == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_violations_on_the_parts_of_a_long_run(browser, long_site, theme):  # noqa: F811
    w = Watched(browser, viewport={"width": 390, "height": 844}, color_scheme=theme)
    for shape in ("*-turn-*.html", "*-turns-*.html", "l1-p70-*.html"):
        page = w.open(min((long_site / "runs").glob(shape)))
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, shape
        assert violations(page) == [], shape
    w.context.close()


def test_no_violations_while_in_use(browser, wide_site):
    w = Watched(browser, viewport={"width": 390, "height": 844})
    page = w.open(wide_site / "index.html", "#board?level=1&trust=audited&sort=-3")
    page.keyboard.press("/")
    page.keyboard.type("model")
    page.locator("#found li").first.wait_for()
    page.keyboard.press("ArrowDown")
    found = violations(page)
    w.context.close()
    assert found == []


def test_charts_are_described_in_words(full_site):
    import re

    for path in full_site.rglob("*.html"):
        for svg in re.findall(r"<svg[^>]*>.{0,200}", path.read_text(encoding="utf-8"), re.DOTALL):
            head = svg[: svg.index(">")]
            if 'aria-hidden="true"' in head:
                continue
            assert 'role="img"' in head or 'role="group"' in head, (path, head)
            named = re.search(r'aria-label="([^"]+)"', head) or re.search(r"<title[^>]*>([^<]+)<", svg)
            assert named, (path, head)
            assert len(named[1].split()) >= 2, (path, named[1])
