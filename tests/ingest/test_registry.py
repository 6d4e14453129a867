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


def test_what_is_known_without_importing_agrees_with_the_formats():
    for name in registry.names():
        fmt = registry.load(name)
        if registry.is_built_in(name):
            assert sorted(fmt.suffixes) == registry._SUFFIXES[name].split(), name
            assert (fmt.pattern is not None) == (name in registry._PATTERNS), name


@pytest.mark.parametrize(
    ("path", "claimed"),
    [
        ("/x/level1/1_A.py", True), ("/x/level1/popcorn/11_b.py", True), ("level2/3_c.py", True), ("/x/level_1/1_A.py", False),
        ("/x/level1/a/b/1_A.py", False), ("/x/level1/A.py", False),
    ],
)
def test_patterns_of_problems(path, claimed):
    from kbstats.ingest.formats.problems import FORMAT

    assert bool(registry._PATTERNS["problems"].fullmatch(path)) is bool(FORMAT.pattern.fullmatch(path)) is claimed


def test_a_folder_of_trajectories_imports_one_format(tmp_path):
    import subprocess
    import sys

    path = tmp_path / "level_1_problem_1_trajectory.json"
    path.write_text('{"problem_id": 1, "run_name": "a", "max_turns": 1}')
    code = (
        "import sys, pathlib; from kbstats.ingest import registry; "
        "print(registry.sniff(pathlib.Path(sys.argv[1])).name, "
        "[m for m in sys.modules if m.startswith('kbstats.ingest.formats.') and 'popcornbench' not in m])"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "popcornbench []"


def test_a_known_source_of_a_broken_plug_in_stays(plugins, capsys, wh, tmp_path):
    plugins(EntryPoint("bad", "no.such.module:FORMAT", registry.GROUP))
    (tmp_path / "a.json").write_text("{}")
    wh.con.execute(
        "insert into sources by name select 'x' as source_id, ? as path, 'bad' as format, 0 as size_bytes, "
        "now() as ingested_at, 'ok' as status, 0 as n_runs",
        [str(tmp_path / "a.json")],
    )
    assert wh.ingest(tmp_path, prune=True).unchanged == 1
    assert wh.column("select format from sources") == ["bad"]
    assert "bad is left out" in capsys.readouterr().err
