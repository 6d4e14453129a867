"""What a reader does: filter, sort, download, search, compare; by mouse, keyboard and address."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from kbstats.analytics import leaderboards, warehouse

from .browsing import Watched

pytestmark = pytest.mark.browser


@pytest.fixture
def reader(browser):
    w = Watched(browser, viewport={"width": 1200, "height": 900}, accept_downloads=True)
    yield w
    w.context.close()
    assert w.wrong == []


def names(page):
    return page.locator("#board tbody th a").all_inner_texts()


def chip(page, group, name):
    return page.locator(f'#board-filters [aria-label="{group}"] button[data-name="{name}"]')


@pytest.mark.parametrize("trust", ["claimed", "audited", "verified"])
def test_a_filtered_board_is_the_one_that_analytics_ranks(reader, wide_db, wide_site, trust):
    con = warehouse.open_read(wide_db)
    want = leaderboards.board(con, leaderboards.Filters(levels=[2], modes=["single"], trust=trust)).rows
    con.close()
    page = reader.open(wide_site / "index.html")
    chip(page, "level", "2").click()
    chip(page, "mode", "single").click()
    chip(page, "trust", trust).click()
    page.wait_for_function("document.querySelector('#board-words').textContent.startsWith('Level 2, mode single:')")
    assert names(page) == [r["model"] for r in want]
    ranks = page.locator("#board tbody td.rank").all_inner_texts()
    assert ranks == [str(r["rank"]) for r in want]
    shown = page.locator(f"#board tbody td.{trust}").nth(0).get_attribute("data-v")
    assert float(shown) == want[0]["correct_rate"]
    assert (
        page.locator("#board-words")
        .inner_text()
        .startswith("Level 2, mode single: 12 runs, 4 problems, 3 models on the same problems.")
    )
    assert re.search(rf"#board\?(?=.*level=2)(?=.*mode=single)(?=.*trust={trust})", page.url)


def test_an_address_opens_a_filtered_and_sorted_board(reader, wide_site):
    page = reader.open(wide_site / "index.html", "#board?level=1&sort=-1")
    page.wait_for_function("document.querySelector('#board-words').textContent.startsWith('Level 1:')")
    assert names(page) == ["model-c", "model-b", "model-a"]
    assert chip(page, "level", "1").get_attribute("aria-pressed") == "true"
    chip(page, "level", "1").click()
    assert page.locator("#board-words").inner_text().startswith("All runs: 48 runs")


def test_a_choice_that_no_run_has_cannot_be_made(reader, wide_site):
    page = reader.open(wide_site / "index.html", "#board?level=1")
    page.wait_for_function("document.querySelector('#board-words').textContent.startsWith('Level 1:')")
    assert chip(page, "hardware", "H100").is_disabled()
    assert chip(page, "hardware", "H200").is_enabled()


def download(page, table, kind):
    with page.expect_download() as d:
        page.locator(f"#{table}").locator("xpath=ancestor::div[1]/preceding-sibling::div[1]").get_by_role(
            "button", name=f"download this table as {kind}"
        ).click()
    return d.value.path().read_text(encoding="utf-8"), d.value.suggested_filename


def test_the_table_on_screen_as_csv_and_json(reader, wide_site):
    page = reader.open(wide_site / "models/model-a.html", "#runs?level=2&outcome=correct&sort=0")
    shown = page.locator("#runs tbody tr:visible").count()
    assert 0 < shown < 16
    text, name = download(page, "runs", "CSV")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert name == "runs.csv"
    assert len(rows) == shown
    assert {"run", "problem", "claimed"} <= set(rows[0])
    assert all(float(r["claimed"]) > 0 for r in rows)
    text, _ = download(page, "runs", "JSON")
    assert [r["run"] for r in json.loads(text)] == [r["run"] for r in rows]
    assert (
        " of 16: outcome correct, level 2"
        in page.locator("#runs").locator("xpath=ancestor::div[1]/preceding-sibling::div[1]").inner_text()
    )


def test_search_by_keyboard(reader, full_site):
    page = reader.open(full_site / "index.html")
    page.keyboard.press("/")
    page.keyboard.type("foo undefined")
    page.locator("#found li").first.wait_for()
    assert "identifier" in page.locator("#found li").first.inner_text()
    page.keyboard.press("ArrowDown")
    assert page.locator('#found li[aria-selected="true"]').count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"runs/.*#turn-0$"))
    page.keyboard.press("/")
    page.keyboard.type("zzzz")
    page.locator("#found li").first.wait_for()
    assert page.locator("#found").inner_text() == "nothing found"
    page.keyboard.press("Escape")
    assert page.locator("#found").is_hidden()


def test_an_error_leads_to_the_line_of_the_kernel(reader, tmp_path):
    from kbstats.site.build import build

    from .conftest import KERNEL, Db

    db = Db(tmp_path / "e.duckdb")
    source = KERNEL.replace("{n}", "2") + 'load_inline(name="x", cpp_sources="", cuda_sources=SRC)\n'
    key = db.kernel(source)
    db.run("r", kernel=key)
    db.turn(
        "r",
        0,
        ok=False,
        tool="compile_kernel",
        kernel=key,
        result="FAILED",
        errors=[(8, 'identifier "x" is undefined')],
    )
    build(db.close(), tmp_path / "out")
    page = reader.open(next((tmp_path / "out/runs").glob("*.html")))
    at = source.split("\n").index("    if (i < n) x[i] *= 2.0f; // twice") + 1
    assert page.locator("pre.near mark").first.inner_text().strip() == f"{at}      if (i < n) x[i] *= 2.0f; // twice"
    page.get_by_role("link", name=f"line {at} of the kernel").first.click()
    assert page.url.endswith(f"#L{at}")
    assert page.locator(f"#L{at}").is_visible()


def test_a_submission_is_shown_as_what_changed(reader, full_site):
    page = reader.open(next((full_site / "runs").glob("l1-p1-model-a*.html")), "#turn-1")
    changes = page.locator("#turn-1 .diff")
    assert changes.locator("del").all_inner_texts() == ["        return x * 3\n"]
    assert changes.locator("ins").all_inner_texts() == ["        return x * 2\n"]


def test_two_runs_side_by_side(reader, full_site):
    page = reader.open(next((full_site / "runs").glob("l1-p1-model-a*.html")))
    page.get_by_role("link", name="side by side").click()
    page.locator("table.pair").first.wait_for()
    assert page.locator(".heads h2").count() == 2
    assert "model-a" in page.locator(".heads").inner_text()
    assert "Both submitted the same kernel" in page.locator("#sides").inner_text()
    page.wait_for_function("document.querySelectorAll('select option').length > 4")
    label = page.locator("select").nth(1).locator("option", has_text="L1 P2").inner_text()
    page.locator("select").nth(1).select_option(label=label)
    page.locator("#sides ins").first.wait_for()
    assert page.locator("#sides del").all_inner_texts() == ["-         return x * 2"]
    assert re.search(r"#runs\?a=l1-p1-model-a[^&]*&b=l1-p2-model-b", page.url)


def test_sorting_and_theme_by_keyboard(reader, wide_site):
    page = reader.open(wide_site / "index.html")
    page.locator("#board th", has_text="model").locator("button").focus()
    page.keyboard.press("Enter")
    assert page.locator('#board th[aria-sort="ascending"]').count() == 1
    page.locator("button.theme").focus()
    page.keyboard.press("Space")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_the_first_tab_stop_leads_to_the_content(reader, full_site):
    page = reader.open(full_site / "index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_an_error_in_a_draft_leads_to_its_line_in_the_turn(reader, tmp_path):
    from kbstats.site.build import build

    from .conftest import KERNEL, Db

    db = Db(tmp_path / "d.duckdb")
    tail = 'load_inline(name="x", cpp_sources="", cuda_sources=SRC)\n'
    body = "".join(f"# {i}\n" for i in range(60))
    draft, final = (body + KERNEL.replace("{n}", n) + body + tail for n in "23")
    db.run("r", kernel=db.kernel(final))
    wrong = [(8, 'identifier "x" is undefined')]
    db.turn("r", 0, ok=False, tool="compile_kernel", kernel=db.kernel(draft), result="FAILED", errors=wrong)
    db.turn("r", 1, tool="submit_kernel", kernel=db.kernel(final))
    build(db.close(), tmp_path / "out")
    assert len(list((tmp_path / "out/kernels").iterdir())) == 1  # the draft stands in its turn alone
    page = reader.open(next((tmp_path / "out/runs").glob("*.html")))
    at = draft.split("\n").index("    if (i < n) x[i] *= 2.0f; // twice") + 1
    page.get_by_role("link", name=f"line {at} of the kernel").first.click()
    assert page.url.endswith(f"#t0-0-L{at}")
    assert page.locator(f"#t0-0-L{at}").inner_text() == "    if (i < n) x[i] *= 2.0f; // twice"
    assert page.locator(f"#t0-0-L{at}").is_visible()
