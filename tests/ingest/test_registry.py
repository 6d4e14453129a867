"""Formats come from entry points; a broken one is a line, not a crash."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from kbstats.ingest import registry
from kbstats.ingest.errors import UsageError
from kbstats.ingest.format import EXACT, Format


@pytest.fixture
def plugins(monkeypatch):
    def install(*more):
        entries = {e.name: e for e in [*registry._entries.__wrapped__().values(), *more]}
        monkeypatch.setattr(registry, "_entries", lambda: entries)
        registry._load.cache_clear()

    yield install
    registry._load.cache_clear()


class Mine(Format):
    name = "mine"
    suffixes = frozenset({".json", ".mine"})

    def sniff(self, path, head):
        if path.suffix == ".mine":
            raise RuntimeError("no")
        return EXACT if b"mine" in head else 0


FORMAT = Mine()


def test_the_built_in_formats_are_entry_points():
    assert {"popcornbench", "kernelbench", "table", "verification"} <= set(registry.names())


def test_a_broken_plug_in_is_one_line(plugins, capsys, tmp_path):
    plugins(EntryPoint("bad", "no.such.module:FORMAT", registry.GROUP))
    path = tmp_path / "level_1_problem_1_trajectory.json"
    path.write_text("{}")
    assert registry.sniff(path).name == "popcornbench"
    registry.sniff(path)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "bad" in err
    with pytest.raises(UsageError):
        registry.load("bad")


def test_a_plug_in_reads_its_own(plugins, tmp_path, capsys, monkeypatch):
    plugins(EntryPoint("mine", "mine_plugin:FORMAT", registry.GROUP))
    import sys
    import types

    module = types.ModuleType("mine_plugin")
    module.FORMAT = FORMAT
    monkeypatch.setitem(sys.modules, "mine_plugin", module)
    (tmp_path / "a.json").write_text('{"mine": 1}')
    (tmp_path / "b.mine").write_text("x")
    assert registry.sniff(tmp_path / "a.json").name == "mine"
    assert registry.sniff(tmp_path / "b.mine") is None
    assert "failed to look at" in capsys.readouterr().err


def test_files_of_foreign_suffix_are_not_opened(tmp_path):
    assert registry.sniff(tmp_path / "missing.so") is None
