"""Every page kind in a real browser, from the file system, with scripts and without."""

from __future__ import annotations

import re

import pytest

from .browsing import Watched, kinds

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_each_page_kind_opens_from_the_file_system(browser, full_site, scripts):
    w = Watched(browser, java_script_enabled=scripts, viewport={"width": 1440, "height": 900})
    for path in kinds(full_site).values():
        page = w.open(path)
        assert page.locator("h1").count() == 1, path
        assert page.locator("main").inner_text().strip(), path
    w.context.close()
    assert w.wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1920])
def test_no_page_is_wider_than_the_window(browser, full_site, width, theme):
    w = Watched(browser, viewport={"width": width, "height": 844}, color_scheme=theme)
    for path in kinds(full_site).values():
        page = w.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") is (theme == "light")
    w.context.close()
    assert w.wrong == []


def test_sorting_and_its_address(browser, full_site):
    w = Watched(browser)
    page = w.open(full_site / "index.html")
    names = lambda: page.locator("#board tbody th a").all_inner_texts()  # noqa: E731
    page.locator("#board thead tr:last-child th", has_text="model").locator("button").click()
    assert names() == ["model-a", "model-b"]
    page.locator("#board thead tr:last-child th", has_text="model").locator("button").click()
    assert names() == ["model-b", "model-a"]
    assert re.search(r"#board\?sort=-1$", page.url)
    page = w.open(full_site / "index.html", "#board?sort=-1")
    assert names() == ["model-b", "model-a"]
    assert page.locator('#board th[aria-sort="descending"]').count() == 1
    w.context.close()
    assert w.wrong == []


def test_a_link_opens_a_filtered_table(browser, full_site):
    w = Watched(browser)
    page = w.open(full_site / "models/model-b.html", "#runs?outcome=wrong%20result")
    assert page.locator("#runs tbody tr:visible").count() == 1
    page = w.open(full_site / "models/model-b.html")
    assert page.locator("#runs tbody tr:visible").count() == 2
    w.context.close()
    assert w.wrong == []


def test_a_link_to_a_turn_opens_it(browser, full_site):
    w = Watched(browser)
    path = next((full_site / "runs").glob("l1-p1-model-a*"))
    page = w.open(path)
    assert not page.locator("#turn-0 .callbox").first.is_visible()
    page = w.open(path, "#turn-0")
    assert page.locator("#turn-0 .callbox").first.is_visible()
    w.context.close()
    assert w.wrong == []


def test_the_theme_switch_is_remembered(browser, full_site):
    w = Watched(browser, color_scheme="light")
    page = w.open(full_site / "index.html")
    ground = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")  # noqa: E731
    page.get_by_role("button", name="switch to the dark theme").click()
    dark = ground()
    assert dark != "rgb(255, 255, 255)"
    w.open(full_site / "audit.html")
    assert ground() == dark
    w.context.close()
    assert w.wrong == []


def test_hostile_names_do_nothing_in_a_browser(browser, tmp_path):
    from kbstats.site.build import build

    from .test_hostile import PAYLOADS, hostile

    out = tmp_path / "out"
    bad = PAYLOADS["elements"] + PAYLOADS["attribute"] + PAYLOADS["link"]
    build(hostile(tmp_path / "h.duckdb", bad), out, title=bad)
    w = Watched(browser, viewport={"width": 390, "height": 844})
    for path in kinds(out).values():
        page = w.open(path)
        assert page.evaluate("window.pwned") is None, path
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    w.context.close()
    assert w.wrong == []
