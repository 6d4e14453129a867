"""What is kept between builds changes no byte, and a damaged folder costs nothing but time."""

from __future__ import annotations

import pytest
from kbstats.site import cache, charts
from kbstats.site.build import build

from .test_build import files


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("KBSTATS_CACHE", str(tmp_path / "kept"))
    cache.folder.cache_clear()
    yield tmp_path / "kept"
    monkeypatch.undo()
    cache.folder.cache_clear()


def test_a_site_from_what_was_kept_is_the_same(full_db, full_site, tmp_path, kept, monkeypatch):
    build(full_db, tmp_path / "cold", title="Test board")
    assert list(kept.glob("chart-*"))
    monkeypatch.setattr("vl_convert.vegalite_to_svg", None)  # a chart that is drawn again would fail
    build(full_db, tmp_path / "warm", title="Test board")
    assert files(tmp_path / "cold") == files(tmp_path / "warm") == files(full_site)


def test_a_damaged_value_is_made_again(kept):
    label = "bars"
    first = charts.bars([("a", "model", 3)], label, "runs")
    for path in kept.iterdir():
        path.write_bytes(path.read_bytes()[:-3] + b"bad")
    assert charts.bars([("a", "model", 3)], label, "runs") == first


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("KBSTATS_CACHE", str(tmp_path / "file" / "below"))
    cache.folder.cache_clear()
    try:
        cache.put(b"x", "kind", "name")
        assert cache.get("kind", "name") is None
    finally:
        monkeypatch.undo()
        cache.folder.cache_clear()


def test_a_chart_of_the_same_rows_is_not_made_again_and_of_others_is(kept, monkeypatch):
    rows = [("a", "model", 3)]
    first = charts.bars(rows, "in words", "runs")
    monkeypatch.setattr("kbstats.site.charts.svg", lambda *_: "drawn")
    assert charts.bars(list(rows), "in words", "runs") == first
    assert [charts.bars(*x) for x in (([("a", "model", 4)], "in words", "runs"), (rows, "other", "runs"))] == [
        "drawn"
    ] * 2
    assert len(list(kept.glob("figure-*"))) == 3
