"""The walk."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.ingest import scan
from kbstats.ingest.errors import UsageError


def names(*paths):
    return [f.path.name for f in scan.walk(paths, [])]


def test_order_and_link_loops(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "2.json").write_text("{}")
    (tmp_path / "1.json").write_text("{}")
    (tmp_path / "a_link").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b" / "up").symlink_to(tmp_path / "b", target_is_directory=True)
    (tmp_path / "dead").symlink_to(tmp_path / "nowhere")
    assert names(tmp_path) == ["1.json", "2.json"]
    assert names(tmp_path, tmp_path / "b") == ["1.json", "2.json"], "each file once"


def test_a_linked_folder_outside_is_followed_and_the_real_name_is_kept(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "3.json").write_text("{}")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "0_link.json").symlink_to(inside / "z_real.json")
    (inside / "z_real.json").write_text("{}")
    (inside / "to").symlink_to(outside, target_is_directory=True)
    found = list(scan.walk([inside], []))
    assert [f.path.name for f in found] == ["z_real.json", "3.json"]
    assert found[1].path == inside / "to" / "3.json"


def test_named_files_and_missing_ones(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("{}")
    (found,) = scan.walk([path], [])
    assert found.named
    with pytest.raises(UsageError):
        list(scan.walk([tmp_path / "no"], []))


def test_folders_of_tools_are_not_entered(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.json").write_text("{}")
    assert names(tmp_path) == []


def test_path_text_of_names_that_are_no_utf8():
    assert scan.path_text(Path("/a/caf\udce9")) == "/a/caf\\xe9"
